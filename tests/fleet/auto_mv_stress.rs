//! What disturbs the views of `auto_mv_views_are_never_stale`: writers of every kind, cancels, terminated sessions, lock timeouts, dispatches by
//! hand, moved slots; and a watcher who looks all the time whether every pending view has a dispatch coming.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use fleet_tests::database::Database;
use tokio::task::JoinHandle;
use tokio_postgres::SimpleQueryMessage;

use crate::auto_mv_steps::dispatch_sql;

pub(crate) const TABLES: &str = "
    CREATE TABLE public.t (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, v integer);
    CREATE TABLE public.u (id integer, v integer);
    CREATE TABLE public.p (id integer GENERATED ALWAYS AS IDENTITY, v integer) PARTITION BY HASH (id);
    CREATE TABLE public.p0 PARTITION OF public.p FOR VALUES WITH (MODULUS 2, REMAINDER 0);
    CREATE TABLE public.p1 PARTITION OF public.p FOR VALUES WITH (MODULUS 2, REMAINDER 1)";

/// What the writers do, each a transaction. `{w}` is the writer.
const WRITES: [&str; 10] = [
    "INSERT INTO public.t (v) VALUES (1), (2), (3)",
    "UPDATE public.t SET v = v + 1 WHERE id % 7 = 0",
    "DELETE FROM public.t WHERE id % 11 = 0",
    "BEGIN; INSERT INTO public.u VALUES (1, 1); SELECT pg_sleep(0.2); INSERT INTO public.p (v) VALUES (1); COMMIT",
    "INSERT INTO public.p (v) VALUES (1), (2)",
    "BEGIN; SAVEPOINT s; INSERT INTO public.p (v) VALUES (5); ROLLBACK TO s; UPDATE public.u SET v = v + 1; COMMIT",
    "BEGIN ISOLATION LEVEL REPEATABLE READ; INSERT INTO public.t (v) SELECT count(*) FROM public.u; COMMIT",
    "BEGIN; INSERT INTO public.t (v) VALUES (4); PREPARE TRANSACTION '{w}'",
    "COMMIT PREPARED '{w}'",
    "TRUNCATE public.p0, public.u",
];

/// A writer who relies on a deferred dispatch for as long as he is open.
const LONG_WRITE: &str = "BEGIN; INSERT INTO public.t (v) VALUES (9); SELECT pg_sleep(3.5); COMMIT";

/// The dispatches that are running.
const RUNNING: &str = "FROM pg_stat_activity WHERE query LIKE 'SELECT pgauto_mv._process_pending%' AND state = 'active'
    AND pid <> pg_backend_pid() AND datname = current_database()";

/// In one snapshot: views that are pending and have nothing coming in time. A child may wait for an ancestor for 5 s, any other view for an open writer
/// or a running dispatch, for 2 s; a dispatch that broke down comes again in a minute. One whose sessions were lost three times is the upkeep's.
pub(crate) const WITHOUT_DISPATCH: &str = "
    SELECT jsonb_pretty(to_jsonb(v))
    FROM pgauto_mv.mv_state_v AS v
    WHERE v.is_pending
      AND NOT v.inactive
      AND NOT EXISTS (
          SELECT FROM pgrelay.queue AS q
          WHERE q.status = 'pending'
            AND q.expire_at IS NULL
            AND q.channel = 'pg_auto_mv.refresh_materialised_view'
            AND q.payload = v.auto_mv_id::text
            AND q.run_at <= greatest(v.refresh_due_at, clock_timestamp())
                + CASE WHEN v.failing_since IS NOT NULL THEN interval '61 seconds'
                       WHEN EXISTS (SELECT FROM pgauto_mv.mv_chain AS c WHERE c.child_id = v.auto_mv_id) THEN interval '6 seconds'
                       ELSE interval '3 seconds' END
      )
      AND NOT EXISTS (
          SELECT FROM pgrelay.log AS l
          JOIN pgrelay.queue AS q ON q.id = l.queue_id
          WHERE q.payload = v.auto_mv_id::text
            AND l.status = 'error'
            AND l.error LIKE 'the database session was lost %'
            AND l.started_at > clock_timestamp() - interval '75 seconds'
      )";

