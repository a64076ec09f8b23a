//! Writers, killed Processors, cancelled refreshes, lock timeouts and dispatches by hand, all at once, on several views. When the writes
//! stop, every view equals its definition within its lag, its cooldown and 5 s, or within 65 s when its last refresh failed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;
use fleet_tests::wait;
use tokio::task::JoinHandle;
use tokio_postgres::Client;

use crate::auto_mv_steps::{database, dispatch_sql, register, until_fresh};

const TABLES: &str = "
    CREATE TABLE public.t (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, v integer);
    CREATE TABLE public.u (id integer, v integer);
    CREATE TABLE public.p (id integer GENERATED ALWAYS AS IDENTITY, v integer) PARTITION BY HASH (id);
    CREATE TABLE public.p0 PARTITION OF public.p FOR VALUES WITH (MODULUS 2, REMAINDER 0);
    CREATE TABLE public.p1 PARTITION OF public.p FOR VALUES WITH (MODULUS 2, REMAINDER 1)";

/// Views with their definitions, settings, and the seconds of their lags and cooldowns, those of their parents included.
const VIEWS: [(&str, &str, &str, u64); 5] = [
    (
        "public.plain",
        "SELECT count(*) AS n, sum(v) AS s FROM public.t",
        "0, 0",
        0,
    ),
    (
        "public.grouped",
        "SELECT v % 5 AS k, count(*) AS n FROM public.t GROUP BY v % 5",
        "1, 3, 1, p_concurrent => true",
        2,
    ),
    (
        "public.parted",
        "SELECT count(*) AS n, sum(v) AS s FROM public.p",
        "0, 0, 1",
        1,
    ),
    (
        "public.joined",
        "SELECT (SELECT count(*) FROM public.t) AS a, (SELECT sum(v) FROM public.u) AS b",
        "1, 2",
        1,
    ),
    (
        "public.below",
        "SELECT n + s AS x FROM public.plain",
        "0, 0",
        0,
    ),
];

/// What the writers do, each statement a transaction.
const WRITES: [&str; 8] = [
    "INSERT INTO public.t (v) VALUES (1), (2), (3)",
    "UPDATE public.t SET v = v + 1 WHERE id % 7 = 0",
    "DELETE FROM public.t WHERE id % 11 = 0",
    "BEGIN; INSERT INTO public.u VALUES (1, 1); SELECT pg_sleep(0.2); INSERT INTO public.p (v) VALUES (1); COMMIT",
    "INSERT INTO public.p (v) VALUES (1), (2)",
    "BEGIN; SAVEPOINT s; INSERT INTO public.p (v) VALUES (5); ROLLBACK TO s; UPDATE public.u SET v = v + 1; COMMIT",
    "BEGIN ISOLATION LEVEL REPEATABLE READ; INSERT INTO public.t (v) SELECT count(*) FROM public.u; COMMIT",
    "TRUNCATE public.p0, public.u",
];

/// Repeats `statements` in turn until it is told to stop. What they meet (locks, cancels) is part of it.
async fn repeat(
    db: &Database,
    stop: &Arc<AtomicBool>,
    statements: Vec<String>,
    pause: Duration,
) -> JoinHandle<()> {
    let session: Client = db.connect().await;
    let stop = Arc::clone(stop);
    tokio::spawn(async move {
        for statement in statements.iter().cycle() {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            if session.batch_execute(statement).await.is_err() {
                session
                    .batch_execute("ROLLBACK")
                    .await
                    .expect("a session that goes on");
            }
            tokio::time::sleep(pause).await;
        }
    })
}

/// Whatever disturbs: cancels of refreshes, readers that hold views for longer than a refresh waits, dispatches by hand.
async fn disturbers(db: &Database, stop: &Arc<AtomicBool>, ids: &[String]) -> Vec<JoinHandle<()>> {
    let cancel = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'SELECT pgauto_mv._process_pending%'
                  AND state = 'active' AND pid <> pg_backend_pid() AND datname = current_database()";
    let read = VIEWS.map(|(view, ..)| {
        format!("BEGIN; SELECT count(*) FROM {view}; SELECT pg_sleep(0.1); COMMIT")
    });
    let by_hand: Vec<String> = ids.iter().map(|id| dispatch_sql(id)).collect();
    vec![
        repeat(
            db,
            stop,
            vec![cancel.to_owned()],
            Duration::from_millis(170),
        )
        .await,
        repeat(db, stop, read.to_vec(), Duration::from_millis(40)).await,
        repeat(db, stop, by_hand, Duration::from_millis(15)).await,
    ]
}

/// Retries after failures are due now. Otherwise every round would take the minute that they wait.
async fn hasten_retries(db: &Database) {
    db.execute(
        "UPDATE pgauto_mv.mv_state SET retry_at = clock_timestamp() WHERE retry_at IS NOT NULL;
         UPDATE pgrelay.queue SET run_at = clock_timestamp()
         WHERE id IN (SELECT id FROM pgrelay.queue WHERE status = 'pending' FOR UPDATE SKIP LOCKED)",
    )
    .await;
}

async fn one_round(db: &Database, ids: &[String], length: Duration) {
    let stop = Arc::new(AtomicBool::new(false));
    let mut tasks = disturbers(db, &stop, ids).await;
    for writer in 0..4 {
        let mut writes: Vec<String> = WRITES.map(str::to_owned).to_vec();
        writes.rotate_left(writer * 2);
        tasks.push(repeat(db, &stop, writes, Duration::from_millis(5)).await);
    }
    let started = std::time::Instant::now();
    let steady = Processor::start(db).await;
    while started.elapsed() < length {
        let mut victim = Processor::start(db).await;
        tokio::time::sleep(Duration::from_millis(700)).await;
        victim.kill();
    }
    stop.store(true, Ordering::Relaxed);
    for task in tasks {
        task.await.expect("a writer or disturber");
    }
    let extra = if fleet_tests::long_run() {
        65
    } else {
        hasten_retries(db).await;
        0
    };
    for (view, definition, _, own) in VIEWS {
        until_fresh(db, view, definition, Duration::from_secs(own + 5 + extra)).await;
    }
    drop(steady);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_happens_while_they_are_written_to() {
    let (rounds, length) = if fleet_tests::long_run() {
        (20, 10)
    } else {
        (1, 5)
    };
    let db = database().await;
    db.execute(TABLES).await;
    let mut ids = Vec::new();
    for (view, definition, settings, _) in VIEWS {
        db.execute(&format!("CREATE MATERIALIZED VIEW {view} AS {definition}"))
            .await;
        if view == "public.grouped" {
            db.execute("CREATE UNIQUE INDEX ON public.grouped (k)")
                .await;
        }
        let settings = format!("{settings}, p_lock_timeout => '50 ms'");
        ids.push(register(&db, view, &settings).await);
    }
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds}");
        one_round(&db, &ids, Duration::from_secs(length)).await;
    }
    // It was a stress: refreshes succeeded, failed and waited.
    let outcomes = "SELECT count(DISTINCT coalesce(sqlstate, 'ok')) FROM pgauto_mv.mv_refresh_log";
    assert!(db.query_one::<i64>(outcomes, &[]).await > 1);
    let overdue = "SELECT count(*) FROM pgauto_mv.mv_events";
    db.until_equals(overdue, 0_i64, wait::SOON * 4).await;
}
