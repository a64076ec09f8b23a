//! The Processor and the notifier that is shipped with it: what SQL sends arrives, and its status tells how that went.

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;
use serde_json::{Value, json};

use crate::notifier_db::seen;
use crate::notify_receiver::Receiver;
use crate::notify_recorder::{finished, told};

/// The notifier with a profile `hook` that leads to `receiver`.
async fn database(receiver: &Receiver) -> Database {
    let db = Database::with_companion("notifier").await;
    let create = "SELECT pgrelay_notifier.create_profile('hook', 'webhook', $1)::text";
    db.query_one::<String>(create, &[&receiver.profile()]).await;
    db
}

async fn send(db: &Database, body: &Value) -> i64 {
    let sql = "SELECT pgrelay_notifier.send_webhook('hook', $1, p_debug := true)";
    db.query_one(sql, &[body]).await
}

/// Status and attempt of each report.
async fn reports(db: &Database, id: i64) -> Vec<(String, i32)> {
    let sql = "SELECT a.status, a.attempt FROM pgrelay_notifier.attempts AS a WHERE a.notification_id = $1 ORDER BY a.id";
    let rows = db.rows(sql, &[&id]).await;
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

#[tokio::test]
async fn a_call_is_sent_with_its_steps() {
    let receiver = Receiver::start(&[]).await;
    let db = database(&receiver).await;
    let _processor = Processor::start(&db).await;
    let body = json!({"order": 4711});
    let id = send(&db, &body).await;
    finished(&db, id).await;
    assert_eq!(seen(&db, id).await.status, "sent");
    assert_eq!(reports(&db, id).await, told(&[("sent", 1)]));
    assert_eq!(receiver.requests()[0].body, body);
    let steps = format!(
        "SELECT count(*) FROM pgrelay_notifier.debug_steps WHERE notification_id = {id} AND step IN ('claim', 'request', 'verdict')"
    );
    db.until_equals(&steps, 3_i64, fleet_tests::wait::SOON)
        .await;
}

#[tokio::test]
async fn a_second_try_and_a_refusal_are_recorded_as_such() {
    let receiver = Receiver::start(&[503, 204, 410]).await;
    let db = database(&receiver).await;
    let _processor = Processor::start(&db).await;
    let first = send(&db, &json!(1)).await;
    finished(&db, first).await;
    assert_eq!(
        reports(&db, first).await,
        told(&[("retry", 1), ("sent", 2)])
    );
    let second = send(&db, &json!(2)).await;
    finished(&db, second).await;
    assert_eq!(reports(&db, second).await, told(&[("failed", 1)]));
    let seen = seen(&db, second).await;
    assert_eq!((seen.status.as_str(), seen.finished), ("failed", true));
    let error = seen.last_error.expect("an error");
    assert!(error.contains("410"), "{error}");
}

#[tokio::test]
async fn what_is_cancelled_or_rolled_back_is_not_sent() {
    let receiver = Receiver::start(&[]).await;
    let db = database(&receiver).await;
    let id = send(&db, &json!(1)).await;
    let cancelled: bool = db
        .query_one("SELECT pgrelay_notifier.cancel($1)", &[&id])
        .await;
    assert!(cancelled);
    db.execute("BEGIN; SELECT pgrelay_notifier.send_webhook('hook', '2'); ROLLBACK")
        .await;
    let _processor = Processor::start(&db).await;
    finished(&db, id).await;
    assert_eq!(reports(&db, id).await, told(&[("expired", 1)]));
    assert_eq!(seen(&db, id).await.status, "expired");
    assert_eq!(receiver.requests(), []);
}
