//! Writers, killed Processors, terminated sessions, cancelled refreshes, lock timeouts, moved slots and dispatches by hand, all at once, on several views.
//! Whatever is pending has a dispatch coming at every moment; and when the writes stop, every view equals its definition within its lag, its
//! cooldown and 5 s, or within 65 s of its last failure.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;

use crate::auto_mv_steps::{database, everything, is_fresh, register, upkeep};
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

/// Whether this view, or one it follows, has failed since its last success.
const FAILED: &str = "
    WITH RECURSIVE line AS (
        SELECT v.auto_mv_id AS id FROM pgauto_mv.mv_state_v AS v WHERE v.mv_name = $1
        UNION
        SELECT c.parent_id FROM line AS l JOIN pgauto_mv.mv_chain AS c ON c.child_id = l.id
    )
    SELECT EXISTS (SELECT FROM line AS l JOIN pgauto_mv.mv_state AS s ON s.auto_mv_id = l.id WHERE s.failing_since IS NOT NULL)";

/// Lost dispatches that the upkeep has replaced without one that was lost: of each view, as many as its events whose sessions were lost, at most.
const INVENTED: &str = "
    SELECT count(*)
    FROM pgauto_mv.materialised_views AS m
    WHERE (SELECT count(*) FROM pgauto_mv.mv_refresh_log AS r WHERE r.auto_mv_id = m.auto_mv_id AND r.sqlstate = 'PM011')
        > (SELECT count(*) FROM pgrelay.log AS l JOIN pgrelay.queue AS q ON q.id = l.queue_id
           WHERE q.payload = m.auto_mv_id::text AND l.error LIKE 'the database session was lost %')";

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

/// Processors come and go while everything else happens. Gives the one that stays, and how often each disturber had an effect.
async fn disturbed(
    db: &Database,
    ids: &[String],
    length: Duration,
) -> (Processor, BTreeMap<&'static str, u64>) {
    let stress = Stress::begin(db, ids, &VIEWS.map(|(view, ..)| view)).await;
    let started = Instant::now();
    let steady = Processor::start(db).await;
    while started.elapsed() < length {
        let mut victim = Processor::start(db).await;
        tokio::time::sleep(Duration::from_millis(700)).await;
        victim.kill();
    }
    (steady, stress.end(db).await)
}

/// Waits until every view is fresh: for its lag, its cooldown and 5 s since the writes stopped, and a minute more where it or one above it has failed.
/// Gives the seconds of each.
async fn lateness(db: &Database, stopped: Instant) -> BTreeMap<&'static str, f64> {
    let mut late = BTreeMap::new();
    while late.len() < VIEWS.len() {
        for (view, definition, _, own) in VIEWS {
            if late.contains_key(view) {
                continue;
            }
            if is_fresh(db, view, definition).await {
                late.insert(view, stopped.elapsed().as_secs_f64());
                continue;
            }
            let name = view.trim_start_matches("public.");
            let failed: bool = db.query_one(FAILED, &[&name]).await;
            let limit = Duration::from_secs(own + 5 + if failed { 60 } else { 0 });
            if stopped.elapsed() > limit {
                let seen = everything(db).await;
                panic!("{view} is not fresh after {limit:?}\n{seen}");
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    late
}

async fn one_round(
    db: &Database,
    ids: &[String],
    length: Duration,
    effects: &mut BTreeMap<&'static str, u64>,
) {
    let (steady, counted) = disturbed(db, ids, length).await;
    let stopped = Instant::now();
    let seen = db.query_opt::<String>(WITHOUT_DISPATCH, &[]).await;
    assert_eq!(seen, None, "before anything is repaired or hastened");
    // What is inactive is not kept fresh; and what the look of the minute finds: a partition that came or went, a dispatch lost with its sessions.
    db.execute("SELECT pgauto_mv.update('public.joined', p_is_active => true)")
        .await;
    upkeep(db).await;
    if !fleet_tests::long_run() {
        db.execute(HASTEN).await;
    }
    let late = lateness(db, stopped).await;
    eprintln!("fresh, seconds after the writes: {late:.1?}");
    for (what, count) in counted {
        *effects.entry(what).or_default() += count;
    }
    drop(steady);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_happens_while_they_are_written_to() {
    let (rounds, length) = if fleet_tests::long_run() {
        (20, 10)
    } else {
        (1, 6)
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
    let mut effects = BTreeMap::new();
    for round in 1..=rounds {
        eprintln!("round {round} of {rounds}");
        one_round(&db, &ids, Duration::from_secs(length), &mut effects).await;
    }
    assert_eq!(db.query_one::<i64>(INVENTED, &[]).await, 0);
    // It was a stress: each of them did what it is for.
    eprintln!("effects: {effects:?}");
    assert!(effects.values().all(|&count| count > 0), "{effects:?}");
}
