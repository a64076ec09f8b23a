//! One walk through the package on every PostgreSQL version that is there; `tests/run --long` fetches the others.

use fleet_tests::database::Database;
use fleet_tests::postgres::{Bindir, PrivateOptions, Server};
use fleet_tests::processor::Processor;
use fleet_tests::wait;

use crate::auto_mv_steps::{
    counted, database_on, dispatch, last_logged, log, register, run, until_fresh, upkeep,
};

/// What differs between versions: partitions and their triggers, the search path and the privileges of a refresh, the catalogs we read.
async fn walk(db: &Database) {
    let id = counted(db, "0, 0").await;
    db.execute(
        "CREATE TABLE public.p (k integer) PARTITION BY RANGE (k);
         CREATE TABLE public.p1 PARTITION OF public.p FOR VALUES FROM (0) TO (10);
         CREATE MATERIALIZED VIEW public.below AS SELECT (SELECT n FROM public.mv) + count(*) AS n FROM public.p;
         CREATE UNIQUE INDEX ON public.below (n);
         CREATE FUNCTION public.plain_name() RETURNS integer LANGUAGE sql AS 'SELECT 1';
         CREATE FUNCTION public.careless() RETURNS integer LANGUAGE plpgsql AS 'BEGIN RETURN plain_name(); END';
         CREATE MATERIALIZED VIEW public.careless_view AS SELECT public.careless() AS n FROM public.t WITH NO DATA",
    )
    .await;
    let below = register(
        db,
        "public.below",
        "0, 0, p_concurrent => true, p_fire_on_replica => true",
    )
    .await;
    let careless = register(db, "public.careless_view", "0, 0").await;
    db.execute("INSERT INTO public.t VALUES (1); INSERT INTO public.p1 VALUES (2); TRUNCATE public.p1; INSERT INTO public.p VALUES (3)").await;
    {
        let _processor = Processor::start(db).await;
        until_fresh(
            db,
            "public.below",
            "SELECT (SELECT count(*) FROM public.t) + (SELECT count(*) FROM public.p)",
            wait::SOON,
        )
        .await;
        db.until_equals(
            "SELECT count(*) FROM pgauto_mv.mv_refresh_log WHERE NOT success",
            1_i64,
            wait::SOON,
        )
        .await;
    }
    assert_eq!(
        log(db, &careless).await,
        ["event failed 42883"],
        "the same on every version"
    );
    assert!(
        log(db, &below)
            .await
            .iter()
            .all(|line| line.ends_with("ok concurrent")),
        "{:?}",
        log(db, &below).await
    );

    db.execute("SELECT pgauto_mv.unregister('public.careless_view'); ALTER TABLE public.p DETACH PARTITION public.p1").await;
    upkeep(db).await;
    upkeep(db).await;
    dispatch(db, &below).await;
    until_fresh(
        db,
        "public.below",
        "SELECT (SELECT count(*) FROM public.t) + (SELECT count(*) FROM public.p)",
        wait::SOON,
    )
    .await;
    let repaired: i64 = db
        .query_one("SELECT count(*) FROM pgauto_mv.reconcile()", &[])
        .await;
    assert_eq!(repaired, 0);
    let reader = db.connect().await;
    run(&reader, "BEGIN; TABLE public.mv").await;
    db.execute("SELECT pgauto_mv.update('public.mv', p_lock_timeout => '10 ms'); INSERT INTO public.t VALUES (5)").await;
    dispatch(db, &id).await;
    assert_eq!(last_logged(db, &id).await, "event failed 55P03");
}

#[tokio::test]
async fn a_walk_through_the_package() {
    let versions = Bindir::all();
    if fleet_tests::long_run() && versions.len() < 2 {
        fleet_tests::skip!("versions", "no other PostgreSQL version was fetched");
    }
    for bindir in versions {
        eprintln!("on {}", bindir.version());
        let options = PrivateOptions {
            bindir: Some(bindir),
            ..PrivateOptions::default()
        };
        let server = Server::private(options).await;
        walk(&database_on(&server).await).await;
    }
}
