//! With every wake-up lost, or made up, messages are bounced within SWEEP_INTERVAL.

use std::time::Duration;

use fleet_tests::bouncer;
use fleet_tests::wait;

use crate::ingress;

#[tokio::test]
async fn a_sweep_finds_what_nobody_told_of() {
    let db = bouncer::database().await;
    db.execute("ALTER TABLE pepsi.ingress DISABLE TRIGGER ingress_failed_notify")
        .await;
    let mut bouncer = bouncer::start(bouncer::builder(&db).set("SWEEP_INTERVAL", "1s")).await;
    bouncer.wait_for_log("bounce:trigger", wait::SOON).await;
    for status in ["failed", "timeout", "failed"] {
        let id = ingress::stuck(&db, "relay", status).await;
        ingress::wait_until_bounced(&db, id, Duration::from_secs(5)).await;
    }
}

#[tokio::test]
async fn wake_ups_that_name_no_message_do_no_harm() {
    let db = bouncer::database().await;
    let mut bouncer = bouncer::start(bouncer::builder(&db).set("SWEEP_INTERVAL", "1d")).await;
    for payload in [
        "",
        "x'); DROP TABLE pepsi.ingress; --",
        "99999999999999999999",
        "-1",
        "4711",
    ] {
        db.rows("SELECT pg_notify('ingress_failed', $1)", &[&payload])
            .await;
        let id = ingress::stuck(&db, "relay", "failed").await;
        ingress::wait_until_bounced(&db, id, wait::SOON).await;
    }
    assert_eq!(bouncer.exit_code(), None);
    assert!(
        !bouncer.logs().contains("not bouncing"),
        "it lost its session over a wake-up"
    );
}
