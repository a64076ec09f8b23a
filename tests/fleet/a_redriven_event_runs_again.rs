//! `redrive()` makes a new event of one that ended in error, and of no other.

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;

use crate::steps::{ended, notify, notify_with, only_log_row, refusal, register, run_one};

#[tokio::test]
async fn a_failed_event_is_enqueued_again_with_its_payload() {
    let db = Database::with_schema().await;
    db.execute("CREATE TABLE ran (payload text)").await;
    register(&db, "c", "SELECT no_such_function($1)", "").await;
    let _processor = Processor::start(&db).await;
    let failed = run_one(&db, "c", "precious").await;
    assert_eq!(failed.sqlstate.as_deref(), Some("42883"));
    db.execute("SELECT pgrelay.update('c', p_action_sql := 'INSERT INTO ran VALUES ($1)')")
        .await;
    let sql = "SELECT pgrelay.redrive($1)";
    let again: i64 = db.query_one(sql, &[&failed.queue_id]).await;
    let log = only_log_row(&db, again).await;
    assert_eq!((log.status.as_str(), log.attempt), ("ok", 1));
    let sql = "SELECT parent_id FROM pgrelay.queue WHERE id = $1";
    let parent: i64 = db.query_one(sql, &[&again]).await;
    assert_eq!(parent, failed.queue_id);
    let ran: String = db.query_one("SELECT payload FROM ran", &[]).await;
    assert_eq!(ran, "precious");
    assert_eq!(
        ended(&db, failed.queue_id).await,
        "error",
        "it stays as it was"
    );
}

#[tokio::test]
async fn what_did_not_fail_is_refused() {
    let db = Database::with_schema().await;
    register(&db, "c", "SELECT $1", "").await;
    let pending = notify_with(&db, "c", "'', run_at => now() + interval '1 day'").await;
    let session = db.connect().await;
    let refused = refusal(&session, &format!("SELECT pgrelay.redrive({pending})")).await;
    assert_eq!(refused.sqlstate, "PR005");
    assert_eq!(
        refused.message,
        format!("event {pending} cannot be redriven")
    );
    assert_eq!(refused.detail.as_deref(), Some("Its status is pending."));
    let refused = refusal(&session, "SELECT pgrelay.redrive(-1)").await;
    assert_eq!(refused.message, "event -1 cannot be redriven");
    assert_eq!(refused.detail.as_deref(), Some("There is no such event."));
    assert_eq!(
        refused.hint.as_deref(),
        Some("Only events that ended in error can be redriven.")
    );
}

#[tokio::test]
async fn an_event_whose_channel_is_gone_is_refused() {
    let db = Database::with_schema().await;
    register(&db, "c", "SELECT 1 / 0", "").await;
    let _processor = Processor::start(&db).await;
    let id = notify(&db, "c", "").await;
    assert_eq!(ended(&db, id).await, "error");
    db.execute("SELECT pgrelay.unregister('c')").await;
    let session = db.connect().await;
    let refused = refusal(&session, &format!("SELECT pgrelay.redrive({id})")).await;
    assert_eq!(refused.sqlstate, "PR001");
    assert_eq!(refused.message, "channel 'c' is not registered");
}
