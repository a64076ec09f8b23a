//! Triggers are made without holding up a refresh or a writer, and nobody who waits for a view or a source is the victim of a deadlock.

use std::time::Duration;

use fleet_tests::wait;

use crate::auto_mv_steps::{
    CHANGE, begin_dispatch, claim_dispatches, counted, database, dispatches, held, log, register,
    run, state, upkeep,
};
use crate::steps::refusal;

const PARTITIONED: &str = "
    CREATE TABLE public.p (k integer) PARTITION BY RANGE (k);
    CREATE TABLE public.p1 PARTITION OF public.p FOR VALUES FROM (0) TO (10);
    CREATE MATERIALIZED VIEW public.mp AS SELECT count(*) AS n FROM public.p";

const TRIGGERS_OF_P2: &str =
    "SELECT count(*) FROM pg_trigger WHERE tgrelid = 'public.p2'::regclass AND tgtype = 32";

#[tokio::test]
async fn a_refresh_that_lasts_keeps_no_writer_from_a_new_partition() {
    let db = database().await;
    db.execute(PARTITIONED).await;
    counted(&db, "0, 0").await;
    let (slow, gate) = held(&db, "0, 0").await;
    // The view that is held reads the partitioned table as well.
    db.execute("SELECT pgauto_mv.update('public.held', p_sources => '{public.t, public.p}')")
        .await;
    db.execute("CREATE TABLE public.p2 PARTITION OF public.p FOR VALUES FROM (10) TO (20)")
        .await;
    db.execute(CHANGE).await;
    let running = begin_dispatch(&db, &slow).await;
    gate.wait_for_arrivals(1).await;
    let writer = db.connect().await;
    run(
        &writer,
        "SET lock_timeout = '2s'; TRUNCATE public.p2; INSERT INTO public.p2 VALUES (11)",
    )
    .await;
    upkeep(&db).await;
    assert_eq!(
        db.query_one::<i64>(TRIGGERS_OF_P2, &[]).await,
        1,
        "made meanwhile"
    );
    run(&writer, "TRUNCATE public.p2").await;
    gate.open().await;
    running.await.expect("the refresh");
    assert_eq!(
        state(&db, &slow, "is_pending").await,
        "true",
        "what was emptied during the refresh"
    );
}

#[tokio::test]
async fn a_locked_partition_holds_up_nobody() {
    let db = database().await;
    db.execute(PARTITIONED).await;
    let id = register(&db, "public.mp", "0, 0").await;
    let other = counted(&db, "0, 0").await;
    db.execute("CREATE TABLE public.p2 PARTITION OF public.p FOR VALUES FROM (10) TO (20)")
        .await;
    let reader = db.connect().await;
    run(
        &reader,
        "BEGIN; LOCK TABLE public.p2 IN SHARE MODE; SELECT 1",
    )
    .await;
    db.execute(CHANGE).await;
    claim_dispatches(&db).await;
    db.execute("UPDATE pgauto_mv.mv_events SET event_at = event_at - interval '1 min'")
        .await;
    upkeep(&db).await;
    assert_eq!(db.query_one::<i64>(TRIGGERS_OF_P2, &[]).await, 0);
    assert_eq!(
        state(&db, &id, "is_pending").await,
        "true",
        "it has a new partition"
    );
    assert_eq!(
        log(&db, &other).await,
        ["event failed PM011"],
        "the other one is looked after"
    );
    run(&reader, "COMMIT").await;
    upkeep(&db).await;
    assert_eq!(db.query_one::<i64>(TRIGGERS_OF_P2, &[]).await, 1);
}

/// A writer holds one source and waits for the other, which a repair holds: neither of them is to fail.
#[tokio::test]
async fn a_writer_of_two_sources_is_no_victim_of_a_repair() {
    let db = database().await;
    db.execute(
        "CREATE TABLE public.a (k integer); CREATE TABLE public.b (k integer);
         CREATE MATERIALIZED VIEW public.mv AS SELECT a.k FROM public.a JOIN public.b USING (k)",
    )
    .await;
    register(&db, "public.mv", "").await;
    db.execute(
        "ALTER TABLE public.a DISABLE TRIGGER USER; ALTER TABLE public.b DISABLE TRIGGER USER",
    )
    .await;
    let writer = db.connect().await;
    run(
        &writer,
        "SET deadlock_timeout = '300ms'; BEGIN; INSERT INTO public.b VALUES (1)",
    )
    .await;
    // It takes a, has to wait for b, and lets go of a again and again.
    let repairing = {
        let session = db.connect().await;
        tokio::spawn(async move {
            run(
                &session,
                "SET deadlock_timeout = '300ms'; SELECT pgauto_mv.reconcile()",
            )
            .await;
        })
    };
    let tried =
        "SELECT count(*) FROM pg_locks WHERE relation = 'public.b'::regclass AND NOT granted";
    db.until_equals(tried, 1_i64, wait::SOON).await;
    for k in 0..20 {
        run(&writer, &format!("INSERT INTO public.a VALUES ({k})")).await;
    }
    run(&writer, "COMMIT").await;
    repairing.await.expect("the repair");
    let repaired =
        "SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'pgauto_mv%' AND tgenabled = 'O'";
    assert_eq!(db.query_one::<i64>(repaired, &[]).await, 4);
}

