//! SIGHUP: the bouncer follows LOG_LEVEL, where its account can read the file, and says what else needs a restart.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

use fleet_tests::bouncer;
use fleet_tests::daemon::Daemon;
use fleet_tests::wait;
use nix::sys::signal::Signal;

use crate::ingress;

/// Changes a key, and lets the account read the file.
fn reconfigure(bouncer: &mut Daemon, key: &str, value: &str) {
    bouncer.reconfigure(key, value);
    let file = bouncer.config_path();
    let directory = file.parent().expect("a directory");
    std::fs::set_permissions(directory, Permissions::from_mode(0o755))
        .expect("a directory for all");
    std::fs::set_permissions(file, Permissions::from_mode(0o644)).expect("a file for all");
    bouncer.signal(Signal::SIGHUP);
}

#[tokio::test]
async fn without_a_restart() {
    let db = bouncer::database().await;
    let mut bouncer = bouncer::start(bouncer::builder(&db).set("LOG_LEVEL", "info")).await;
    reconfigure(&mut bouncer, "LOG_LEVEL", "debug");
    bouncer
        .wait_for_log("configuration read again, LOG_LEVEL is debug", wait::SOON)
        .await;
    let id = ingress::stuck(&db, "relay", "failed").await;
    bouncer
        .wait_for_log(&format!("message {id} bounced"), wait::SOON)
        .await;
    assert!(
        !bouncer.logs().contains("need a restart"),
        "{}",
        bouncer.logs()
    );

    reconfigure(&mut bouncer, "BOUNCE_STAGE", "elsewhere");
    bouncer
        .wait_for_log(
            "other keys than LOG_LEVEL have changed: they need a restart",
            wait::SOON,
        )
        .await;
    reconfigure(&mut bouncer, "SWEEP_INTERVAL", "never");
    bouncer
        .wait_for_log("the configuration stays as it was", wait::SOON)
        .await;
    let id = ingress::stuck(&db, "relay", "failed").await;
    ingress::wait_until_bounced(&db, id, wait::SOON).await;
}
