//! purge() deletes finished notifications with all that belongs to them, a bounded number a call, and nothing else.

use crate::notifier_db::{report, send, with_profiles};
use crate::steps::refusal;

const LEFT: &str = "SELECT format('%s %s %s', (SELECT count(*) FROM pgrelay_notifier.notifications), \
    (SELECT count(*) FROM pgrelay_notifier.attempts), (SELECT count(*) FROM pgrelay_notifier.debug_steps))";

#[tokio::test]
async fn finished_ones_go_with_all_that_is_theirs() {
    let db = with_profiles().await;
    let (queued, retried, sent, young) = (
        send(&db).await,
        send(&db).await,
        send(&db).await,
        send(&db).await,
    );
    // Their events have ended, but for that of the one that is queued.
    db.execute(&format!(
        "UPDATE pgrelay.queue SET status = 'done', finished_at = now() WHERE payload <> '{queued}'"
    ))
    .await;
    for (id, status) in [
        (retried, "retry"),
        (sent, "retry"),
        (sent, "sent"),
        (young, "failed"),
    ] {
        report(&db, id, &format!("'{status}', NULL, NULL, 1, 1")).await;
        db.execute(&format!(
            "SELECT pgrelay_notifier.debug_log({id}, 'step', 'x')"
        ))
        .await;
    }
    db.execute(&format!(
        "UPDATE pgrelay_notifier.notifications SET finished_at = finished_at - interval '8 days', created_at = created_at - interval '8 days' WHERE id = {sent}; \
         UPDATE pgrelay_notifier.notifications SET created_at = created_at - interval '1 year' WHERE id IN ({queued}, {retried})"
    ))
    .await;
    let purge = "SELECT pgrelay_notifier.purge(interval '7 days')";
    assert_eq!(db.query_one::<i64>(purge, &[]).await, 1);
    assert_eq!(db.query_one::<String>(LEFT, &[]).await, "3 2 2");
    assert_eq!(db.query_one::<i64>(purge, &[]).await, 0);
    let purge = "SELECT pgrelay_notifier.purge(interval '0')";
    assert_eq!(db.query_one::<i64>(purge, &[]).await, 1);
    assert_eq!(db.query_one::<String>(LEFT, &[]).await, "2 1 1");
}

#[tokio::test]
async fn one_call_is_bounded_and_waits_for_nobody() {
    let db = with_profiles().await;
    db.execute(
        "INSERT INTO pgrelay_notifier.notifications (event_id, event_key, status, finished_at, profile, transport, channel, message) \
         SELECT 1, 1, 'sent', now() - interval '1 day', 'mail', 'smtp', 'c', '{}' FROM generate_series(1, 10005)",
    )
    .await;
    let held = db.connect().await;
    held.batch_execute(
        "BEGIN; UPDATE pgrelay_notifier.notifications SET debug = true WHERE id = 1",
    )
    .await
    .unwrap();
    let purge = "SELECT pgrelay_notifier.purge(interval '1 hour')";
    for deleted in [10_000, 4, 0] {
        assert_eq!(db.query_one::<i64>(purge, &[]).await, deleted);
    }
    held.batch_execute("COMMIT").await.unwrap();
    assert_eq!(db.query_one::<i64>(purge, &[]).await, 1);
}

#[tokio::test]
async fn one_that_is_tried_again_is_kept() {
    let db = with_profiles().await;
    let id = send(&db).await;
    db.execute("UPDATE pgrelay.queue SET status = 'error', finished_at = now()")
        .await;
    report(&db, id, "'failed', NULL, NULL, 1, 1").await;
    let redriven: i64 = db
        .query_one("SELECT pgrelay.redrive(q.id) FROM pgrelay.queue AS q", &[])
        .await;
    let purge = "SELECT pgrelay_notifier.purge(interval '0')";
    assert_eq!(db.query_one::<i64>(purge, &[]).await, 0);
    db.execute(&format!(
        "UPDATE pgrelay.queue SET status = 'done', finished_at = now() WHERE id = {redriven}"
    ))
    .await;
    assert_eq!(db.query_one::<i64>(purge, &[]).await, 1);
}

#[tokio::test]
async fn an_old_snapshot_deletes_nothing() {
    let db = with_profiles().await;
    let session = db.connect().await;
    for level in ["REPEATABLE READ", "SERIALIZABLE"] {
        let id = send(&db).await;
        db.execute("UPDATE pgrelay.queue SET status = 'error', finished_at = now() WHERE status = 'pending'")
            .await;
        report(&db, id, "'failed', NULL, NULL, 1, 1").await;
        session
            .batch_execute(&format!("BEGIN ISOLATION LEVEL {level}; SELECT 1"))
            .await
            .unwrap();
        // What the snapshot does not see.
        db.execute(&format!(
            "SELECT pgrelay.redrive(q.id) FROM pgrelay.queue AS q WHERE q.payload = '{id}'"
        ))
        .await;
        let refused = refusal(&session, "SELECT pgrelay_notifier.purge('0')").await;
        assert_eq!(refused.sqlstate, "PN012", "{refused:?}");
        session.batch_execute("ROLLBACK").await.unwrap();
    }
    let sql = "SELECT count(*) FROM pgrelay_notifier.notifications";
    assert_eq!(db.query_one::<i64>(sql, &[]).await, 2);
}
