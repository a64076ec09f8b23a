//! A change stays pending until a refresh that saw it has committed, and a dispatch is on its way for as long.

use std::time::Duration;

use fleet_tests::processor::Processor;
use fleet_tests::wait;

use crate::auto_mv_steps::{
    begin_dispatch, claim_dispatches, counted, database, dispatch, dispatch_sql, dispatches, held,
    log, one_dispatch_in, run, state, until_fresh,
};

#[tokio::test]
async fn a_refresh_that_waited_for_its_lock_is_followed_by_another() {
    let db = database().await;
    let id = counted(&db, "p_refresh_lag => 0, p_lock_timeout => '1 minute'").await;
    db.execute("INSERT INTO public.t VALUES (1)").await;
    let reader = db.connect().await;
    run(&reader, "BEGIN; TABLE public.mv").await;
    let running = begin_dispatch(&db, &id).await;
    let waits =
        "SELECT count(*) FROM pg_locks WHERE relation = 'public.mv'::regclass AND NOT granted";
    db.until_equals(waits, 1_i64, wait::SOON).await;
    db.execute("INSERT INTO public.t VALUES (2)").await;
    claim_dispatches(&db).await;
    run(&reader, "COMMIT").await;
    running.await.expect("the dispatch");
    assert_eq!(
        db.query_one::<i64>("SELECT n FROM public.mv", &[]).await,
        1,
        "its snapshot was older"
    );
    assert_eq!(state(&db, &id, "is_pending").await, "true");
    let as_of = "SELECT max(s.data_as_of) < max(e.event_at) FROM pgauto_mv.mv_state AS s, pgauto_mv.mv_events AS e";
    assert!(db.query_one::<bool>(as_of, &[]).await);
    one_dispatch_in(&db, &id, 0.0).await;
    dispatch(&db, &id).await;
    assert_eq!(db.query_one::<i64>("SELECT n FROM public.mv", &[]).await, 2);
    assert_eq!(log(&db, &id).await, ["event ok plain", "event ok plain"]);
}

#[tokio::test]
async fn what_is_written_during_a_refresh_is_refreshed_by_the_next() {
    let db = database().await;
    counted(&db, "").await;
    let (id, gate) = held(&db, "").await;
    let _processor = Processor::start(&db).await;
    db.execute("INSERT INTO public.t VALUES (1)").await;
    gate.wait_for_arrivals(1).await;
    db.execute("INSERT INTO public.t VALUES (2)").await;
    gate.open().await;
    db.until_equals("SELECT n FROM public.held", 2_i64, wait::SOON)
        .await;
    db.until_equals(
        "SELECT count(*) FROM pgauto_mv.mv_events",
        0_i64,
        wait::SOON,
    )
    .await;
    assert_eq!(log(&db, &id).await.len(), 2);
}

#[tokio::test]
async fn a_writer_who_relies_on_a_deferred_dispatch_is_waited_for() {
    let db = database().await;
    let id = counted(&db, "p_refresh_lag => 1, p_max_wait => 0").await;
    db.execute("INSERT INTO public.t VALUES (1)").await;
    claim_dispatches(&db).await;
    dispatch(&db, &id).await;
    one_dispatch_in(&db, &id, 1.0).await;
    let writer = db.connect().await;
    run(&writer, "BEGIN; INSERT INTO public.t VALUES (2)").await;
    assert_eq!(
        dispatches(&db, &id).await.len(),
        1,
        "it has sent none of its own"
    );
    db.execute("SELECT public.pass('2 s')").await;
    claim_dispatches(&db).await;
    dispatch(&db, &id).await;
    assert_eq!(log(&db, &id).await, ["event ok plain"]);
    // Nothing that can be seen is pending, and the writer has not committed.
    assert_eq!(state(&db, &id, "is_pending").await, "false");
    one_dispatch_in(&db, &id, 2.0).await;
    run(&writer, "COMMIT").await;
    db.execute("SELECT public.pass('3 s')").await;
    claim_dispatches(&db).await;
    dispatch(&db, &id).await;
    assert_eq!(db.query_one::<i64>("SELECT n FROM public.mv", &[]).await, 2);
    assert!(dispatches(&db, &id).await.is_empty());
}

