//! Steps 0 to 4 of `_process_pending`, each by its number: the standby, the lock, the state, what the dispatch is, and whether it comes too early.

use fleet_tests::postgres::{Bindir, PrivateOptions, Server};
use fleet_tests::{skip, wait};

use crate::auto_mv_steps::{
    CHANGE, QUEUED, begin_dispatch, claim_dispatches, counted, database, database_on, dispatch,
    dispatch_sql, dispatches, held, last_logged, log, one_dispatch_in, run, slot_due, state,
};

#[tokio::test]
async fn step_0_a_standby_does_nothing() {
    if Bindir::with_clients().is_none() {
        skip!("standby", "pg_basebackup is not installed");
    }
    let primary = Server::private(PrivateOptions::default()).await;
    let db = database_on(&primary).await;
    let id = counted(&db, "").await;
    db.execute(CHANGE).await;
    let mut standby = primary.standby().await;
    for call in [
        dispatch_sql(&id),
        format!("SELECT pgauto_mv._sync_mv('{id}')"),
        "SELECT pgauto_mv._upkeep()".to_owned(),
    ] {
        // A write that the standby refuses is an error, or a warning of those that never raise.
        let warnings = standby.endpoint().warnings(db.name(), &call).await;
        assert!(warnings.is_empty(), "{call}: {warnings:?}");
    }

    standby.promote().await;
    let session = standby.endpoint().connect(db.name()).await;
    run(&session, &dispatch_sql(&id)).await;
    let row = session.query_one("SELECT n FROM public.mv", &[]).await;
    assert_eq!(row.expect("the view").get::<_, i64>(0), 1);
}

#[tokio::test]
async fn step_1_a_view_that_is_taken_is_left_at_once_and_not_for_good() {
    let db = database().await;
    let id = counted(&db, "").await;
    db.execute(CHANGE).await;
    claim_dispatches(&db).await;
    let holder = db.connect().await;
    run(
        &holder,
        &format!("BEGIN; SELECT FROM pgauto_mv.mv_state WHERE auto_mv_id = '{id}' FOR UPDATE"),
    )
    .await;
    dispatch(&db, &id).await;
    assert!(log(&db, &id).await.is_empty());
    one_dispatch_in(&db, &id, 1.0).await;
    run(&holder, "ROLLBACK").await;
    dispatch(&db, &id).await;
    assert_eq!(log(&db, &id).await, ["event ok plain"]);
}

#[tokio::test]
async fn step_2_the_state_is_computed_from_rows_and_locks() {
    let db = database().await;
    counted(&db, "").await;
    let (id, gate) = held(&db, "p_refresh_lag => 0, p_cooldown => 60").await;
    let all = "concat_ws(' ', is_pending, refresh_in_progress, in_cooldown, ispopulated, mv_missing, inactive, refresh_source)";
    assert_eq!(state(&db, &id, all).await, "f f f f f f event");
    db.execute("SELECT pgauto_mv.refresh('public.held')").await;
    let running = begin_dispatch(&db, &id).await;
    gate.wait_for_arrivals(1).await;
    assert_eq!(state(&db, &id, all).await, "t t f f f f direct");
    gate.open().await;
    running.await.expect("the dispatch");
    assert_eq!(state(&db, &id, all).await, "f f t t f f event");
    db.execute("DROP MATERIALIZED VIEW public.held").await;
    assert_eq!(state(&db, &id, all).await, "f f t f t f event");
}

#[tokio::test]
async fn step_3_without_a_slot_or_an_event_nothing_happens() {
    let db = database().await;
    let id = counted(&db, "").await;
    dispatch(&db, &id).await;
    assert!(log(&db, &id).await.is_empty());
    assert!(dispatches(&db, &id).await.is_empty());
}

#[tokio::test]
async fn step_3_a_slot_names_the_source_when_events_are_due_too() {
    let db = database().await;
    let id = counted(&db, "").await;
    for (prepare, source) in [
        (CHANGE, "event"),
        ("SELECT pgauto_mv.refresh('public.mv')", "direct"),
    ] {
        db.execute(prepare).await;
        dispatch(&db, &id).await;
        assert_eq!(last_logged(&db, &id).await, format!("{source} ok plain"));
    }
    slot_due(&db, &id).await;
    db.execute(CHANGE).await;
    dispatch(&db, &id).await;
    assert_eq!(last_logged(&db, &id).await, "schedule ok plain");
    assert_eq!(
        state(&db, &id, "is_pending").await,
        "false",
        "one refresh served both"
    );
}

#[tokio::test]
async fn step_4_an_event_before_its_time_is_deferred_once() {
    let db = database().await;
    let id = counted(&db, "p_refresh_lag => 30, p_max_wait => 0").await;
    for _ in 0..3 {
        db.execute(CHANGE).await;
    }
    claim_dispatches(&db).await;
    for _ in 0..3 {
        dispatch(&db, &id).await;
    }
    assert!(log(&db, &id).await.is_empty());
    one_dispatch_in(&db, &id, 30.0).await;
    // A slot that is due does not wait for the lag of an event.
    slot_due(&db, &id).await;
    dispatch(&db, &id).await;
    assert_eq!(log(&db, &id).await, ["schedule ok plain"]);
}

#[tokio::test]
async fn a_view_that_is_not_registered_is_none_of_its_business() {
    let db = database().await;
    counted(&db, "").await;
    db.execute(
        "SELECT pgauto_mv._process_pending(gen_random_uuid()), pgauto_mv._process_pending(NULL)",
    )
    .await;
    wait::until("nothing to be queued", wait::SOON, || async {
        db.query_one::<i64>(QUEUED, &[]).await == 0
    })
    .await;
}
