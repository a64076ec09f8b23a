//! set_status() keeps every report, moves the notification's status, and never stands in the way of a delivery.

use fleet_tests::database::Database;
use fleet_tests::wait;

use crate::notifier_db::{Seen, attempts, report, seen, send, with_profiles};

fn texts(status: &str, detail: &str) -> (Option<String>, Option<String>) {
    (Some(status.to_owned()), Some(detail.to_owned()))
}

#[tokio::test]
async fn a_notification_is_retried_and_sent() {
    let db = with_profiles().await;
    let id = send(&db).await;
    assert_eq!(seen(&db, id).await.status, "queued");
    report(&db, id, "'retry', '451 4.7.1 greylisted', NULL, 120, 1").await;
    let expected = Seen {
        status: "retry".to_owned(),
        attempts: 1,
        last_error: Some("451 4.7.1 greylisted".to_owned()),
        provider_ref: None,
        elapsed_ms: Some(120),
        finished: false,
    };
    assert_eq!(seen(&db, id).await, expected);
    report(&db, id, "'sent', '250 2.0.0 queued', 'A1B2', 80, 2").await;
    let expected = Seen {
        status: "sent".to_owned(),
        attempts: 2,
        last_error: None,
        provider_ref: Some("A1B2".to_owned()),
        elapsed_ms: Some(80),
        finished: true,
    };
    assert_eq!(seen(&db, id).await, expected);
    let (retry, sent) = (
        texts("retry", "451 4.7.1 greylisted"),
        texts("sent", "250 2.0.0 queued"),
    );
    let expected = [(Some(1), retry.0, retry.1), (Some(2), sent.0, sent.1)];
    assert_eq!(attempts(&db, id).await, expected);
}

#[tokio::test]
async fn every_end_is_one() {
    let db = with_profiles().await;
    for (status, made) in [("failed", 1), ("expired", 0), ("invalid", 0), ("sent", 1)] {
        let id = send(&db).await;
        report(&db, id, &format!("'{status}', 'why', NULL, 0, 1")).await;
        let end = seen(&db, id).await;
        assert_eq!(
            (end.status.as_str(), end.attempts, end.finished),
            (status, made, true)
        );
    }
}

/// Every column of the notification.
async fn stored(db: &Database, id: i64) -> String {
    let sql = "SELECT n::text FROM pgrelay_notifier.notifications AS n WHERE n.id = $1";
    db.query_one(sql, &[&id]).await
}

#[tokio::test]
async fn what_was_sent_stays_as_it_was() {
    let db = with_profiles().await;
    let id = send(&db).await;
    report(&db, id, "'sent', '250 ok', 'A1', 10, 1").await;
    let before = stored(&db, id).await;
    for later in ["retry", "failed", "expired", "invalid", "sent", "delivered"] {
        report(&db, id, &format!("'{later}', 'noise', 'B2', 20, 2")).await;
        assert_eq!(stored(&db, id).await, before, "{later}");
    }
    // The reports themselves are all there.
    assert_eq!(attempts(&db, id).await.len(), 7);
}

#[tokio::test]
async fn a_status_of_the_future_changes_nothing_but_the_attempts() {
    let db = with_profiles().await;
    let id = send(&db).await;
    report(&db, id, "'retry', '451 later', 'A1', 10, 1").await;
    let before = stored(&db, id).await;
    report(&db, id, "'delivered', 'by dove', 'B2', 20, 2").await;
    assert_eq!(stored(&db, id).await, before);
    assert_eq!(attempts(&db, id).await.len(), 2);
}

#[tokio::test]
async fn a_report_about_one_that_is_just_purged_is_ignored() {
    let db = with_profiles().await;
    for status in ["sent", "failed"] {
        let id = send(&db).await;
        report(&db, id, &format!("'{status}', NULL, NULL, 1, 1")).await;
        db.execute("UPDATE pgrelay.queue SET status = 'done', finished_at = now()")
            .await;
        let purging = db.connect().await;
        purging
            .batch_execute("BEGIN; SELECT pgrelay_notifier.purge('0')")
            .await
            .unwrap();
        let reporting = db.connect().await;
        let pid: i32 = reporting
            .query_one("SELECT pg_backend_pid()", &[])
            .await
            .unwrap()
            .get(0);
        let call = format!("SELECT pgrelay_notifier.set_status({id}, 'retry', NULL, NULL, 1, 2)");
        let waits = format!("SELECT cardinality(pg_blocking_pids({pid})) > 0");
        let (said, ()) = tokio::join!(reporting.batch_execute(&call), async {
            db.until_equals(&waits, true, wait::SOON).await;
            purging.batch_execute("COMMIT").await.unwrap();
        });
        said.unwrap();
    }
    let left: i64 = db
        .query_one("SELECT count(*) FROM pgrelay_notifier.attempts", &[])
        .await;
    assert_eq!(left, 0);
}

#[tokio::test]
async fn a_redriven_failure_may_still_be_sent() {
    let db = with_profiles().await;
    let id = send(&db).await;
    report(&db, id, "'failed', '550 no such user', NULL, 10, 1").await;
    report(&db, id, "'retry', '451 later', NULL, 10, 1").await;
    assert!(!seen(&db, id).await.finished);
    report(&db, id, "'sent', '250 ok', NULL, 10, 2").await;
    assert_eq!(seen(&db, id).await.status, "sent");
    let numbers: Vec<_> = attempts(&db, id)
        .await
        .into_iter()
        .map(|row| row.0)
        .collect();
    assert_eq!(numbers, [Some(1), Some(1), Some(2)]);
}

#[tokio::test]
async fn nothing_odd_raises() {
    let db = with_profiles().await;
    let id = send(&db).await;
    for arguments in [
        "'delivered', 'a status of the future', 'R', 5, 1",
        "NULL, NULL, NULL, NULL, NULL",
        "'', '', '', -1, -1",
        "repeat('x', 10000), repeat('y', 100000), repeat('z', 100000), 2147483647, 0",
    ] {
        report(&db, id, arguments).await;
        assert_eq!(seen(&db, id).await.status, "queued", "{arguments}");
    }
    let kept = attempts(&db, id).await;
    assert_eq!(kept.len(), 4);
    assert_eq!(kept[0].1.as_deref(), Some("delivered"));
    assert_eq!(kept[3].2.as_ref().map(String::len), Some(8192));
    report(&db, 4711, "'sent', 'to whom?', NULL, 1, 1").await;
    report(&db, -1, "NULL, NULL, NULL, NULL, NULL").await;
    let count: i64 = db
        .query_one("SELECT count(*) FROM pgrelay_notifier.attempts", &[])
        .await;
    assert_eq!(count, 4);
}

#[tokio::test]
async fn a_report_is_undone_with_its_savepoint_alone() {
    let db = with_profiles().await;
    let id = send(&db).await;
    db.execute(&format!(
        "BEGIN; SAVEPOINT report; SELECT pgrelay_notifier.set_status({id}, 'sent', NULL, NULL, 1, 1); \
         ROLLBACK TO report; COMMIT"
    ))
    .await;
    assert_eq!(seen(&db, id).await.status, "queued");
    assert!(attempts(&db, id).await.is_empty());
}
