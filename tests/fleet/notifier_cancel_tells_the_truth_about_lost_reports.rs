//! A notification whose event has ended, but whose report was lost, ends as the queue and its log know: cancel() invents no end.

use fleet_tests::database::Database;

use crate::notifier_db::{Seen, attempts, report, seen, send, with_profiles};
use crate::steps::refusal;

/// Ends the pending event as a Processor does, without its report: status in the queue, status in the log, and the error there.
async fn settle(db: &Database, queue: &str, log: &str, error: Option<&str>) {
    let sql = "WITH ended AS (UPDATE pgrelay.queue SET status = $1, finished_at = clock_timestamp() WHERE status = 'pending' RETURNING *) \
        INSERT INTO pgrelay.log (queue_id, channel, attempt, status, error, started_at, elapsed_ms) \
        SELECT id, channel, retry_count + 1, $2, $3::text, clock_timestamp(), 7.4 FROM ended RETURNING queue_id";
    db.query_one::<i64>(sql, &[&queue, &log, &error]).await;
}

/// Ends it with a retry; the report of that may be lost as well.
async fn retry(db: &Database) {
    db.execute(
        "WITH retry AS (INSERT INTO pgrelay.queue (channel, action_type, payload, run_at, twin_key, lane, retry_count, parent_id) \
             SELECT channel, action_type, payload, now(), twin_key, lane, retry_count + 1, id FROM pgrelay.queue WHERE status = 'pending' \
             RETURNING id, parent_id, channel, retry_count), \
         old AS (UPDATE pgrelay.queue SET status = 'done', finished_at = clock_timestamp() WHERE status = 'pending') \
         INSERT INTO pgrelay.log (queue_id, retry_queue_id, channel, attempt, status, started_at, elapsed_ms) \
         SELECT parent_id, id, channel, retry_count, 'retry_scheduled', clock_timestamp(), 1 FROM retry",
    )
    .await;
}

async fn cancel(db: &Database, id: i64) -> bool {
    db.query_one("SELECT pgrelay_notifier.cancel($1)", &[&id])
        .await
}

fn ended(seen: &Seen) -> (&str, bool) {
    (&seen.status, seen.finished)
}

#[tokio::test]
async fn what_was_sent_becomes_sent() {
    let db = with_profiles().await;
    let id = send(&db).await;
    settle(&db, "done", "ok", None).await;
    assert!(!cancel(&db, id).await, "it has ended");
    let end = seen(&db, id).await;
    assert_eq!(ended(&end), ("sent", true));
    assert_eq!((end.attempts, end.elapsed_ms), (1, Some(7)));
    assert_eq!(attempts(&db, id).await[0].0, Some(1));
    let sql = "SELECT cancelled_at IS NULL FROM pgrelay_notifier.notification_status";
    assert!(db.query_one::<bool>(sql, &[]).await);
    assert!(!cancel(&db, id).await);
    // And its profile is free.
    db.execute("SELECT pgrelay_notifier.drop_profile('mail')")
        .await;
}

#[tokio::test]
async fn the_last_of_its_retries_counts() {
    let db = with_profiles().await;
    let id = send(&db).await;
    retry(&db).await;
    report(&db, id, "'retry', '451 later', NULL, 1, 1").await;
    retry(&db).await;
    settle(&db, "error", "max_retries_exceeded", Some("refused")).await;
    assert!(!cancel(&db, id).await);
    let end = seen(&db, id).await;
    assert_eq!(ended(&end), ("failed", true));
    let why = end.last_error.unwrap();
    assert!(why.ends_with("max_retries_exceeded: refused"), "{why}");
    assert_eq!(attempts(&db, id).await[1].0, Some(3));
}

#[tokio::test]
async fn other_ends_are_kept_as_they_were() {
    let db = with_profiles().await;
    for (log, status) in [
        ("expired", "expired"),
        ("invalid", "invalid"),
        ("error", "failed"),
    ] {
        let id = send(&db).await;
        let queue = if log == "error" { "error" } else { status };
        settle(&db, queue, log, Some("why")).await;
        assert!(!cancel(&db, id).await, "{log}");
        assert_eq!(ended(&seen(&db, id).await), (status, true));
    }
}

#[tokio::test]
async fn either_of_queue_and_log_is_enough() {
    for emptied in ["queue", "log"] {
        let db = with_profiles().await;
        let id = send(&db).await;
        retry(&db).await;
        settle(&db, "done", "ok", None).await;
        db.execute(&format!("DELETE FROM pgrelay.{emptied}")).await;
        assert!(!cancel(&db, id).await);
        assert_eq!(ended(&seen(&db, id).await), ("sent", true), "{emptied}");
    }
}

#[tokio::test]
async fn a_failure_that_was_tried_again_with_success_is_one() {
    let db = with_profiles().await;
    let id = send(&db).await;
    settle(&db, "error", "error", Some("refused")).await;
    db.execute("SELECT pgrelay.redrive(q.id) FROM pgrelay.queue AS q")
        .await;
    settle(&db, "done", "ok", None).await;
    assert!(!cancel(&db, id).await);
    assert_eq!(ended(&seen(&db, id).await), ("sent", true));
}

#[tokio::test]
async fn a_retry_of_which_nothing_is_left_expires() {
    let db = with_profiles().await;
    let id = send(&db).await;
    retry(&db).await;
    db.execute("DELETE FROM pgrelay.queue").await;
    assert!(cancel(&db, id).await);
    assert_eq!(ended(&seen(&db, id).await), ("expired", true));
}

#[tokio::test]
async fn an_old_snapshot_ends_nothing() {
    let db = with_profiles().await;
    let session = db.connect().await;
    for level in ["REPEATABLE READ", "SERIALIZABLE"] {
        let (gone, queued) = (send(&db).await, send(&db).await);
        db.execute(&format!(
            "DELETE FROM pgrelay.queue WHERE payload = '{gone}'"
        ))
        .await;
        let begin = format!("BEGIN ISOLATION LEVEL {level}");
        session.batch_execute(&begin).await.unwrap();
        // What has an event is cancelled in any of them: the event's row is locked.
        let sql = "SELECT pgrelay_notifier.cancel($1)";
        let cancelled: bool = session.query_one(sql, &[&queued]).await.unwrap().get(0);
        assert!(cancelled);
        let sql = format!("SELECT pgrelay_notifier.cancel({gone})");
        assert_eq!(refusal(&session, &sql).await.sqlstate, "PN012", "{level}");
        session.batch_execute("ROLLBACK").await.unwrap();
        assert_eq!(seen(&db, gone).await.status, "queued");
    }
}
