//! What disturbs the views of `auto_mv_views_are_never_stale`: writers of every kind, cancels, terminated sessions, lock timeouts, dispatches by
//! hand, moved slots; and a watcher who looks all the time whether every pending view has a dispatch coming.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fleet_tests::database::Database;
use tokio::task::JoinHandle;

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
const LONG_WRITE: &str = "BEGIN; INSERT INTO public.t (v) VALUES (9); INSERT INTO public.u VALUES (9, 9); SELECT pg_sleep(2); COMMIT";

/// The dispatches that are running.
const RUNNING: &str = "FROM pg_stat_activity WHERE query LIKE 'SELECT pgauto_mv._process_pending%' AND state = 'active'
    AND pid <> pg_backend_pid() AND datname = current_database()";

/// In one snapshot: views that are pending and have nothing coming in time. A child may wait for an ancestor (5 s), others for an open writer (2 s) or
/// a running dispatch (1 s). A dispatch that broke down comes again in a minute; one whose sessions ended three times is the upkeep's.
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
                + CASE WHEN v.failing_since IS NULL THEN interval '6 seconds' ELSE interval '61 seconds' END
      )
      AND NOT EXISTS (
          SELECT FROM pgrelay.queue AS q
          WHERE q.status = 'error' AND q.payload = v.auto_mv_id::text AND q.finished_at > clock_timestamp() - interval '3 minutes'
      )";

/// Writers and disturbers at work.
pub(crate) struct Stress {
    stop: Arc<AtomicBool>,
    tasks: Vec<JoinHandle<()>>,
}

impl Stress {
    pub(crate) async fn begin(db: &Database, ids: &[String], views: &[&str]) -> Self {
        let mut stress = Self {
            stop: Arc::new(AtomicBool::new(false)),
            tasks: Vec::new(),
        };
        for writer in 0..4 {
            let name = format!("{}_{writer}", db.name());
            let mut writes = WRITES.map(|write| write.replace("{w}", &name)).to_vec();
            writes.rotate_left(writer * 2);
            stress.repeat(db, writes, 5).await;
        }
        stress.repeat(db, vec![LONG_WRITE.to_owned()], 300).await;
        stress
            .repeat(
                db,
                vec![format!("SELECT pg_cancel_backend(pid) {RUNNING}")],
                170,
            )
            .await;
        stress
            .repeat(
                db,
                vec![format!(
                    "SELECT pg_terminate_backend(pid) {RUNNING} ORDER BY random() LIMIT 1"
                )],
                900,
            )
            .await;
        let read = |view: &&str| {
            format!("BEGIN; SELECT count(*) FROM {view}; SELECT pg_sleep(0.1); COMMIT")
        };
        stress
            .repeat(db, views.iter().map(read).collect(), 40)
            .await;
        let by_hand = ids.iter().map(|id| dispatch_sql(id)).collect();
        stress.repeat(db, by_hand, 15).await;
        stress
            .repeat(db, SETTINGS.map(str::to_owned).to_vec(), 110)
            .await;
        stress.watch(db).await;
        stress
    }

    /// Repeats statements in turn, with a pause in milliseconds. What they meet (locks, cancels) is part of it.
    async fn repeat(&mut self, db: &Database, statements: Vec<String>, pause: u64) {
        let mut session = db.connect().await;
        let endpoint = (db.endpoint().clone(), db.name().to_owned());
        let stop = Arc::clone(&self.stop);
        self.tasks.push(tokio::spawn(async move {
            for statement in statements.iter().cycle() {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                if session.batch_execute(statement).await.is_err()
                    && session.batch_execute("ROLLBACK").await.is_err()
                {
                    session = endpoint.0.connect(&endpoint.1).await;
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

    /// Until the last of them has ended.
    pub(crate) async fn end(self, db: &Database) {
        self.stop.store(true, Ordering::Relaxed);
        for task in self.tasks {
            task.await.expect("a writer, disturber or watcher");
        }
        let prepared = "SELECT gid FROM pg_prepared_xacts WHERE database = current_database()";
        for row in db.rows(prepared, &[]).await {
            db.execute(&format!("COMMIT PREPARED '{}'", row.get::<_, String>(0)))
                .await;
        }
    }
}

/// What administrators do meanwhile. The view `slotted` skips slots without a change, so that they do not hide what was lost.
const SETTINGS: [&str; 7] = [
    "SELECT pgauto_mv.update_schedule('s', p_every => '2 seconds')",
    "SELECT pgauto_mv._upkeep()",
    "SELECT pgauto_mv.update_schedule('s', p_every => '3 seconds')",
    "SELECT pgauto_mv.update('public.joined', p_is_active => false)",
    "SET lock_timeout = '100ms'; ALTER TABLE public.p DETACH PARTITION public.p1; RESET lock_timeout",
    "SELECT pgauto_mv.update('public.joined', p_is_active => true)",
    "SET lock_timeout = '100ms'; ALTER TABLE public.p ATTACH PARTITION public.p1 FOR VALUES WITH (MODULUS 2, REMAINDER 1); RESET lock_timeout",
];
