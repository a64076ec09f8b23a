//! A notification is one event of the caller's transaction, whose payload is its id and nothing else; rolled back means never sent.

use crate::notifier_db::{send, with_profiles};
use crate::steps::refusal;

const COUNTS: &str = "SELECT (SELECT count(*) FROM pgrelay.queue) + (SELECT count(*) FROM pgrelay_notifier.notifications)";

#[tokio::test]
async fn one_event_with_the_id_as_its_payload() {
    let db = with_profiles().await;
    let id = send(&db).await;
    let sql = "SELECT format('%s %s %s %s', q.channel, q.action_type, q.payload, q.status) FROM pgrelay.queue AS q";
    let rows = db.rows(sql, &[]).await;
    assert_eq!(rows.len(), 1);
    assert_eq!(
        rows[0].get::<_, String>(0),
        format!("pg_relay_notifier.send notify {id} pending")
    );
    let sql =
        "SELECT q.id = n.event_id FROM pgrelay.queue AS q, pgrelay_notifier.notifications AS n";
    assert!(db.query_one::<bool>(sql, &[]).await);
    let sql = "SELECT format('%s %s', action_type, max_retries) FROM pgrelay.channels WHERE channel = 'pg_relay_notifier.send'";
    assert_eq!(db.query_one::<String>(sql, &[]).await, "notify 2");
}

#[tokio::test]
async fn rolled_back_means_never_sent() {
    let db = with_profiles().await;
    let session = db.connect().await;
    for end in ["ROLLBACK", "SELECT 1/0"] {
        session
            .batch_execute("BEGIN; SELECT pgrelay_notifier.send_webhook('hook', '1')")
            .await
            .unwrap();
        let ended = session.batch_execute(end).await;
        assert_eq!(ended.is_ok(), end == "ROLLBACK");
        session.batch_execute("ROLLBACK").await.unwrap();
        assert_eq!(db.query_one::<i64>(COUNTS, &[]).await, 0, "{end}");
    }
    // A refused call leaves nothing behind, and a savepoint takes back its own notification only.
    session
        .batch_execute(
            "BEGIN; SELECT pgrelay_notifier.send_webhook('hook', '1'); SAVEPOINT s; \
             SELECT pgrelay_notifier.send_webhook('hook', '2'); ROLLBACK TO s; COMMIT",
        )
        .await
        .unwrap();
    refusal(&session, "SELECT pgrelay_notifier.send('mail', '{}')").await;
    assert_eq!(db.query_one::<i64>(COUNTS, &[]).await, 2);
}

#[tokio::test]
async fn channel_and_times_are_those_of_the_call() {
    let db = with_profiles().await;
    db.execute("SELECT pgrelay.register('alerts', action_type => 'notify', max_retries => 0, concurrency_mode => 'serial')")
        .await;
    let sql = "SELECT pgrelay_notifier.send_webhook('hook', '1', p_channel => 'alerts', p_run_at => '2100-01-01 00:00:00Z', \
                   p_expire_at => '2100-01-02 00:00:00Z')";
    let id: i64 = db.query_one(sql, &[]).await;
    let sql = "SELECT format('%s %s %s', q.channel, q.payload, q.expire_at - q.run_at) FROM pgrelay.queue AS q";
    assert_eq!(
        db.query_one::<String>(sql, &[]).await,
        format!("alerts {id} 1 day")
    );
}

#[tokio::test]
async fn strict_isolation_levels_send_as_well() {
    let db = with_profiles().await;
    let session = db.connect().await;
    for level in ["REPEATABLE READ", "SERIALIZABLE"] {
        session
            .batch_execute(&format!(
                "BEGIN ISOLATION LEVEL {level}; SELECT pgrelay_notifier.send_webhook('hook', '1'); COMMIT"
            ))
            .await
            .unwrap();
    }
    assert_eq!(db.query_one::<i64>(COUNTS, &[]).await, 4);
}

#[tokio::test]
async fn hostile_settings_of_the_caller_change_nothing() {
    let db = with_profiles().await;
    let session = db.connect().await;
    session
        .batch_execute(
            "SET standard_conforming_strings = off; SET backslash_quote = on; SET search_path = pg_temp; \
             CREATE TEMP TABLE profiles (name text); CREATE TEMP TABLE notifications (id bigint)",
        )
        .await
        .unwrap();
    let refused = refusal(
        &session,
        "SELECT pgrelay_notifier.send('mail', jsonb_build_object('to', 'a@x.org', 'subject', chr(10)))",
    )
    .await;
    assert_eq!(refused.sqlstate, "PN004");
    let sql = "SELECT pgrelay_notifier.send_mail('mail', 'Name <a@x.org>', 'xx', p_headers => '{\"X-A\": \"1\"}')";
    session.query_one(sql, &[]).await.unwrap();
    assert_eq!(db.query_one::<i64>(COUNTS, &[]).await, 2);
}
