//! SIGTERM and SIGINT end the bouncer cleanly within two seconds, whatever has become of its database.

use std::fs::{Permissions, set_permissions};
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use fleet_tests::bouncer;
use fleet_tests::database::Database;
use fleet_tests::postgres::{PrivateOptions, Server, StopMode};
use fleet_tests::{skip, wait};
use nix::sys::signal::Signal;

use crate::freeze::freeze;
use crate::{ingress, mounted};

/// Two seconds are promised; the rest is for the start of the signal's way and the end of the process.
const AT_ONCE: Duration = Duration::from_millis(2_500);

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

/// The system's look-up of a name cannot be broken off: the process must not wait for it.
#[tokio::test]
async fn while_the_name_server_is_silent() {
    let pid = std::process::id();
    let address = format!("127.{}.{}.1", 64 + pid % 128, (pid / 128) % 256);
    let Ok(silent) = UdpSocket::bind((address.as_str(), 53)) else {
        skip!("root", "no port 53 may be used");
    };
    silent.set_read_timeout(Some(wait::SOON)).expect("a limit");
    let resolver = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(&resolver, format!("nameserver {address}\n")).expect("a name server");
    set_permissions(&resolver, Permissions::from_mode(0o644)).expect("a file for everybody");
    let Some(launcher) = mounted::launcher(resolver.path(), "/etc/resolv.conf") else {
        skip!("root", "no mount namespace may be made");
    };
    let launcher: Vec<&str> = launcher.iter().map(String::as_str).collect();
    let db = Database::empty().await;
    let mut bouncer = bouncer::builder(&db)
        .set_in("pepsi-postgres", "HOST", "database.example.org")
        .through(&launcher)
        .spawn();
    silent.recv(&mut [0; 512]).expect("a question");
    bouncer.terminate();
    assert_eq!(bouncer.wait_exit(AT_ONCE).await, 0);
}
