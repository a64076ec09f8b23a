//! Children are refreshed after their parents, once, whatever the shape of the chain.

use std::time::Duration;

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;
use fleet_tests::wait;

use crate::auto_mv_steps::{
    begin_dispatch, counted, database, dispatch, held, last_logged, log, pass, register, state,
    until_fresh,
};
use crate::steps::refusal;

/// `mv` over `t`; `b` and `c` read `mv`; `d` reads `b` and `c`. Registered, so chained. Their ids.
async fn diamond(db: &Database) -> [String; 4] {
    let a = counted(db, "").await;
    db.execute(
        "CREATE MATERIALIZED VIEW public.b AS SELECT n + 1 AS n FROM public.mv;
         CREATE MATERIALIZED VIEW public.c AS SELECT n + 2 AS n FROM public.mv;
         CREATE MATERIALIZED VIEW public.d AS SELECT b.n + c.n AS n FROM public.b, public.c",
    )
    .await;
    let [b, c, d] = [
        register(db, "public.b", "").await,
        register(db, "public.c", "").await,
        register(db, "public.d", "").await,
    ];
    [a, b, c, d]
}

#[tokio::test]
async fn the_child_of_a_diamond_is_refreshed_once() {
    let db = database().await;
    let [a, b, c, d] = diamond(&db).await;
    db.execute("INSERT INTO public.t VALUES (1)").await;
    dispatch(&db, &a).await;
    dispatch(&db, &b).await;
    // The other parent is still to come.
    dispatch(&db, &d).await;
    assert!(log(&db, &d).await.is_empty());
    dispatch(&db, &c).await;
    dispatch(&db, &d).await;
    for id in [&b, &c, &d] {
        assert_eq!(log(&db, id).await, ["chain ok plain"]);
    }
    assert_eq!(db.query_one::<i64>("SELECT n FROM public.d", &[]).await, 5);
}

#[tokio::test]
async fn a_processor_takes_a_diamond_in_order() {
    let db = database().await;
    let [_, _, _, d] = diamond(&db).await;
    let _processor = Processor::start(&db).await;
    for round in 1..=3 {
        db.execute(&format!("INSERT INTO public.t VALUES ({round})"))
            .await;
        until_fresh(
            &db,
            "public.d",
            "SELECT 2 * count(*) + 3 FROM public.t",
            wait::SOON,
        )
        .await;
        assert_eq!(log(&db, &d).await.len(), round);
    }
}

#[tokio::test]
async fn a_parent_that_fails_or_sleeps_holds_up_nobody() {
    let db = database().await;
    let [a, b, c, d] = diamond(&db).await;
    db.execute("SELECT pgauto_mv.update('public.c', p_is_active => false); INSERT INTO public.t VALUES (1)").await;
    for id in [&a, &b, &c, &d] {
        dispatch(&db, id).await;
    }
    assert_eq!(log(&db, &d).await, ["chain ok plain"]);
    db.execute("SELECT pgauto_mv.update('public.c', p_is_active => true, p_lock_timeout => '10 ms'); INSERT INTO public.t VALUES (2)").await;
    let reader = db.connect().await;
    crate::auto_mv_steps::run(&reader, "BEGIN; TABLE public.c").await;
    for id in [&a, &b, &c] {
        dispatch(&db, id).await;
    }
    assert_eq!(last_logged(&db, &c).await, "chain failed 55P03");
    dispatch(&db, &d).await;
    assert_eq!(log(&db, &d).await, ["chain ok plain", "chain ok plain"]);
}

#[tokio::test]
async fn a_change_of_its_own_does_not_wait_for_the_chain() {
    let db = database().await;
    let [a, _, _, d] = diamond(&db).await;
    db.execute("CREATE TABLE public.own (id integer); SELECT pgauto_mv.update('public.d', p_sources => '{public.own}')").await;
    db.execute("INSERT INTO public.t VALUES (1)").await;
    dispatch(&db, &a).await;
    db.execute("INSERT INTO public.own VALUES (1)").await;
    dispatch(&db, &d).await;
    assert_eq!(log(&db, &d).await, ["event ok plain"]);
}

#[tokio::test]
async fn a_later_wave_of_a_busy_ancestor_starves_nobody() {
    let db = database().await;
    counted(&db, "").await;
    let (top, gate) = held(&db, "").await;
    db.execute("CREATE MATERIALIZED VIEW public.below AS SELECT 1 AS n")
        .await;
    let below = register(&db, "public.below", "").await;
    db.execute(&format!("SELECT pgauto_mv.chain('public.held', 'public.below'); INSERT INTO pgauto_mv.mv_events (auto_mv_id, source) VALUES ('{below}', 'chain'), ('{top}', 'chain')")).await;
    let running = begin_dispatch(&db, &top).await;
    gate.wait_for_arrivals(1).await;
    dispatch(&db, &below).await;
    assert_eq!(log(&db, &below).await, ["chain ok plain"]);
    gate.open().await;
    running.await.expect("the dispatch");
    assert_eq!(state(&db, &below, "is_pending").await, "true");
}

