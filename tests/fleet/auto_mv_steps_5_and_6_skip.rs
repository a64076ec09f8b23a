//! Steps 5 and 6 of `_process_pending`: what forbids a refresh, and what a dispatch leaves behind that makes none.

use crate::auto_mv_steps::{
    CHANGE, claim_dispatches, counted, database, dispatch, dispatch_sql, dispatches, last_logged,
    log, one_dispatch_in, pass, run, slot_due, state,
};

#[tokio::test]
async fn step_5_an_inactive_view_is_skipped_and_its_slot_killed() {
    let db = database().await;
    let id = counted(&db, "").await;
    slot_due(&db, &id).await;
    db.execute("SELECT pgauto_mv.update('public.mv', p_is_active => false)")
        .await;
    dispatch(&db, &id).await;
    assert_eq!(log(&db, &id).await, ["schedule skipped: inactive"]);
    let stopped =
        "next_scheduled_at IS NULL AND scheduled_queue_id IS NULL AND schedule_id IS NOT NULL";
    assert_eq!(state(&db, &id, stopped).await, "true");
    let killed = "SELECT count(*) FROM pgrelay.queue WHERE expire_at = '-infinity'";
    assert_eq!(db.query_one::<i64>(killed, &[]).await, 1);
    // A busy source does not fill the log, and loses nothing.
    for _ in 0..3 {
        db.execute(CHANGE).await;
        dispatch(&db, &id).await;
    }
    assert_eq!(
        log(&db, &id).await,
        ["schedule skipped: inactive", "event skipped: inactive"]
    );
    db.execute("SELECT pgauto_mv.update('public.mv', p_is_active => true)")
        .await;
    assert_eq!(
        state(&db, &id, "next_scheduled_at > clock_timestamp()").await,
        "true"
    );
    dispatch(&db, &id).await;
    assert_eq!(db.query_one::<i64>("SELECT n FROM public.mv", &[]).await, 3);
}

#[tokio::test]
async fn step_5_the_slot_that_runs_itself_is_not_killed() {
    let db = database().await;
    let id = counted(&db, "").await;
    slot_due(&db, &id).await;
    db.execute("SELECT pgauto_mv.update('public.mv', p_is_active => false)")
        .await;
    let slot = state(&db, &id, "scheduled_queue_id").await;
    let session = db.connect().await;
    run(
        &session,
        &format!("SELECT set_config('pgrelay.event_id', '{slot}', false)"),
    )
    .await;
    run(&session, &dispatch_sql(&id)).await;
    let killed = "SELECT count(*) FROM pgrelay.queue WHERE expire_at = '-infinity'";
    assert_eq!(db.query_one::<i64>(killed, &[]).await, 0);
}

#[tokio::test]
async fn step_5_a_missing_view_is_skipped_and_its_schedule_goes_on() {
    let db = database().await;
    let id = counted(&db, "").await;
    slot_due(&db, &id).await;
    db.execute("DROP MATERIALIZED VIEW public.mv").await;
    dispatch(&db, &id).await;
    assert_eq!(log(&db, &id).await, ["schedule skipped: mv_missing"]);
    assert_eq!(
        state(&db, &id, "next_scheduled_at > clock_timestamp()").await,
        "true"
    );
    db.execute(CHANGE).await;
    dispatch(&db, &id).await;
    assert_eq!(last_logged(&db, &id).await, "event skipped: mv_missing");
}

#[tokio::test]
async fn step_6_a_slot_in_the_cooldown_is_passed_over() {
    let db = database().await;
    let id = counted(&db, "p_refresh_lag => 0, p_cooldown => 60").await;
    db.execute(CHANGE).await;
    dispatch(&db, &id).await;
    db.execute(CHANGE).await;
    slot_due(&db, &id).await;
    claim_dispatches(&db).await;
    dispatch(&db, &id).await;
    assert_eq!(
        log(&db, &id).await,
        ["event ok plain", "schedule skipped: in_cooldown"]
    );
    assert_eq!(
        state(&db, &id, "next_scheduled_at > clock_timestamp()").await,
        "true"
    );
    // What is pending keeps its own dispatch, at the end of the cooldown.
    let seen = dispatches(&db, &id).await;
    assert!((55.0..61.0).contains(&seen[0]), "{seen:?}");
}

#[tokio::test]
async fn step_6_a_slot_during_a_refresh_by_hand_is_passed_over() {
    let db = database().await;
    let id = counted(&db, "").await;
    slot_due(&db, &id).await;
    let hand = db.connect().await;
    run(&hand, "BEGIN; REFRESH MATERIALIZED VIEW public.mv").await;
    dispatch(&db, &id).await;
    run(&hand, "COMMIT").await;
    assert_eq!(
        log(&db, &id).await,
        ["schedule skipped: refresh_in_progress"]
    );
}

#[tokio::test]
async fn step_6_a_slot_without_a_change_is_passed_over_where_the_view_wants_it() {
    let db = database().await;
    let id = counted(&db, "p_refresh_lag => 0, p_skip_unchanged => true").await;
    for expected in ["schedule ok plain", "schedule skipped: unchanged"] {
        slot_due(&db, &id).await;
        dispatch(&db, &id).await;
        assert_eq!(last_logged(&db, &id).await, expected);
    }
    db.execute(CHANGE).await;
    slot_due(&db, &id).await;
    dispatch(&db, &id).await;
    assert_eq!(last_logged(&db, &id).await, "schedule ok plain");
}

#[tokio::test]
async fn step_5_a_missing_view_is_looked_for_while_something_is_pending() {
    let db = database().await;
    let id = counted(&db, "").await;
    db.execute("DROP MATERIALIZED VIEW public.mv").await;
    db.execute(CHANGE).await;
    claim_dispatches(&db).await;
    dispatch(&db, &id).await;
    one_dispatch_in(&db, &id, 60.0).await;
    // Made anew with contents from before the change, as by a session that began earlier.
    db.execute("CREATE MATERIALIZED VIEW public.mv AS SELECT count(*) AS n FROM public.t; DELETE FROM public.t; DELETE FROM pgauto_mv.mv_events WHERE event_id > (SELECT min(event_id) FROM pgauto_mv.mv_events)").await;
    pass(&db, 60.0).await;
    dispatch(&db, &id).await;
    assert_eq!(db.query_one::<i64>("SELECT n FROM public.mv", &[]).await, 0);
}
