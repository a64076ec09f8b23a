//! Writers, killed Processors, terminated sessions, cancelled refreshes, lock timeouts, moved slots and dispatches by hand, all at once, on several views.
//! Whatever is pending has a dispatch coming at every moment; and when the writes stop, every view equals its definition within its lag, its
//! cooldown and 5 s, or within 65 s of its last failure.

use std::time::{Duration, Instant};

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;

use crate::auto_mv_steps::{database, register, until_fresh, upkeep};
use crate::auto_mv_stress::{Stress, TABLES, WITHOUT_DISPATCH};

/// Views with their definitions, settings, and the seconds of their lags and cooldowns, those of their parents included.
const VIEWS: [(&str, &str, &str, u64); 6] = [
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
    (
        "public.slotted",
        "SELECT sum(v) AS s FROM public.u",
        "2, 4, p_skip_unchanged => true",
        2,
    ),
];

/// Seconds for which a failed view, or one below it, may still wait; 0: nothing has failed.
const WAIT_OF_FAILED: &str = "
    SELECT coalesce(ceil(extract(epoch FROM max(s.retry_at) - clock_timestamp())), 0)::bigint
    FROM pgauto_mv.mv_state AS s";

/// Failed views, and nothing else, are tried again now: what a short run does in place of waiting for a minute.
const HASTEN: &str = "
    WITH failed AS (
        SELECT s.auto_mv_id, s.retry_at FROM pgauto_mv.mv_state AS s WHERE s.retry_at > clock_timestamp() FOR UPDATE
    ), hastened AS (
        UPDATE pgauto_mv.mv_state AS s SET retry_at = clock_timestamp() FROM failed AS f WHERE s.auto_mv_id = f.auto_mv_id
    )
    UPDATE pgrelay.queue AS q
    SET run_at = clock_timestamp()
    WHERE q.id IN (
        SELECT w.id
        FROM pgrelay.queue AS w
        -- A retry may be served by an earlier dispatch.
        JOIN failed AS f ON f.auto_mv_id::text = w.payload AND w.run_at <= f.retry_at + interval '7 s'
        WHERE w.status = 'pending'
        FOR UPDATE OF w
    )";

/// Processors come and go while everything else happens.
async fn disturbed(db: &Database, ids: &[String], length: Duration) -> Processor {
    let stress = Stress::begin(db, ids, &VIEWS.map(|(view, ..)| view)).await;
    let started = Instant::now();
    let steady = Processor::start(db).await;
    while started.elapsed() < length {
        let mut victim = Processor::start(db).await;
        tokio::time::sleep(Duration::from_millis(700)).await;
        victim.kill();
    }
    stress.end(db).await;
    steady
}

async fn one_round(db: &Database, ids: &[String], length: Duration) {
    let steady = disturbed(db, ids, length).await;
    db.execute("SELECT pgauto_mv.update('public.joined', p_is_active => true)")
        .await;
    // What the look of the minute would find: a partition that came or went, and a dispatch that was lost with its session three times.
    upkeep(db).await;
    let stopped = Instant::now();
    let mut slowest = (Duration::ZERO, "");
    for (view, definition, _, own) in VIEWS {
        let waits = if fleet_tests::long_run() {
            65 * u64::from(db.query_one::<i64>(WAIT_OF_FAILED, &[]).await > 0)
        } else {
            let seen = db.query_opt::<String>(WITHOUT_DISPATCH, &[]).await;
            assert_eq!(seen, None, "before anything is hastened");
            db.execute(HASTEN).await;
            0
        };
        until_fresh(db, view, definition, Duration::from_secs(own + 5 + waits)).await;
        if stopped.elapsed() > slowest.0 {
            slowest = (stopped.elapsed(), view);
        }
    }
    eprintln!(
        "the last view was fresh {:.1} s after the writes: {}",
        slowest.0.as_secs_f64(),
        slowest.1
    );
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
    db.execute("SELECT pgauto_mv.create_schedule('s', p_every => '3 seconds'), pgauto_mv.assign_schedule('public.slotted', 's')")
        .await;
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds}");
        one_round(&db, &ids, Duration::from_secs(length)).await;
    }
    // The upkeep had to help only where sessions had ended three times under one event.
    let lost = "SELECT (SELECT count(*) FROM pgauto_mv.mv_refresh_log WHERE sqlstate = 'PM011') <= (SELECT count(*) FROM pgrelay.queue WHERE status = 'error')";
    assert!(db.query_one::<bool>(lost, &[]).await);
    // It was a stress: refreshes succeeded, failed and waited.
    let outcomes = "SELECT count(DISTINCT coalesce(sqlstate, 'ok')) FROM pgauto_mv.mv_refresh_log";
    assert!(db.query_one::<i64>(outcomes, &[]).await > 1);
}