#[tokio::test]
async fn a_dispatch_by_hand_with_an_old_snapshot_leaves_it_to_another() {
    let db = database().await;
    let id = counted(&db, "").await;
    db.execute("INSERT INTO public.t VALUES (1)").await;
    claim_dispatches(&db).await;
    let hand = db.connect().await;
    let dispatch = dispatch_sql(&id);
    run(
        &hand,
        &format!("BEGIN ISOLATION LEVEL REPEATABLE READ; {dispatch}; COMMIT"),
    )
    .await;
    assert!(log(&db, &id).await.is_empty());
    one_dispatch_in(&db, &id, 1.0).await;
}

#[tokio::test]
async fn a_dispatch_that_is_late_is_not_relied_on() {
    let db = database().await;
    let id = counted(&db, "p_refresh_lag => 1, p_max_wait => 0").await;
    db.execute("INSERT INTO public.t VALUES (1)").await;
    dispatch(&db, &id).await;
    claim_dispatches(&db).await;
    db.execute("SELECT public.pass('7 s')").await;
    db.execute("INSERT INTO public.t VALUES (2)").await;
    one_dispatch_in(&db, &id, 0.0).await;
}

#[tokio::test]
async fn an_old_snapshot_relies_on_no_dispatch() {
    let db = database().await;
    let id = counted(&db, "p_refresh_lag => 1, p_max_wait => 0").await;
    db.execute("INSERT INTO public.t VALUES (1)").await;
    claim_dispatches(&db).await;
    dispatch(&db, &id).await;
    for (number, level) in ["REPEATABLE READ", "SERIALIZABLE"].iter().enumerate() {
        claim_dispatches(&db).await;
        db.execute(&format!(
            "BEGIN ISOLATION LEVEL {level}; INSERT INTO public.t VALUES ({number} + 10); COMMIT"
        ))
        .await;
        one_dispatch_in(&db, &id, 0.0).await;
    }
}

#[tokio::test]
async fn a_killed_slot_takes_no_deferral_along() {
    let db = database().await;
    let id = counted(&db, "p_refresh_lag => 40, p_max_wait => 0").await;
    db.execute("SELECT pgauto_mv.create_schedule('soon', p_every => '20 seconds'), pgauto_mv.assign_schedule('public.mv', 'soon')").await;
    db.execute("INSERT INTO public.t VALUES (1)").await;
    db.execute(&format!(
        "DELETE FROM pgrelay.queue WHERE id <> {}",
        state(&db, &id, "scheduled_queue_id").await
    ))
    .await;
    dispatch(&db, &id).await;
    assert_eq!(
        dispatches(&db, &id).await.len(),
        1,
        "the slot comes sooner and will serve"
    );
    db.execute("SELECT pgauto_mv.unassign_schedule('public.mv')")
        .await;
    one_dispatch_in(&db, &id, 0.0).await;
}

#[tokio::test]
async fn thousands_of_events_are_thinned_to_the_first_and_the_last() {
    let db = database().await;
    let id = counted(&db, "p_refresh_lag => 60, p_max_wait => 0").await;
    db.execute(&format!(
        "INSERT INTO pgauto_mv.mv_events (auto_mv_id, event_at) SELECT '{id}', clock_timestamp() - i * interval '1 ms' FROM generate_series(1, 5000) AS i"
    ))
    .await;
    let ends = "(first_event_at, latest_event_at)";
    let before = state(&db, &id, ends).await;
    dispatch(&db, &id).await;
    assert_eq!(state(&db, &id, ends).await, before);
    assert_eq!(state(&db, &id, "pending_events").await, "2");
}

#[tokio::test]
async fn a_busy_table_needs_few_dispatches() {
    let db = database().await;
    counted(&db, "p_refresh_lag => 1, p_max_wait => 2").await;
    let _processor = Processor::start(&db).await;
    for id in 0..300 {
        db.execute(&format!("INSERT INTO public.t VALUES ({id})"))
            .await;
    }
    until_fresh(
        &db,
        "public.mv",
        "SELECT count(*), sum(v) FROM public.t",
        Duration::from_secs(10),
    )
    .await;
    let count: i64 = db
        .query_one("SELECT count(*) FROM pgrelay.queue", &[])
        .await;
    assert!(count < 60, "{count} dispatches for 300 writes");
}
