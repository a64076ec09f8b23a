//! A Processor whose server is a standby waits, and starts work on its promotion without a restart.

use std::time::Duration;

use fleet_tests::database::{Database, describe};
use fleet_tests::postgres::{Bindir, PrivateOptions, Server, StopMode};
use fleet_tests::processor::Processor;
use fleet_tests::{skip, wait};
use serde_json::json;
use tokio_postgres::Client;

use crate::auto_mv_steps::{CHANGE, counted, database_on, dispatch, run, slot_due};
use crate::held;

/// Waits until a query of the standby gives `expected`.
async fn until_equals(server: &Server, db: &Database, sql: &str, expected: i64) {
    wait::until(&format!("{sql} to give {expected}"), wait::SOON, || async {
        let session = server.endpoint().try_connect(db.name()).await?;
        let row = session
            .query_one(sql, &[])
            .await
            .map_err(|error| describe(&error))?;
        match row.get::<_, i64>(0) {
            seen if seen == expected => Ok(()),
            seen => Err(format!("{seen}")),
        }
    })
    .await;
}

async fn enqueue(session: &Client, payload: &str) {
    session
        .execute("SELECT pgrelay.notify('free', $1)", &[&payload])
        .await
        .unwrap_or_else(|error| panic!("{}", describe(&error)));
}

#[tokio::test]
async fn it_works_from_the_promotion_on() {
    if Bindir::with_clients().is_none() {
        skip!("standby", "pg_basebackup is not installed");
    }
    let primary = Server::private(PrivateOptions::default()).await;
    let db = Database::with_schema_on(&primary).await;
    held::channels(&db).await.open().await;
    let mut standby = primary.standby().await;
    let processor = Processor::builder(&db).set_in("pepsi-postgres", "PORT", standby.port());
    let mut processor = Processor::from_daemon(processor.arg("run").spawn());
    processor
        .wait_for_log("is a standby, and no primary answers", wait::SOON)
        .await;
    wait::while_holding("the wait", Duration::from_secs(4), || {
        let code = processor.exit_code();
        async move { code.map_or(Ok(()), |code| Err(format!("exit code {code}"))) }
    })
    .await;
    let log = processor.logs();
    assert_eq!(log.matches("is a standby").count(), 1, "{log}");
    assert!(log.lines().count() < 10, "{log}");

    standby.promote().await;
    let session = standby.endpoint().connect(db.name()).await;
    enqueue(&session, "after").await;
    until_equals(&standby, &db, "SELECT count(*) FROM effects", 1).await;
    assert_eq!(processor.exit_code(), None);
}

#[tokio::test]
async fn among_several_hosts_it_follows_the_primary() {
    if Bindir::with_clients().is_none() {
        skip!("standby", "pg_basebackup is not installed");
    }
    let mut primary = Server::private(PrivateOptions::default()).await;
    let db = Database::with_schema_on(&primary).await;
    let gate = held::channels(&db).await;
    let mut standby = primary.standby().await;
    let processor = Processor::with(&db, |config| {
        config
            .set_in("pepsi-postgres", "HOST", json!(["127.0.0.1", "127.0.0.1"]))
            .set_in(
                "pepsi-postgres",
                "PORT",
                json!([primary.port(), standby.port()]),
            )
    })
    .await;
    held::hold(&db, &gate, "held").await;
    let arrived = "SELECT count(*) FROM pgrelay.queue WHERE status = 'pending'";
    until_equals(&standby, &db, arrived, 1).await;

    primary.stop(StopMode::Immediate).await;
    standby.promote().await;
    // The gate has gone with the primary.
    until_equals(&standby, &db, "SELECT count(*) FROM effects", 1).await;
    let session = standby.endpoint().connect(db.name()).await;
    enqueue(&session, "after").await;
    until_equals(&standby, &db, "SELECT count(*) FROM effects", 2).await;
    let ok = "SELECT count(*) FROM pgrelay.log WHERE status = 'ok'";
    until_equals(&standby, &db, ok, 2).await;
    drop(processor);
}

#[tokio::test]
async fn views_of_auto_mv_are_served_from_the_promotion_on() {
    if Bindir::with_clients().is_none() {
        skip!("standby", "pg_basebackup is not installed");
    }
    let mut primary = Server::private(PrivateOptions::default()).await;
    let db = database_on(&primary).await;
    let id = counted(&db, "0, 0").await;
    slot_due(&db, &id).await;
    db.execute("UPDATE pgrelay.queue SET run_at = now() WHERE channel = 'pg_auto_mv.upkeep'")
        .await;
    let mut standby = primary.standby().await;
    let processor = Processor::builder(&db).set_in("pepsi-postgres", "PORT", standby.port());
    let mut processor = Processor::from_daemon(processor.arg("run").spawn());
    processor
        .wait_for_log("is a standby, and no primary answers", wait::SOON)
        .await;
    // A refresh of the primary arrives as it is; the change that follows waits.
    db.execute(CHANGE).await;
    dispatch(&db, &id).await;
    until_equals(&standby, &db, "SELECT n FROM public.mv", 1).await;
    db.execute(CHANGE).await;
    let waiting = "SELECT count(*) FROM pgauto_mv.mv_events";
    until_equals(&standby, &db, waiting, 1).await;
    let attempts = "SELECT count(*) FROM pgrelay.log";
    until_equals(&standby, &db, attempts, 0).await;

    primary.stop(StopMode::Immediate).await;
    standby.promote().await;
    until_equals(&standby, &db, "SELECT n FROM public.mv", 2).await;
    let session = standby.endpoint().connect(db.name()).await;
    run(&session, CHANGE).await;
    until_equals(&standby, &db, "SELECT n FROM public.mv", 3).await;
    let kept =
        "SELECT count(*) FROM pgrelay.log WHERE channel = 'pg_auto_mv.upkeep' AND status = 'ok'";
    until_equals(&standby, &db, kept, 1).await;
    let health = "SELECT count(*) FROM pgauto_mv.health";
    until_equals(&standby, &db, health, 0).await;
    assert_eq!(processor.exit_code(), None);
}