/// Writers and disturbers at work.
pub(crate) struct Stress {
    stop: Arc<AtomicBool>,
    tasks: Vec<JoinHandle<()>>,
    effects: Vec<(&'static str, Arc<AtomicU64>)>,
}

impl Stress {
    pub(crate) async fn begin(db: &Database, ids: &[String], views: &[&str]) -> Self {
        let mut stress = Self {
            stop: Arc::new(AtomicBool::new(false)),
            tasks: Vec::new(),
            effects: Vec::new(),
        };
        for writer in 0..4 {
            let name = format!("{}_{writer}", db.name());
            let mut writes = WRITES.map(|write| write.replace("{w}", &name)).to_vec();
            writes.rotate_left(writer * 2);
            stress.repeat(db, "writes", writes, 5).await;
        }
        let long = vec![LONG_WRITE.to_owned()];
        stress.repeat(db, "long writes", long, 100).await;
        let cancel = vec![format!("SELECT pg_cancel_backend(pid) {RUNNING}")];
        stress.repeat(db, "cancels", cancel, 70).await;
        let terminate = vec![format!(
            "SELECT pg_terminate_backend(pid) {RUNNING} ORDER BY random() LIMIT 1"
        )];
        stress.repeat(db, "terminations", terminate, 400).await;
        let read = |view: &&str| {
            format!("BEGIN; SELECT count(*) FROM {view}; SELECT pg_sleep(0.1); COMMIT")
        };
        let reads = views.iter().map(read).collect();
        stress.repeat(db, "readers", reads, 40).await;
        let by_hand = ids.iter().map(|id| dispatch_sql(id)).collect();
        stress.repeat(db, "dispatches by hand", by_hand, 400).await;
        for (what, statements) in SETTINGS {
            let statements = statements.iter().map(|text| (*text).to_owned()).collect();
            stress.repeat(db, what, statements, 300).await;
        }
        stress.watch(db).await;
        stress
    }

    /// Repeats statements in turn, with a pause in milliseconds. What they meet (locks, cancels) is part of it. Counted is what had an effect: a
    /// statement that ended well, and of those that hit others one that hit somebody.
    async fn repeat(
        &mut self,
        db: &Database,
        what: &'static str,
        statements: Vec<String>,
        pause: u64,
    ) {
        let mut session = db.connect().await;
        let (endpoint, name) = (db.endpoint().clone(), db.name().to_owned());
        let (stop, count) = (Arc::clone(&self.stop), Arc::new(AtomicU64::new(0)));
        self.effects.push((what, Arc::clone(&count)));
        self.tasks.push(tokio::spawn(async move {
            for statement in statements.iter().cycle() {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                match session.simple_query(statement).await {
                    Ok(said) => {
                        let hit = said
                            .iter()
                            .any(|one| matches!(one, SimpleQueryMessage::Row(_)));
                        if hit || !statement.contains(RUNNING) {
                            count.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                    Err(_) if session.batch_execute("ROLLBACK").await.is_ok() => {}
                    Err(_) => session = endpoint.connect(&name).await,
                }
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
        }));
    }

    /// Fails the test when a pending view is ever seen with nothing coming.
    async fn watch(&mut self, db: &Database) {
        let session = db.connect().await;
        let stop = Arc::clone(&self.stop);
        self.tasks.push(tokio::spawn(async move {
            while !stop.load(Ordering::Relaxed) {
                let rows = session.query(WITHOUT_DISPATCH, &[]).await.expect("looking");
                let seen: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
                assert!(
                    seen.is_empty(),
                    "nothing is coming for\n{}",
                    seen.join("\n")
                );
                tokio::time::sleep(Duration::from_millis(30)).await;
            }
        }));
    }

    /// Until the last of them has ended; how often each had an effect.
    pub(crate) async fn end(self, db: &Database) -> BTreeMap<&'static str, u64> {
        self.stop.store(true, Ordering::Relaxed);
        for task in self.tasks {
            task.await.expect("a writer, disturber or watcher");
        }
        let prepared = "SELECT gid FROM pg_prepared_xacts WHERE database = current_database()";
        for row in db.rows(prepared, &[]).await {
            db.execute(&format!("COMMIT PREPARED '{}'", row.get::<_, String>(0)))
                .await;
        }
        let mut effects = BTreeMap::new();
        for (what, count) in self.effects {
            *effects.entry(what).or_default() += count.load(Ordering::Relaxed);
        }
        effects
    }
}

/// What administrators do meanwhile. The view `slotted` skips slots without a change, so that they do not hide what was lost.
const SETTINGS: [(&str, &[&str]); 4] = [
    (
        "moved slots",
        &[
            "SELECT pgauto_mv.update_schedule('s', p_every => '2 seconds')",
            "SELECT pgauto_mv.update_schedule('s', p_every => '3 seconds')",
        ],
    ),
    (
        "switches off and on",
        &[
            "SELECT pgauto_mv.update('public.joined', p_is_active => false)",
            "SELECT pgauto_mv.update('public.joined', p_is_active => true)",
        ],
    ),
    (
        "partitions that come and go",
        &[
            "SET lock_timeout = '200ms'; ALTER TABLE public.p DETACH PARTITION public.p1",
            "ALTER TABLE public.p ATTACH PARTITION public.p1 FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
        ],
    ),
    ("upkeeps", &["SELECT pgauto_mv._upkeep()"]),
];
