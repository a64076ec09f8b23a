//! SIGTERM and SIGINT end the bouncer cleanly within two seconds, whatever has become of its database.

use std::time::Duration;

use fleet_tests::bouncer;
use fleet_tests::database::Database;
use fleet_tests::postgres::{PrivateOptions, Server, StopMode};
use fleet_tests::wait;
use nix::sys::signal::Signal;

use crate::freeze::freeze;
use crate::ingress;

/// Two seconds are promised; the rest is for a machine under load.
const AT_ONCE: Duration = Duration::from_secs(3);

#[tokio::test]
async fn while_it_waits_for_messages() {
    let db = bouncer::database().await;
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let mut bouncer = bouncer::start(bouncer::builder(&db)).await;
        bouncer.signal(signal);
        assert_eq!(bouncer.wait_exit(AT_ONCE).await, 0);
        assert!(
            !bouncer.logs().contains("did not answer"),
            "an idle bouncer has nothing to give up"
        );
    }
    let left = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'pepsi-failure-bouncer'";
    db.until_equals(left, 0_i64, wait::SOON).await;
}

#[tokio::test]
async fn while_a_database_was_never_there() {
    let db = Database::empty().await;
    let builder = bouncer::builder(&db)
        .set_in("pepsi-postgres", "HOST", "127.0.0.1")
        .set_in("pepsi-postgres", "PORT", 1);
    let mut bouncer = builder.spawn();
    bouncer.wait_for_log("not bouncing", wait::SOON).await;
    bouncer.terminate();
    assert_eq!(bouncer.wait_exit(AT_ONCE).await, 0);
}

#[tokio::test]
async fn while_the_database_is_down() {
    let mut server = Server::private(PrivateOptions::default()).await;
    let db = bouncer::database_on(&server).await;
    let mut bouncer = bouncer::start(bouncer::builder(&db)).await;
    server.stop(StopMode::Fast).await;
    bouncer.wait_for_log("not bouncing", wait::SOON).await;
    bouncer.signal(Signal::SIGINT);
    assert_eq!(bouncer.wait_exit(AT_ONCE).await, 0);
}

#[tokio::test]
async fn while_the_database_neither_answers_nor_hangs_up() {
    let server = Server::private(PrivateOptions::default()).await;
    let db = bouncer::database_on(&server).await;
    let mut bouncer = bouncer::start(bouncer::builder(&db).set("SWEEP_INTERVAL", "100ms")).await;
    let id = ingress::stuck(&db, "relay", "failed").await;
    ingress::wait_until_bounced(&db, id, wait::SOON).await;
    let frozen = freeze(&server);
    // Long enough that a sweep waits for its answer.
    wait::while_holding("a frozen server", Duration::from_millis(500), || async {
        true
    })
    .await;
    bouncer.terminate();
    assert_eq!(bouncer.wait_exit(AT_ONCE).await, 0);
    drop(frozen);
}
