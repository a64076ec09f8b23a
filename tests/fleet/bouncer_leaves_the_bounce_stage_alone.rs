//! A message that fails at the bounce stage is left there: no loop, no busy log. One that fails downstream of it is moved back.

use std::time::Duration;

use fleet_tests::bouncer::{self, STAGE};
use fleet_tests::database::Database;
use fleet_tests::wait;

use crate::ingress;

/// Several sweeps long.
const A_WHILE: Duration = Duration::from_secs(2);

async fn transactions(db: &Database) -> i64 {
    let sql = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()";
    db.query_one(sql, &[]).await
}

#[tokio::test]
async fn a_bounce_that_fails_is_not_bounced() {
    let db = bouncer::database().await;
    let bouncer = bouncer::start(bouncer::builder(&db).set("SWEEP_INTERVAL", "500ms")).await;
    let id = ingress::stuck(&db, "relay", "failed").await;
    ingress::wait_until_bounced(&db, id, wait::SOON).await;
    // Its dispatcher runs the bounce stage, which gives up as well.
    db.rows(
        "UPDATE pepsi.ingress SET status = 'running' WHERE id = $1 RETURNING id",
        &[&id],
    )
    .await;
    ingress::end(&db, id, "failed").await;
    let before = ingress::stuck(&db, STAGE, "timeout").await;

    let lines = bouncer.logs().lines().count();
    let began = transactions(&db).await;
    wait::while_holding("the message at the bounce stage", A_WHILE, || async {
        ingress::place(&db, id).await == format!("{STAGE}/failed")
            && ingress::place(&db, before).await == format!("{STAGE}/timeout")
    })
    .await;
    assert_eq!(ingress::moves(&db, id).await, 1);
    let written = bouncer.logs().lines().count() - lines;
    assert!(
        written <= 2,
        "{written} lines about nothing:\n{}",
        bouncer.logs()
    );
    // Two probes every 100 ms are ours; a hot loop makes thousands.
    let count = transactions(&db).await - began;
    assert!(count < 200, "{count} transactions");

    let output = bouncer::builder(&db).arg("--once").run().await;
    assert_eq!(
        output.stdout,
        "bounced 0 (failed 0, timeout 0), left 2 at stage bounce\n"
    );
}

#[tokio::test]
async fn a_notification_that_cannot_be_relayed_is_moved_back() {
    let db = bouncer::database().await;
    let _bouncer = bouncer::start(bouncer::builder(&db)).await;
    let id = ingress::stuck(&db, "relay", "failed").await;
    ingress::wait_until_bounced(&db, id, wait::SOON).await;
    // The bounce stage has made a notification of it and passed it on, and that fails downstream.
    db.rows(
        "UPDATE pepsi.ingress SET stage = 'relay', status = 'running', sender = '' WHERE id = $1 RETURNING id",
        &[&id],
    )
    .await;
    ingress::end(&db, id, "failed").await;
    ingress::wait_until_bounced(&db, id, wait::SOON).await;
    assert_eq!(ingress::moves(&db, id).await, 3);
}
