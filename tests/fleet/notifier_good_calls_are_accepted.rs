//! What users may rely on being accepted: every key with a value of every kind, and values at their limits.

use fleet_tests::database::Database;

use crate::notifier_db::with_profiles;
use crate::steps::literal;

/// Rows `transport | JSON`. The transports' tests read the same tables: what is accepted here must not fail at its attempt. Messages go with the first profile of
/// their transport.
fn rows(table: &str) -> Vec<(&str, &str)> {
    let row = |line| str::split_once(line, " | ").unwrap_or_else(|| panic!("no row: {line}"));
    table.lines().map(row).collect()
}

fn profiles() -> Vec<(&'static str, &'static str)> {
    rows(include_str!("notifier_good_profiles.txt"))
}

#[tokio::test]
async fn every_profile_of_the_table() {
    let db = Database::with_companion("notifier").await;
    for (number, (transport, profile)) in profiles().iter().enumerate() {
        db.execute(&format!(
            "SELECT pgrelay_notifier.create_profile('p{number}', '{transport}', {})",
            literal(profile)
        ))
        .await;
    }
}

#[tokio::test]
async fn a_change_leaves_what_it_does_not_name() {
    let db = with_profiles().await;
    db.execute("SELECT pgrelay_notifier.update_profile('mail', p_description => 'alerts')")
        .await;
    let sql = "SELECT description || ' ' || (profile ->> 'host') FROM pgrelay_notifier.profiles WHERE name = 'mail'";
    assert_eq!(
        db.query_one::<String>(sql, &[]).await,
        "alerts mail.example.org"
    );
}

#[tokio::test]
async fn every_message_of_the_table() {
    let db = Database::with_companion("notifier").await;
    for transport in ["smtp", "m365", "webhook"] {
        let first = profiles().into_iter().find(|row| row.0 == transport);
        let profile = literal(first.expect(transport).1);
        db.execute(&format!(
            "SELECT pgrelay_notifier.create_profile('{transport}', '{transport}', {profile})"
        ))
        .await;
    }
    let messages = rows(include_str!("notifier_good_messages.txt"));
    for (transport, message) in &messages {
        db.execute(&format!(
            "SELECT pgrelay_notifier.send('{transport}', {})",
            literal(message)
        ))
        .await;
    }
    let kept: i64 = db
        .query_one("SELECT count(*) FROM pgrelay_notifier.notifications", &[])
        .await;
    assert_eq!(usize::try_from(kept), Ok(messages.len()));
}

#[tokio::test]
async fn recipients_come_as_an_address_as_json_or_as_an_array() {
    let db = with_profiles().await;
    for (to, stored) in [
        ("'a@example.org'", r#""a@example.org""#),
        (
            r#"'["a@example.org", "B <b@example.org>"]'"#,
            r#"["a@example.org", "B <b@example.org>"]"#,
        ),
        (
            "ARRAY['a@example.org', 'b@example.org']",
            r#"["a@example.org", "b@example.org"]"#,
        ),
    ] {
        let sql = format!("SELECT pgrelay_notifier.send_mail('mail', {to}, 'Hello', 'text')");
        let id: i64 = db.query_one(&sql, &[]).await;
        let sql = "SELECT f.message::jsonb ->> 'to' FROM pgrelay_notifier.fetch($1) AS f";
        let seen: String = db.query_one(sql, &[&id]).await;
        assert_eq!(seen, stored.trim_matches('"'), "{to}");
    }
    let sql = "SELECT pgrelay_notifier.send_mail('mail', 'a@example.org', 's', 't', '<p>', p_cc => '[\"c@example.org\"]', \
                   p_bcc => 'd@example.org', p_reply_to => 'e@example.org', p_attachments => '[]', p_headers => '{\"X-A\": \"b\"}')";
    let id: i64 = db.query_one(sql, &[]).await;
    let sql = "SELECT (f.message - 'message_id')::text FROM pgrelay_notifier.fetch($1) AS f";
    let message: String = db.query_one(sql, &[&id]).await;
    let expected = r#"{"to": "a@example.org", "cc": ["c@example.org"], "bcc": "d@example.org", "reply_to": "e@example.org", "subject": "s",
        "text": "t", "html": "<p>", "attachments": [], "headers": {"X-A": "b"}}"#;
    let parse = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(parse(&message), parse(expected));
}

#[tokio::test]
async fn a_login_without_encryption_gets_a_warning() {
    let db = Database::with_companion("notifier").await;
    let profile = r#"{"host": "h", "from": "a@example.org", "security": "none", "username": "u", "password": "_env:P"}"#;
    let create = "SELECT pgrelay_notifier.create_profile('p', 'smtp', ";
    let warnings = db.warnings(&format!("{create}{})", literal(profile))).await;
    assert_eq!(
        warnings,
        ["the login of this profile travels without encryption"]
    );
}
