//! A restart, a connection that is open on one side only, and a failover are survived without a person.

use std::time::Duration;

use fleet_tests::bouncer;
use fleet_tests::database::Database;
use fleet_tests::postgres::{Bindir, PrivateOptions, Server, StopMode};
use fleet_tests::{skip, wait};
use serde_json::json;

use crate::ingress;
use crate::silence::SilentProxy;

#[tokio::test]
async fn a_restart() {
    let mut server = Server::private(PrivateOptions::default()).await;
    let db = bouncer::database_on(&server).await;
    let mut bouncer = bouncer::start(bouncer::builder(&db).set("SWEEP_INTERVAL", "1d")).await;
    for mode in [StopMode::Fast, StopMode::Immediate] {
        server.stop(mode).await;
        server.start().await;
        let id = ingress::stuck(&db, "relay", "failed").await;
        ingress::wait_until_bounced(&db, id, wait::SOON).await;
    }
    assert_eq!(bouncer.exit_code(), None);
    // Each loss is told, and each return, which may be a moment after the row has moved; not every try in between.
    let told = wait::until("both returns to be told", wait::SOON, || async {
        let log = bouncer.logs();
        match log.matches("bouncing again").count() {
            2 => Ok(log),
            seen => Err(format!("{seen} in\n{log}")),
        }
    });
    let log = told.await;
    assert!(log.lines().count() < 30, "{log}");
}

#[tokio::test]
async fn a_connection_on_which_nothing_comes_through() {
    let db = bouncer::database().await;
    let proxy = SilentProxy::start(db.endpoint()).await;
    let builder = bouncer::builder(&db)
        .set("SWEEP_INTERVAL", "1d")
        .set_in("pepsi-postgres", "HOST", "127.0.0.1")
        .set_in("pepsi-postgres", "PORT", proxy.port());
    let mut bouncer = bouncer::start(builder).await;
    let id = ingress::stuck(&db, "relay", "failed").await;
    ingress::wait_until_bounced(&db, id, wait::SOON).await;

    proxy.silence();
    let id = ingress::stuck(&db, "relay", "failed").await;
    // The listener asks for a sign of life every ten seconds and waits five for it; then the working session is asked.
    ingress::wait_until_bounced(&db, id, Duration::from_secs(45)).await;
    assert_eq!(bouncer.exit_code(), None);
}

#[tokio::test]
async fn a_failover() {
    if Bindir::with_clients().is_none() {
        skip!("standby", "pg_basebackup is not installed");
    }
    let mut primary = Server::private(PrivateOptions::default()).await;
    let db = bouncer::database_on(&primary).await;
    let mut standby = primary.standby().await;
    let builder = bouncer::builder(&db)
        .set("SWEEP_INTERVAL", "1d")
        .set_in("pepsi-postgres", "HOST", json!(["127.0.0.1", "127.0.0.1"]))
        .set_in(
            "pepsi-postgres",
            "PORT",
            json!([primary.port(), standby.port()]),
        );
    let mut bouncer = bouncer::start(builder).await;
    let id = ingress::stuck(&db, "relay", "failed").await;
    ingress::wait_until_bounced(&db, id, wait::SOON).await;
    until_equals(&standby, &db, "SELECT count(*) FROM pepsi.ingress_trail", 1).await;

    primary.stop(StopMode::Immediate).await;
    bouncer.wait_for_log("not bouncing", wait::SOON).await;
    standby.promote().await;
    let session = standby.endpoint().connect(db.name()).await;
    let failed = "INSERT INTO pepsi.ingress (stage, status, sender, recipients, message) VALUES ('relay', 'failed', '', '[]', '')";
    session
        .batch_execute(failed)
        .await
        .expect("a failed message");
    until_equals(&standby, &db, "SELECT count(*) FROM pepsi.ingress_trail", 2).await;
    assert_eq!(bouncer.exit_code(), None);
}

async fn until_equals(server: &Server, db: &Database, sql: &str, expected: i64) {
    let session = server.endpoint().connect(db.name()).await;
    wait::until(&format!("{sql} to give {expected}"), wait::SOON, || async {
        let row = session
            .query_one(sql, &[])
            .await
            .map_err(|error| error.to_string())?;
        match row.get::<_, i64>(0) {
            seen if seen == expected => Ok(()),
            seen => Err(format!("{seen}")),
        }
    })
    .await;
}
