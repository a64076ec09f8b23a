//! A message gets its message_id or webhook_id once, from send(); every attempt sees the same one, and resend() makes another.

use crate::notifier_db::{M365, send, with_profiles};
use crate::steps::literal;
use fleet_tests::database::Database;

async fn id_of(db: &Database, notification: i64) -> String {
    let sql = "SELECT coalesce(f.message ->> 'message_id', f.message ->> 'webhook_id') FROM pgrelay_notifier.fetch($1) AS f";
    db.query_one(sql, &[&notification]).await
}

#[tokio::test]
async fn every_attempt_sees_the_same() {
    let db = with_profiles().await;
    let id = send(&db).await;
    let first = id_of(&db, id).await;
    assert!(
        first.starts_with('<') && first.ends_with("@example.org>") && first.len() == 36 + 14,
        "{first}"
    );
    db.execute("SELECT pgrelay_notifier.update_profile('mail', '{\"host\": \"h\", \"from\": \"a@other.org\"}')")
        .await;
    assert_eq!(id_of(&db, id).await, first);
    let sql = "SELECT pgrelay_notifier.send_webhook('hook', '1')";
    let hook: i64 = db.query_one(sql, &[]).await;
    let first = id_of(&db, hook).await;
    assert!(first.starts_with("msg_") && !first.contains('.'), "{first}");
    assert_eq!(id_of(&db, hook).await, first);
}

#[tokio::test]
async fn the_domain_is_the_sender_s_and_never_localhost() {
    let db = with_profiles().await;
    for (from, host, domain) in [
        ("a@Mail.Example.org", "h", "mail.example.org"),
        ("App <a@example.org>", "h", "example.org"),
        ("_env:MAIL_FROM", "smtp.example.net", "smtp.example.net"),
        ("a@localhost", "smtp.example.net", "smtp.example.net"),
        ("a@bücher.example", "smtp.example.net", "smtp.example.net"),
        ("a@localhost", "127.0.0.1", "pg-relay.invalid"),
        ("a@db.localdomain", "::1", "pg-relay.invalid"),
    ] {
        let profile = serde_json::json!({"from": from, "host": host}).to_string();
        db.execute(&format!(
            "SELECT pgrelay_notifier.update_profile('mail', {})",
            literal(&profile)
        ))
        .await;
        let seen = id_of(&db, send(&db).await).await;
        assert!(
            seen.ends_with(&format!("@{domain}>")),
            "{from} {host}: {seen}"
        );
    }
    db.execute(&format!(
        "SELECT pgrelay_notifier.create_profile('graph', 'm365', {})",
        literal(M365)
    ))
    .await;
    let sql = "SELECT pgrelay_notifier.send('graph', '{\"to\": \"a@x.org\"}')";
    let id: i64 = db.query_one(sql, &[]).await;
    assert!(id_of(&db, id).await.ends_with("@example.org>"));
}

#[tokio::test]
async fn the_caller_may_bring_one() {
    let db = with_profiles().await;
    let sql = "SELECT pgrelay_notifier.send('mail', '{\"to\": \"a@x.org\", \"message_id\": \"<order-5@shop.example>\"}')";
    let id: i64 = db.query_one(sql, &[]).await;
    assert_eq!(id_of(&db, id).await, "<order-5@shop.example>");
    let sql =
        "SELECT pgrelay_notifier.send('hook', '{\"body\": 1, \"webhook_id\": \"order_5-A\"}')";
    let id: i64 = db.query_one(sql, &[]).await;
    assert_eq!(id_of(&db, id).await, "order_5-A");
}

#[tokio::test]
async fn sending_again_makes_another_notification() {
    let db = with_profiles().await;
    for first in [
        send(&db).await,
        db.query_one(
            "SELECT pgrelay_notifier.send_webhook('hook', '{\"a\": 1}', p_debug => true)",
            &[],
        )
        .await,
    ] {
        let again: i64 = db
            .query_one("SELECT pgrelay_notifier.resend($1)", &[&first])
            .await;
        assert_ne!(again, first);
        assert_ne!(id_of(&db, again).await, id_of(&db, first).await);
        let sql = "SELECT (a.message - ARRAY['message_id', 'webhook_id'] = b.message - ARRAY['message_id', 'webhook_id']) AND a.debug = b.debug \
                   FROM pgrelay_notifier.fetch($1) AS a, pgrelay_notifier.fetch($2) AS b";
        assert!(db.query_one::<bool>(sql, &[&first, &again]).await);
        let sql =
            "SELECT s.resend_of FROM pgrelay_notifier.notification_status AS s WHERE s.id = $1";
        assert_eq!(db.query_one::<i64>(sql, &[&again]).await, first);
        let sql = "SELECT count(*) FROM pgrelay.queue AS q WHERE q.payload = $1::bigint::text";
        assert_eq!(db.query_one::<i64>(sql, &[&again]).await, 1);
    }
}