#[tokio::test]
async fn a_circle_is_refused_and_a_link_can_be_taken_out() {
    let db = database().await;
    let [a, _, _, d] = diamond(&db).await;
    let session = db.connect().await;
    for (parent, child) in [("d", "mv"), ("mv", "mv"), ("d", "b")] {
        let refused = refusal(
            &session,
            &format!("SELECT pgauto_mv.chain('public.{parent}', 'public.{child}')"),
        )
        .await;
        assert_eq!(refused.sqlstate, "PM003", "{refused:?}");
    }
    db.execute("SELECT pgauto_mv.chain('public.mv', 'public.d'), pgauto_mv.unchain('public.b', 'public.d'), pgauto_mv.unchain('public.c', 'public.d')").await;
    // What was taken out stays out.
    db.execute("SELECT pgauto_mv.update('public.d', p_cooldown => 0), pgauto_mv.reconcile()")
        .await;
    assert_eq!(
        db.query_one::<i64>("SELECT count(*) FROM pgauto_mv.mv_chain", &[])
            .await,
        3
    );
    db.execute("INSERT INTO public.t VALUES (1)").await;
    dispatch(&db, &a).await;
    assert_eq!(state(&db, &d, "refresh_source").await, "chain");
    let refused = refusal(&session, "SELECT pgauto_mv.unchain('public.b', 'public.d')").await;
    assert_eq!(refused.sqlstate, "PM001");
}

#[tokio::test]
async fn two_processors_refresh_opposite_chains_without_a_deadlock() {
    let db = database().await;
    let [_, _, _, _] = diamond(&db).await;
    let (_one, _two) = (Processor::start(&db).await, Processor::start(&db).await);
    for round in 0..20 {
        db.execute(&format!("INSERT INTO public.t VALUES ({round}); SELECT pgauto_mv.refresh('public.d'), pgauto_mv.refresh('public.b')")).await;
    }
    until_fresh(
        &db,
        "public.d",
        "SELECT 2 * count(*) + 3 FROM public.t",
        Duration::from_secs(30),
    )
    .await;
    let failures = "SELECT count(*) FROM pgauto_mv.mv_refresh_log WHERE NOT success";
    assert_eq!(db.query_one::<i64>(failures, &[]).await, 0);
}

#[tokio::test]
async fn a_child_that_was_there_first_follows_a_parent_registered_later() {
    let db = database().await;
    db.execute(
        "CREATE TABLE public.t (id integer);
         CREATE MATERIALIZED VIEW public.top AS SELECT count(*) AS n FROM public.t;
         CREATE MATERIALIZED VIEW public.bottom AS SELECT n FROM public.top",
    )
    .await;
    let bottom = register(&db, "public.bottom", "0, 0").await;
    let reason = format!(
        "SELECT count(*) FROM pgauto_mv.health WHERE auto_mv_id = '{bottom}' AND reason = 'parent_unchained'"
    );
    assert_eq!(db.query_one::<i64>(&reason, &[]).await, 1);
    let top = register(&db, "public.top", "0, 0").await;
    assert_eq!(db.query_one::<i64>(&reason, &[]).await, 0);
    db.execute("INSERT INTO public.t VALUES (1)").await;
    dispatch(&db, &top).await;
    dispatch(&db, &bottom).await;
    assert_eq!(last_logged(&db, &bottom).await, "chain ok plain");
    assert_eq!(
        db.query_one::<i64>("SELECT n FROM public.bottom", &[])
            .await,
        1
    );
}

#[tokio::test]
async fn a_parent_that_only_skips_is_waited_for_no_longer_than_a_minute() {
    let db = database().await;
    db.execute(
        "CREATE TABLE public.t (id integer);
         CREATE MATERIALIZED VIEW public.top AS SELECT count(*) AS n FROM public.t;
         CREATE MATERIALIZED VIEW public.side AS SELECT n FROM public.top;
         CREATE MATERIALIZED VIEW public.bottom AS SELECT s.n FROM public.side AS s, public.top AS t",
    )
    .await;
    let top = register(&db, "public.top", "0, 0").await;
    // It can only skip: there is no unique index.
    let side = register(
        &db,
        "public.side",
        "0, 0, p_concurrent => true, p_index_policy => 'skip'",
    )
    .await;
    let bottom = register(&db, "public.bottom", "0, 0").await;
    db.execute("INSERT INTO public.t VALUES (1)").await;
    dispatch(&db, &top).await;
    dispatch(&db, &side).await;
    assert_eq!(
        last_logged(&db, &side).await,
        "chain skipped: no_unique_index"
    );
    dispatch(&db, &bottom).await;
    assert_eq!(last_logged(&db, &bottom).await, "", "it waits for side");
    pass(&db, 61.0).await;
    dispatch(&db, &bottom).await;
    assert_eq!(last_logged(&db, &bottom).await, "chain ok plain");
}
