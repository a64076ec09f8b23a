//! Sweeps of `--once` that overlap move every message once, whoever comes first; the options narrow what they move.

use fleet_tests::bouncer;
use fleet_tests::database::Database;
use fleet_tests::long_run;
use serde_json::Value;

use crate::ingress;

/// Messages stuck at a stage, every third one timed out. Without triggers: what is prepared is not the bouncer's doing.
pub(crate) async fn stuck(db: &Database, count: i64) {
    db.execute(&format!(
        "BEGIN;
         SET LOCAL session_replication_role = replica;
         INSERT INTO pepsi.ingress (stage, status, sender, recipients, message)
         SELECT 'relay', CASE WHEN g % 3 = 0 THEN 'timeout' ELSE 'failed' END, 'ann@example.org', '[]', 'x'
         FROM generate_series(1, {count}) AS g;
         COMMIT;"
    ))
    .await;
}

#[tokio::test]
async fn each_message_is_moved_by_one_of_them() {
    let messages = if long_run() { 200_000 } else { 15_000 };
    let db = bouncer::database().await;
    stuck(&db, messages).await;
    let sweep = || bouncer::builder(&db).arg("--once").arg("--json").run();
    let outputs = tokio::join!(sweep(), sweep(), sweep(), sweep());
    let mut bounced = 0;
    for output in [outputs.0, outputs.1, outputs.2, outputs.3] {
        assert_eq!(output.code, 0, "{output}");
        let result: Value = serde_json::from_str(&output.stdout).expect("one JSON object");
        bounced += result["bounced"].as_i64().expect("a number");
    }
    // What one sweep held while another passed by was moved by the first.
    assert_eq!(bounced, messages);
    let once = "SELECT count(*) = $1 AND count(DISTINCT ingress_id) = $1 FROM pepsi.ingress_trail";
    assert!(db.query_one::<bool>(once, &[&messages]).await);
}

#[tokio::test]
async fn a_row_that_somebody_holds_is_left_for_the_next_look() {
    let db = bouncer::database().await;
    let held = ingress::stuck(&db, "relay", "failed").await;
    let free = ingress::stuck(&db, "relay", "failed").await;
    let mut session = db.connect().await;
    let holding = session.transaction().await.expect("a transaction");
    holding
        .execute(
            "SELECT FROM pepsi.ingress WHERE id = $1 FOR UPDATE",
            &[&held],
        )
        .await
        .expect("a lock");
    let once = || bouncer::builder(&db).arg("--once").run();
    assert_eq!(
        once().await.stdout,
        "bounced 1 (failed 1, timeout 0), left 0 at stage bounce\n"
    );
    assert_eq!(ingress::place(&db, free).await, "bounce/pending");
    assert_eq!(ingress::place(&db, held).await, "relay/failed");
    holding
        .rollback()
        .await
        .expect("the end of the transaction");
    assert_eq!(
        once().await.stdout,
        "bounced 1 (failed 1, timeout 0), left 0 at stage bounce\n"
    );
}

#[tokio::test]
async fn options_narrow_what_is_moved() {
    let db = bouncer::database().await;
    let failed = ingress::stuck(&db, "relay", "failed").await;
    let timed_out = ingress::stuck(&db, "relay", "timeout").await;
    ingress::stuck(&db, "bounce", "timeout").await;
    let run = |arguments: &'static [&'static str]| {
        let builder = bouncer::builder(&db);
        arguments
            .iter()
            .fold(builder, |builder, argument| builder.arg(argument))
            .run()
    };
    let output = run(&["--dry-run"]).await;
    assert_eq!(
        output.stdout, "would bounce 2 (failed 1, timeout 1), left 1 at stage bounce\n",
        "{output}"
    );
    let output = run(&["--once", "--dry-run", "--json", "--timeout-only"]).await;
    assert_eq!(
        output.stdout,
        "{\"bounced\":1,\"failed\":0,\"timeout\":1,\"left\":1,\"stage\":\"bounce\",\"dry_run\":true}\n"
    );
    assert_eq!(ingress::place(&db, failed).await, "relay/failed");
    assert_eq!(ingress::place(&db, timed_out).await, "relay/timeout");

    let output = run(&["--once", "--failed-only"]).await;
    assert_eq!(
        output.stdout, "bounced 1 (failed 1, timeout 0), left 0 at stage bounce\n",
        "{output}"
    );
    assert_eq!(ingress::place(&db, timed_out).await, "relay/timeout");
    let output = run(&["--once", "--timeout-only", "--json"]).await;
    assert_eq!(
        output.stdout,
        "{\"bounced\":1,\"failed\":0,\"timeout\":1,\"left\":1,\"stage\":\"bounce\",\"dry_run\":false}\n"
    );
    assert_eq!(ingress::place(&db, timed_out).await, "bounce/pending");
}

#[tokio::test]
async fn a_narrowed_service_leaves_the_others_alone() {
    let db = bouncer::database().await;
    let _bouncer = bouncer::start(bouncer::builder(&db).arg("--timeout-only")).await;
    let failed = ingress::stuck(&db, "relay", "failed").await;
    let timed_out = ingress::stuck(&db, "relay", "timeout").await;
    ingress::wait_until_bounced(&db, timed_out, fleet_tests::wait::SOON).await;
    assert_eq!(ingress::place(&db, failed).await, "relay/failed");
}
