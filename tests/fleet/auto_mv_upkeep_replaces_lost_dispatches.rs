//! A view that is due with nothing coming for it gets another dispatch: a failure that is logged, tried again, and counts.

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;
use fleet_tests::wait;

use crate::auto_mv_steps::{
    CHANGE, QUEUED, begin_dispatch, claim_dispatches, counted, database, dispatch, dispatches,
    held, last_logged, log, one_dispatch_in, pass, register, slot_due, state, upkeep,
};

/// A view whose refresh ends its own server process while `deadly` has a row, as one that the kernel kills for its memory.
async fn deadly(db: &Database, settings: &str) -> String {
    db.execute(
        "CREATE TABLE public.deadly (yes boolean);
         CREATE TABLE public.t (id integer);
         CREATE FUNCTION public.work() RETURNS bigint LANGUAGE plpgsql AS $$
         BEGIN
             IF EXISTS (SELECT FROM public.deadly) THEN
                 PERFORM pg_terminate_backend(pg_backend_pid());
                 PERFORM pg_sleep(5);
             END IF;
             RETURN 1;
         END $$;
         CREATE MATERIALIZED VIEW public.mv AS SELECT count(*) AS n, public.work() FROM public.t;
         INSERT INTO public.deadly VALUES (true)",
    )
    .await;
    register(db, "public.mv", settings).await
}

#[tokio::test]
async fn whose_sessions_ended_three_times() {
    let db = database().await;
    let id = deadly(&db, "0, 0, p_suspend_after => 5").await;
    db.execute("INSERT INTO public.t VALUES (1)").await;
    let processor = Processor::start(&db).await;
    let ended = "SELECT count(*) FROM pgrelay.queue WHERE channel = 'pg_auto_mv.refresh_materialised_view' AND status = 'error'";
    db.until_equals(ended, 1_i64, wait::SOON).await;
    drop(processor);
    assert_eq!(state(&db, &id, "is_pending").await, "true");
    assert!(dispatches(&db, &id).await.is_empty(), "nothing is coming");

    upkeep(&db).await;
    assert!(
        log(&db, &id).await.is_empty(),
        "not before ten seconds have passed"
    );
    pass(&db, 11.0).await;
    upkeep(&db).await;
    assert_eq!(log(&db, &id).await, ["event failed PM011"]);
    assert_eq!(state(&db, &id, "consecutive_failures").await, "1");
    one_dispatch_in(&db, &id, 60.0).await;
    upkeep(&db).await;
    assert_eq!(log(&db, &id).await.len(), 1, "said once");

    db.execute("DELETE FROM public.deadly").await;
    pass(&db, 60.0).await;
    let _processor = Processor::start(&db).await;
    db.until_equals("SELECT n FROM public.mv", 1_i64, wait::SOON)
        .await;
    assert_eq!(last_logged(&db, &id).await, "event ok plain");
}

#[tokio::test]
async fn whose_event_was_removed() {
    let db = database().await;
    let id = counted(&db, "0, 0, p_suspend_after => 1").await;
    db.execute(CHANGE).await;
    claim_dispatches(&db).await;
    pass(&db, 11.0).await;
    upkeep(&db).await;
    assert_eq!(log(&db, &id).await, ["event failed PM011"]);
    // Enough of it suspends the view as any failure does.
    assert_eq!(state(&db, &id, "suspended").await, "true");
    upkeep(&db).await;
    assert_eq!(log(&db, &id).await.len(), 1);
    assert!(dispatches(&db, &id).await.is_empty());
    // Somebody asks for a suspended view, and that is lost as well: it is sent, and nothing is held against it.
    db.execute("SELECT pgauto_mv.refresh('public.mv')").await;
    claim_dispatches(&db).await;
    pass(&db, 11.0).await;
    upkeep(&db).await;
    one_dispatch_in(&db, &id, 0.0).await;
    assert_eq!(log(&db, &id).await.len(), 1);
}

#[tokio::test]
async fn which_was_that_of_a_slot() {
    let db = database().await;
    let id = counted(&db, "0, 0").await;
    slot_due(&db, &id).await;
    claim_dispatches(&db).await;
    pass(&db, 11.0).await;
    upkeep(&db).await;
    assert_eq!(log(&db, &id).await, ["schedule failed PM011"]);
    let coming = dispatches(&db, &id).await;
    assert_eq!(coming.len(), 2, "the retry and the next slot: {coming:?}");
    assert!(
        (coming[0] - 60.0).abs() < 1.5 && coming[1] > 3000.0,
        "{coming:?}"
    );
    // The event of a slot that is not due is made anew, at the same time.
    let slot = state(&db, &id, "next_scheduled_at").await;
    claim_dispatches(&db).await;
    upkeep(&db).await;
    assert_eq!(state(&db, &id, "next_scheduled_at").await, slot);
    let event = "SELECT (run_at = next_scheduled_at) FROM pgrelay.queue JOIN pgauto_mv.mv_state ON id = scheduled_queue_id WHERE status = 'pending'";
    assert!(db.query_one::<bool>(event, &[]).await);
}

#[tokio::test]
async fn and_nothing_else_is() {
    let db = database().await;
    let id = counted(&db, "0, 0").await;
    db.execute(CHANGE).await;
    pass(&db, 600.0).await;
    upkeep(&db).await;
    assert!(
        log(&db, &id).await.is_empty(),
        "a Processor is late, that is all"
    );
    // A refresh that takes its time.
    let (slow, gate) = held(&db, "0, 0").await;
    db.execute(CHANGE).await;
    let running = begin_dispatch(&db, &slow).await;
    gate.wait_for_arrivals(1).await;
    claim_dispatches(&db).await;
    db.execute(&format!("UPDATE pgauto_mv.mv_events SET event_at = event_at - interval '1 h' WHERE auto_mv_id = '{slow}'"))
        .await;
    upkeep(&db).await;
    gate.open().await;
    running.await.expect("the refresh");
    assert_eq!(log(&db, &slow).await, ["event ok plain"]);
    // A view that nobody wants refreshed.
    db.execute(CHANGE).await;
    db.execute("SELECT pgauto_mv.update('public.mv', p_is_active => false)")
        .await;
    dispatch(&db, &id).await;
    claim_dispatches(&db).await;
    pass(&db, 600.0).await;
    upkeep(&db).await;
    assert_eq!(log(&db, &id).await, ["event skipped: inactive"]);
    assert_eq!(
        db.query_one::<i64>(QUEUED, &[]).await,
        1,
        "that of the other view"
    );
}
