//! cancel() kills the event of a notification, whichever retry it is; while it is being sent, or when it has ended, the answer is false.

use fleet_tests::database::Database;

use crate::notifier_db::{attempts, report, seen, send, with_profiles};

async fn cancel(db: &Database, id: i64) -> bool {
    db.query_one("SELECT pgrelay_notifier.cancel($1)", &[&id])
        .await
}

/// Ends the pending event as a Processor does that schedules a retry.
const RETRY: &str = "WITH old AS (UPDATE pgrelay.queue SET status = 'done', finished_at = now() WHERE status = 'pending' RETURNING *) \
    INSERT INTO pgrelay.queue (channel, action_type, payload, run_at, node, twin_key, lane, retry_count, parent_id) \
    SELECT channel, action_type, payload, now() + interval '1 hour', node, twin_key, lane, retry_count + 1, id FROM old";

const KILLED: &str = "SELECT count(*) FROM pgrelay.queue WHERE status = 'pending' AND expire_at = '-infinity' AND run_at <= now()";

#[tokio::test]
async fn a_queued_one_is_killed() {
    let db = with_profiles().await;
    let id = send(&db).await;
    assert!(cancel(&db, id).await);
    assert_eq!(db.query_one::<i64>(KILLED, &[]).await, 1);
    // The Processor, which ends events, has the last word.
    assert_eq!(seen(&db, id).await.status, "queued");
    let sql = "SELECT s.cancelled_at IS NOT NULL FROM pgrelay_notifier.notification_status AS s";
    assert!(db.query_one::<bool>(sql, &[]).await);
    report(&db, id, "'expired', 'killed', NULL, 0, 1").await;
    assert_eq!(seen(&db, id).await.status, "expired");
}

#[tokio::test]
async fn a_retry_is_killed() {
    let db = with_profiles().await;
    let id = send(&db).await;
    for attempt in 1..=2 {
        db.execute(RETRY).await;
        report(
            &db,
            id,
            &format!("'retry', '451 later', NULL, 5, {attempt}"),
        )
        .await;
    }
    assert!(cancel(&db, id).await);
    assert_eq!(db.query_one::<i64>(KILLED, &[]).await, 1);
}

#[tokio::test]
async fn one_that_is_being_sent_is_not() {
    let db = with_profiles().await;
    let id = send(&db).await;
    let held = db.connect().await;
    // The claim of a notify event.
    held.batch_execute(
        "BEGIN; SELECT pg_advisory_xact_lock(pgrelay._claim_key(q.id)) FROM pgrelay.queue AS q",
    )
    .await
    .unwrap();
    assert!(!cancel(&db, id).await);
    assert_eq!(db.query_one::<i64>(KILLED, &[]).await, 0);
    held.batch_execute("COMMIT").await.unwrap();
    assert!(cancel(&db, id).await);
}

#[tokio::test]
async fn one_that_has_ended_is_not() {
    let db = with_profiles().await;
    let id = send(&db).await;
    db.execute("UPDATE pgrelay.queue SET status = 'done', finished_at = now()")
        .await;
    report(&db, id, "'sent', NULL, NULL, 5, 1").await;
    assert!(!cancel(&db, id).await);
    assert_eq!(seen(&db, id).await.status, "sent");
}

#[tokio::test]
async fn one_whose_event_is_gone_expires_at_once() {
    let db = with_profiles().await;
    let id = send(&db).await;
    db.execute("DELETE FROM pgrelay.queue").await;
    assert!(cancel(&db, id).await);
    let end = seen(&db, id).await;
    assert_eq!((end.status.as_str(), end.attempts), ("expired", 0));
    assert_eq!(attempts(&db, id).await.len(), 1);
    assert!(!cancel(&db, id).await, "it has ended");
}

#[tokio::test]
async fn a_rolled_back_cancel_changes_nothing() {
    let db = with_profiles().await;
    let id = send(&db).await;
    db.execute(&format!(
        "BEGIN; SELECT pgrelay_notifier.cancel({id}); ROLLBACK"
    ))
    .await;
    assert_eq!(db.query_one::<i64>(KILLED, &[]).await, 0);
    // Sent and cancelled in one transaction: both become true together.
    db.execute(
        "BEGIN; SELECT pgrelay_notifier.cancel(pgrelay_notifier.send_webhook('hook', '1')); COMMIT",
    )
    .await;
    assert_eq!(db.query_one::<i64>(KILLED, &[]).await, 1);
}
