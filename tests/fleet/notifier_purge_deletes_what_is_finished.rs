//! purge() deletes finished notifications with all that belongs to them, a bounded number a call, and nothing else.

use crate::notifier_db::{report, send, with_profiles};

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
