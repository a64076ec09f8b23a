//! drop_profile() refuses while a notification still needs the profile, also one that is not committed yet.

use crate::notifier_db::{report, seen, send, with_profiles};
use crate::steps::refusal;

const DROP: &str = "SELECT pgrelay_notifier.drop_profile('mail')";

#[tokio::test]
async fn queued_notifications_keep_their_profile() {
    let db = with_profiles().await;
    let session = db.connect().await;
    let (first, second) = (send(&db).await, send(&db).await);
    report(&db, second, "'retry', NULL, NULL, 1, 1").await;
    let refused = refusal(&session, DROP).await;
    assert_eq!(refused.sqlstate, "PN006");
    assert_eq!(refused.message, "profile 'mail' is in use");
    assert_eq!(
        refused.detail.as_deref(),
        Some("2 notifications are queued, wait for a retry or are tried again with it.")
    );
    for id in [first, second] {
        report(&db, id, "'sent', NULL, NULL, 1, 2").await;
    }
    session.query_one(DROP, &[]).await.unwrap();
    // What is finished outlives it.
    assert_eq!(seen(&db, first).await.status, "sent");
}

#[tokio::test]
async fn a_send_that_is_not_committed_keeps_it_too() {
    let db = with_profiles().await;
    let (sender, session) = (db.connect().await, db.connect().await);
    sender
        .batch_execute("BEGIN; SELECT pgrelay_notifier.send_mail('mail', 'a@example.org', 's')")
        .await
        .unwrap();
    let refused = refusal(&session, DROP).await;
    assert_eq!(
        (refused.sqlstate.as_str(), refused.message.as_str()),
        ("PN006", "profile 'mail' is in use")
    );
    assert_eq!(
        refused.detail.as_deref(),
        Some("Another transaction is sending with it, or changing it.")
    );
    // A change is not held up by it.
    session
        .batch_execute("SET statement_timeout = '5s'; SELECT pgrelay_notifier.update_profile('mail', p_description => 'x')")
        .await
        .unwrap();
    sender.batch_execute("ROLLBACK").await.unwrap();
    session.query_one(DROP, &[]).await.unwrap();
    let refused = refusal(
        &sender,
        "SELECT pgrelay_notifier.send_mail('mail', 'a@example.org', 's')",
    )
    .await;
    assert_eq!(refused.sqlstate, "PN001");
}

#[tokio::test]
async fn one_that_ended_and_is_tried_again_keeps_it_too() {
    let db = with_profiles().await;
    let session = db.connect().await;
    let id = send(&db).await;
    db.execute("UPDATE pgrelay.queue SET status = 'error', finished_at = now()")
        .await;
    report(&db, id, "'failed', NULL, NULL, 1, 1").await;
    let redriven: i64 = db
        .query_one("SELECT pgrelay.redrive(q.id) FROM pgrelay.queue AS q", &[])
        .await;
    assert_eq!(refusal(&session, DROP).await.sqlstate, "PN006");
    db.execute(&format!(
        "UPDATE pgrelay.queue SET status = 'error', finished_at = now() WHERE id = {redriven}"
    ))
    .await;
    session.query_one(DROP, &[]).await.unwrap();
}

#[tokio::test]
async fn an_old_snapshot_drops_nothing() {
    let db = with_profiles().await;
    let session = db.connect().await;
    for level in ["REPEATABLE READ", "SERIALIZABLE"] {
        // The snapshot is taken before the notification is sent, which it therefore does not see.
        session
            .batch_execute(&format!("BEGIN ISOLATION LEVEL {level}; SELECT 1"))
            .await
            .unwrap();
        let id = send(&db).await;
        let refused = refusal(&session, DROP).await;
        assert_eq!(refused.sqlstate, "PN012", "{refused:?}");
        let detail = format!("transaction_isolation = {}", level.to_lowercase());
        assert_eq!(refused.detail, Some(detail));
        assert!(refused.hint.is_some());
        session.batch_execute("ROLLBACK").await.unwrap();
        let sql = "SELECT count(*) FROM pgrelay_notifier.fetch($1)";
        assert_eq!(db.query_one::<i64>(sql, &[&id]).await, 1, "{level}");
    }
    session
        .batch_execute("BEGIN ISOLATION LEVEL READ UNCOMMITTED; SELECT 1")
        .await
        .unwrap();
    assert_eq!(refusal(&session, DROP).await.sqlstate, "PN006");
}

#[tokio::test]
async fn the_status_of_profiles_tells_which_fail() {
    let db = with_profiles().await;
    let (failed, sent, _) = (send(&db).await, send(&db).await, send(&db).await);
    report(
        &db,
        failed,
        "'failed', '550 5.1.1 user@example.org unknown', NULL, 1, 1",
    )
    .await;
    report(&db, sent, "'sent', NULL, NULL, 1, 1").await;
    let sql = "SELECT format('%s %s %s %s %s %s %s', p.profile, p.queued, p.retry, p.sent_24h, p.failed_24h, p.last_failure_id, p.last_failure) \
               FROM pgrelay_notifier.profile_status AS p ORDER BY p.profile";
    let rows = db.rows(sql, &[]).await;
    let seen: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    let mail = format!("mail 1 0 1 1 {failed} 550 5.1.1 user@example.org unknown");
    assert_eq!(seen, ["hook 0 0 0 0  ".to_owned(), mail]);
}
