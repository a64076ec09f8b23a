//! When a view is due follows from its events, its settings and its last refresh, and from nothing else.

use std::time::Duration;

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;
use fleet_tests::wait;

use crate::auto_mv_steps::{
    QUEUED, claim_dispatches, counted, database, dispatch, log, one_dispatch_in, pass, state,
};

/// Moves the clock to `second` of the test.
async fn tick(db: &Database, second: i32) {
    db.execute(&format!(
        "SELECT public.pass(c.origin + {second} * interval '1 s' - clock_timestamp()) FROM public.test_clock AS c"
    ))
    .await;
}

/// A write at exactly that second.
async fn write(db: &Database, second: i32) {
    db.execute(&format!(
        "INSERT INTO public.t VALUES ({second});
         UPDATE pgauto_mv.mv_events AS e SET event_at = c.origin + {second} * interval '1 s'
         FROM public.test_clock AS c WHERE e.event_at > c.origin + {second} * interval '1 s'"
    ))
    .await;
}

/// The columns of the worked example as seconds of the test.
async fn times(db: &Database, id: &str) -> String {
    state(
        db,
        id,
        "concat_ws(' ', 'first', public.at(first_event_at), 'latest', public.at(latest_event_at), 'max', public.at(max_refresh_time),
             'lag', public.at(latest_refresh_time), 'due', public.at(due_at))",
    )
    .await
}

#[tokio::test]
async fn the_worked_example_tick_by_tick() {
    let db = database().await;
    let id = counted(
        &db,
        "p_refresh_lag => 3, p_max_wait => 8, p_cooldown => 5, p_sources => ARRAY['public.t'::regclass]",
    )
    .await;

    tick(&db, 0).await;
    write(&db, 0).await;
    assert_eq!(times(&db, &id).await, "first 0 latest 0 max 8 lag 3 due 3");
    assert_eq!(state(&db, &id, "public.at(refresh_due_at)").await, "3");
    claim_dispatches(&db).await;
    dispatch(&db, &id).await;
    one_dispatch_in(&db, &id, 3.0).await;

    tick(&db, 1).await;
    write(&db, 1).await;
    assert_eq!(times(&db, &id).await, "first 0 latest 1 max 8 lag 4 due 4");
    // The deferred dispatch comes at second 3, a second too early, and defers again.
    tick(&db, 3).await;
    claim_dispatches(&db).await;
    dispatch(&db, &id).await;
    assert!(log(&db, &id).await.is_empty());
    one_dispatch_in(&db, &id, 1.0).await;

    tick(&db, 4).await;
    claim_dispatches(&db).await;
    dispatch(&db, &id).await;
    assert_eq!(log(&db, &id).await, ["event ok plain"]);
    let started = "SELECT floor(public.at(started_at))::float8 FROM pgauto_mv.mv_refresh_log";
    assert!((db.query_one::<f64>(started, &[]).await - 4.0).abs() < f64::EPSILON);
    let idle = "is_pending::text || coalesce(refresh_due_at::text, ' idle')";
    assert_eq!(state(&db, &id, idle).await, "false idle");
    let cooldown = "(cooldown_until = last_refresh_completed + interval '5 s' AND in_cooldown)";
    assert_eq!(state(&db, &id, cooldown).await, "true");

    tick(&db, 5).await;
    write(&db, 5).await;
    assert_eq!(times(&db, &id).await, "first 5 latest 5 max 13 lag 8 due 8");
    assert_eq!(
        state(&db, &id, "refresh_due_at = cooldown_until").await,
        "true"
    );
    claim_dispatches(&db).await;
    dispatch(&db, &id).await;
    one_dispatch_in(&db, &id, 4.0).await;

    // The refresh at second 4 ended a moment later, and so does its cooldown.
    tick(&db, 9).await;
    pass(&db, 0.9).await;
    claim_dispatches(&db).await;
    dispatch(&db, &id).await;
    assert_eq!(log(&db, &id).await, ["event ok plain", "event ok plain"]);
    assert_eq!(db.query_one::<i64>("SELECT n FROM public.mv", &[]).await, 3);
}

#[tokio::test]
async fn without_quiet_the_longest_wait_decides() {
    let db = database().await;
    let id = counted(&db, "p_refresh_lag => 3, p_max_wait => 8").await;
    tick(&db, 0).await;
    for second in [0, 2, 4, 6] {
        tick(&db, second).await;
        write(&db, second).await;
    }
    assert_eq!(times(&db, &id).await, "first 0 latest 6 max 8 lag 9 due 8");
}

#[tokio::test]
async fn without_a_longest_wait_only_quiet_decides() {
    let db = database().await;
    let id = counted(&db, "p_refresh_lag => 3, p_max_wait => 0").await;
    tick(&db, 0).await;
    write(&db, 0).await;
    tick(&db, 60).await;
    write(&db, 60).await;
    assert_eq!(times(&db, &id).await, "first 0 latest 60 max lag 63 due 63");
}

#[tokio::test]
async fn a_clock_that_was_set_back_freezes_nothing() {
    let db = database().await;
    let id = counted(&db, "p_refresh_lag => 3, p_max_wait => 8, p_cooldown => 5").await;
    db.execute("INSERT INTO public.t VALUES (1)").await;
    db.execute(&format!(
        "SELECT pgauto_mv.refresh('public.mv'); {}",
        crate::auto_mv_steps::dispatch_sql(&id)
    ))
    .await;
    db.execute("INSERT INTO public.t VALUES (2)").await;
    pass(&db, -3600.0).await;
    let due = "refresh_due_at <= clock_timestamp() AND NOT in_cooldown";
    assert_eq!(state(&db, &id, due).await, "true");
    dispatch(&db, &id).await;
    assert_eq!(db.query_one::<i64>("SELECT n FROM public.mv", &[]).await, 2);
}

#[tokio::test]
async fn a_processor_keeps_the_times() {
    let db = database().await;
    let id = counted(&db, "p_refresh_lag => 2, p_max_wait => 6, p_cooldown => 3").await;
    let _processor = Processor::start(&db).await;
    db.execute("INSERT INTO public.t VALUES (1)").await;
    db.until_equals("SELECT n FROM public.mv", 1_i64, wait::SOON)
        .await;
    db.execute("INSERT INTO public.t VALUES (2)").await;
    db.until_equals("SELECT n FROM public.mv", 2_i64, wait::SOON)
        .await;
    // The second one waited for the cooldown of the first, and neither began before it was due.
    let early = "SELECT count(*) FROM pgauto_mv.mv_refresh_log AS l
                 JOIN pgauto_mv.mv_refresh_log AS p ON p.log_id < l.log_id AND l.started_at < p.completed_at + interval '3 s'";
    db.until_equals(
        "SELECT count(*) FROM pgauto_mv.mv_refresh_log",
        2_i64,
        Duration::from_secs(5),
    )
    .await;
    assert_eq!(db.query_one::<i64>(early, &[]).await, 0);
    assert_eq!(log(&db, &id).await, ["event ok plain", "event ok plain"]);
    db.until_equals(QUEUED, 0_i64, wait::SOON).await;
}