#[tokio::test]
async fn unregistering_waits_for_a_refresh_and_gives_up_without_harm() {
    let db = database().await;
    counted(&db, "0, 0").await;
    let (slow, gate) = held(&db, "0, 0, p_lock_timeout => '1 min'").await;
    db.execute(CHANGE).await;
    let running = begin_dispatch(&db, &slow).await;
    gate.wait_for_arrivals(1).await;
    let admin = db.connect().await;
    let refused = refusal(&admin, "SELECT pgauto_mv.unregister('public.held')").await;
    assert_eq!(refused.sqlstate, "55P03", "{refused:?}");
    gate.open().await;
    running.await.expect("the refresh");
    assert_eq!(log(&db, &slow).await, ["event ok plain"]);
    db.execute("SELECT pgauto_mv.unregister('public.held')")
        .await;
    let left = format!("SELECT count(*) FROM pg_trigger WHERE tgargs::text LIKE '%{slow}%'");
    assert_eq!(db.query_one::<i64>(&left, &[]).await, 0);
}

/// The dispatch for which a writer waits is that of a slot, which is moved while the writer is open and cannot be seen.
#[tokio::test]
async fn a_slot_that_is_moved_takes_no_dispatch_from_an_open_writer() {
    let db = database().await;
    let id = counted(&db, "p_refresh_lag => 30, p_max_wait => 0").await;
    db.execute(
        "SELECT pgauto_mv.create_schedule('s', p_every => '1 hour', p_anchor => clock_timestamp() + interval '20 s'),
                pgauto_mv.assign_schedule('public.mv', 's')",
    )
    .await;
    db.execute(CHANGE).await;
    claim_but_for_slots(&db).await;
    // It is due in 30 s; the slot comes before that and serves the deferral.
    crate::auto_mv_steps::dispatch(&db, &id).await;
    assert_eq!(dispatches(&db, &id).await.len(), 1, "that of the slot");
    db.execute("DELETE FROM pgauto_mv.mv_events").await;
    let writer = db.connect().await;
    run(&writer, &format!("BEGIN; {CHANGE}")).await;
    assert_eq!(
        dispatches(&db, &id).await.len(),
        1,
        "the writer relies on it"
    );
    db.execute(
        "SELECT pgauto_mv.update_schedule('s', p_anchor => clock_timestamp() + interval '40 min')",
    )
    .await;
    run(&writer, "COMMIT").await;
    let coming = dispatches(&db, &id).await;
    assert!(
        coming.first().is_some_and(|&seconds| seconds < 31.0),
        "{coming:?}"
    );
}

async fn claim_but_for_slots(db: &fleet_tests::database::Database) {
    db.execute(
        "DELETE FROM pgrelay.queue WHERE status = 'pending' AND channel <> 'pg_auto_mv.upkeep'
         AND id NOT IN (SELECT scheduled_queue_id FROM pgauto_mv.mv_state WHERE scheduled_queue_id IS NOT NULL)",
    )
    .await;
}

/// Somebody who holds the lock that shows a refresh is believed for as long as one may take.
#[tokio::test]
async fn whoever_holds_the_lock_of_a_refresh_hides_nothing_for_long() {
    let db = database().await;
    let id = counted(&db, "0, 0").await;
    db.execute(CHANGE).await;
    let other = db.connect().await;
    run(
        &other,
        &format!("SELECT pg_advisory_lock(pgauto_mv._lock_key('{id}', 'refresh'))"),
    )
    .await;
    let overdue = "SELECT count(*) FROM pgauto_mv.health WHERE reason = 'overdue'";
    for (minutes, expected) in [(30.0, 0), (31.0, 1)] {
        crate::auto_mv_steps::pass(&db, minutes * 60.0).await;
        assert_eq!(db.query_one::<i64>(overdue, &[]).await, expected);
    }
    let limit = Duration::from_secs(5);
    db.execute("SELECT pgrelay.update('pg_auto_mv.refresh_materialised_view', p_action_timeout => '3 hours')")
        .await;
    db.until_equals(overdue, 0_i64, limit).await;
}
