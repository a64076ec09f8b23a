//! Messages that were stuck before the bouncer started, or that failed while it was cut off, are bounced once it is there.

use std::time::Duration;

use fleet_tests::bouncer;
use fleet_tests::database::Database;
use fleet_tests::wait;

use crate::ingress;

/// Ends the bouncer's sessions; while the limit is 0 nobody but a superuser gets another one.
async fn limit_connections(db: &Database, limit: i32) {
    db.execute(&format!(
        "ALTER DATABASE {} CONNECTION LIMIT {limit}",
        db.name()
    ))
    .await;
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
               WHERE datname = current_database() AND application_name = 'pepsi-failure-bouncer'";
    db.execute(end).await;
}

/// None of these waits for a sweep that comes by itself.
const NEVER: &str = "1d";

#[tokio::test]
async fn at_its_start() {
    let db = bouncer::database().await;
    let failed = ingress::stuck(&db, "relay", "failed").await;
    let timed_out = ingress::stuck(&db, "scan", "timeout").await;
    let running = ingress::send(&db, "relay", 1).await[0];
    let _bouncer = bouncer::start(bouncer::builder(&db).set("SWEEP_INTERVAL", NEVER)).await;
    ingress::wait_until_bounced(&db, failed, wait::SOON).await;
    ingress::wait_until_bounced(&db, timed_out, wait::SOON).await;
    assert_eq!(ingress::place(&db, running).await, "relay/running");
}

#[tokio::test]
async fn after_a_time_without_a_connection() {
    let db = bouncer::database().await;
    let mut bouncer = bouncer::start(bouncer::builder(&db).set("SWEEP_INTERVAL", NEVER)).await;
    let before = ingress::stuck(&db, "relay", "failed").await;
    ingress::wait_until_bounced(&db, before, wait::SOON).await;

    limit_connections(&db, 0).await;
    bouncer.wait_for_log("not bouncing", wait::SOON).await;
    bouncer.wait_for_log("not listening", wait::SOON).await;
    let meanwhile = ingress::stuck(&db, "relay", "failed").await;
    wait::while_holding(
        "a message that nobody can bounce",
        Duration::from_millis(500),
        || async { ingress::place(&db, meanwhile).await == "relay/failed" },
    )
    .await;

    limit_connections(&db, -1).await;
    ingress::wait_until_bounced(&db, meanwhile, wait::SOON).await;
    assert_eq!(bouncer.exit_code(), None);
}
