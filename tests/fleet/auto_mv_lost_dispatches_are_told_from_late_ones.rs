//! What counts as lost: nothing that is coming soon enough, whatever else is in the queue; and what follows from it for the views below.

use fleet_tests::processor::Processor;
use fleet_tests::wait;

use crate::auto_mv_steps::{
    CHANGE, claim_dispatches, counted, database, dispatches, last_logged, log, pass, register,
    state, until_fresh, upkeep,
};

#[tokio::test]
async fn the_event_of_a_later_slot_serves_nothing() {
    let db = database().await;
    let id = counted(&db, "0, 0").await;
    db.execute(CHANGE).await;
    claim_dispatches(&db).await;
    db.execute("SELECT pgauto_mv.create_schedule('s', p_every => '1 hour', p_anchor => clock_timestamp() + interval '40 min'), pgauto_mv.assign_schedule('public.mv', 's')")
        .await;
    pass(&db, 11.0).await;
    upkeep(&db).await;
    assert_eq!(log(&db, &id).await, ["event failed PM011"]);
    let coming = dispatches(&db, &id).await;
    assert!(
        coming.len() == 2 && (coming[0] - 60.0).abs() < 1.5 && coming[1] > 2000.0,
        "the retry and the slot: {coming:?}"
    );
}

#[tokio::test]
async fn a_view_that_is_not_due_has_lost_nothing() {
    let db = database().await;
    let id = counted(
        &db,
        "p_refresh_lag => 3600, p_max_wait => 0, p_cooldown => 60",
    )
    .await;
    db.execute(CHANGE).await;
    claim_dispatches(&db).await;
    for _ in 0..2 {
        pass(&db, 600.0).await;
        upkeep(&db).await;
        assert!(log(&db, &id).await.is_empty());
        assert!(dispatches(&db, &id).await.is_empty(), "it is early for one");
    }
    pass(&db, 3600.0).await;
    upkeep(&db).await;
    assert_eq!(log(&db, &id).await, ["event failed PM011"]);
}

/// Its events end as invalid. Once it is enabled again, the next upkeep makes up for them.
#[tokio::test]
async fn what_a_disabled_channel_was_given_is_lost() {
    let db = database().await;
    let id = counted(&db, "0, 0").await;
    let enable = |enabled: bool| {
        format!(
            "SELECT pgrelay.update('pg_auto_mv.refresh_materialised_view', p_enabled => {enabled})"
        )
    };
    db.execute(&enable(false)).await;
    db.execute(CHANGE).await;
    let processor = Processor::start(&db).await;
    let refused = "SELECT count(*) FROM pgrelay.queue WHERE status = 'invalid'";
    db.until_equals(refused, 1_i64, wait::SOON).await;
    drop(processor);
    db.execute(&enable(true)).await;
    pass(&db, 11.0).await;
    upkeep(&db).await;
    assert_eq!(log(&db, &id).await, ["event failed PM011"]);
    pass(&db, 61.0).await;
    let _processor = Processor::start(&db).await;
    let definition = "SELECT count(*) AS n, coalesce(sum(v), 0) AS s FROM public.t";
    until_fresh(&db, "public.mv", definition, wait::SOON).await;
}

/// A view that follows this one on error does so now, and one that has waited for it waits no longer.
#[tokio::test]
async fn the_views_below_are_told() {
    let db = database().await;
    let parent = counted(&db, "0, 0").await;
    db.execute(
        "CREATE MATERIALIZED VIEW public.follows AS SELECT 1 AS n; CREATE MATERIALIZED VIEW public.waits AS SELECT 1 AS n",
    )
    .await;
    let follows = register(&db, "public.follows", "0, 0").await;
    let waits = register(&db, "public.waits", "0, 0").await;
    db.execute("SELECT pgauto_mv.chain('public.mv', 'public.follows', p_refresh_on_error => true), pgauto_mv.chain('public.mv', 'public.waits')")
        .await;
    db.execute(CHANGE).await;
    claim_dispatches(&db).await;
    pass(&db, 11.0).await;
    db.execute(&format!(
        "INSERT INTO pgauto_mv.mv_events (auto_mv_id, source) VALUES ('{waits}', 'chain')"
    ))
    .await;
    upkeep(&db).await;
    assert_eq!(last_logged(&db, &parent).await, "event failed PM011");
    assert_eq!(state(&db, &follows, "refresh_source").await, "chain");
    for id in [&follows, &waits] {
        let coming = dispatches(&db, id).await;
        assert!(coming.len() == 1 && coming[0] < 1.0, "{coming:?}");
    }
}
