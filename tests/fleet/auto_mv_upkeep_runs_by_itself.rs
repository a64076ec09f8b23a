//! On a Processor the upkeep is one event a minute that asks for its successor, and all that it does is done without anybody's help.

use std::time::Duration;

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;
use fleet_tests::wait;

use crate::auto_mv_steps::{
    counted, database, everything, log, pass, register, until_fresh, upkeep,
};

const COMING: &str =
    "SELECT count(*) FROM pgrelay.queue WHERE status = 'pending' AND channel = 'pg_auto_mv.upkeep'";

/// Upkeeps that have run, and whether one alone is coming, within a minute.
async fn until_done(db: &Database, runs: i64) {
    let done =
        "SELECT count(*) FROM pgrelay.log WHERE channel = 'pg_auto_mv.upkeep' AND status = 'ok'";
    db.until_equals(done, runs, wait::SOON).await;
    let coming = "SELECT count(*) = 1 AND bool_and(run_at BETWEEN clock_timestamp() + interval '30 s' AND clock_timestamp() + interval '61 s')
                  FROM pgrelay.queue WHERE status = 'pending' AND channel = 'pg_auto_mv.upkeep'";
    assert!(
        db.query_one::<bool>(coming, &[]).await,
        "{}",
        everything(db).await
    );
}

#[tokio::test]
async fn once_a_minute_until_the_last_view_has_gone() {
    let db = database().await;
    counted(&db, "").await;
    let _processor = Processor::start(&db).await;
    for minute in 1..=3 {
        // Whoever calls it by hand makes no second chain.
        upkeep(&db).await;
        upkeep(&db).await;
        pass(&db, 61.0).await;
        until_done(&db, minute).await;
    }
    db.execute("SELECT pgauto_mv.unregister('public.mv')").await;
    pass(&db, 61.0).await;
    db.until_equals(COMING, 0_i64, wait::SOON).await;
    register(&db, "public.mv", "").await;
    assert_eq!(db.query_one::<i64>(COMING, &[]).await, 1);
}

#[tokio::test]
async fn and_several_become_one() {
    let db = database().await;
    counted(&db, "").await;
    let _processor = Processor::start(&db).await;
    db.execute("SELECT pgrelay.notify('pg_auto_mv.upkeep') FROM generate_series(1, 5)")
        .await;
    db.until_equals(COMING, 1_i64, wait::SOON).await;
    pass(&db, 61.0).await;
    until_done(&db, 6).await;
}

/// The first look finds the partition and has the view refreshed; the triggers of its own come right after, and with them another refresh.
#[tokio::test]
async fn and_finds_a_partition_with_rows() {
    let db = database().await;
    db.execute(
        "CREATE TABLE public.p (k integer) PARTITION BY RANGE (k);
         CREATE TABLE public.p1 (k integer); INSERT INTO public.p1 VALUES (1), (2);
         CREATE MATERIALIZED VIEW public.mp AS SELECT count(*) AS n FROM public.p",
    )
    .await;
    let id = register(&db, "public.mp", "").await;
    let _processor = Processor::start(&db).await;
    db.execute("ALTER TABLE public.p ATTACH PARTITION public.p1 FOR VALUES FROM (0) TO (10)")
        .await;
    pass(&db, 61.0).await;
    let definition = "SELECT count(*) AS n FROM public.p";
    until_fresh(&db, "public.mp", definition, wait::SOON).await;
    let watched =
        "SELECT count(*) FROM pg_trigger WHERE tgrelid = 'public.p1'::regclass AND tgtype = 32";
    db.until_equals(watched, 1_i64, wait::SOON).await;
    // No slower than a change of a table that was there from the beginning.
    db.execute("TRUNCATE public.p1").await;
    until_fresh(&db, "public.mp", definition, Duration::from_secs(10)).await;
    let seen = log(&db, &id).await;
    assert!(seen.iter().all(|row| row == "event ok plain"), "{seen:?}");
}
