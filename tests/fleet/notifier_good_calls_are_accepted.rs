//! What users may rely on being accepted: every key with a value of every kind, and values at their limits.

use std::process::Command;

use fleet_tests::database::Database;
use fleet_tests::postgres::Bindir;
use fleet_tests::skip;

use crate::notifier_db::with_profiles;
use crate::steps::literal;

const PROFILES: &[(&str, &str)] = &[
    (
        "smtp",
        r#"{"host": "mail.example.org", "port": 465, "security": "tls", "username": "app", "password": "_env:MAIL_PASSWORD",
            "auth": "login", "from": "\"Doe, J\" <app@example.org>", "helo_name": "app.example.org", "ca_file": "/etc/ssl/ca.pem",
            "timeout_seconds": 1000000000, "envelope_from": "", "partial_delivery": true,
            "allowed_recipient_domains": ["example.org", "bücher.example"], "max_message_bytes": 104857600,
            "backoff_seconds": [300, 600, 86400], "honour_retry_after": true, "of_the_future": {"_deep": 1}}"#,
    ),
    (
        "smtp",
        r#"{"host": "_env:MAIL_HOST", "username": "_env:MAIL_USER", "password": "_env:MAIL_PASSWORD", "from": "_env:MAIL_FROM",
            "helo_name": "[192.0.2.1]", "envelope_from": "_env:BOUNCES", "backoff_seconds": 1, "timeout_seconds": 1}"#,
    ),
    (
        "smtp",
        r#"{"host": "2001:db8::1", "from": "  app@bücher.example\t", "helo_name": "[IPv6:2001:db8::1]", "allowed_recipient_domains": []}"#,
    ),
    (
        "smtp",
        r#"{"host": "mail_relay.internal.", "from": "grüße@example.org"}"#,
    ),
    (
        "m365",
        r#"{"tenant_id": "72f988bf-86f1-41af-91ab-2d7cd011db47", "client_id": "c", "client_secret": "_env:S", "sender": "a@example.org",
            "save_to_sent_items": false, "authority_url": "http://127.0.0.1:8080", "graph_url": "http://[::1]:8080/beta",
            "timeout_seconds": 120, "allowed_recipient_domains": ["example.org"], "max_message_bytes": 1024}"#,
    ),
    (
        "webhook",
        r#"{"url": "http://10.0.0.1:8080/in?token=1", "allow_private_network": true, "method": "PUT", "signing_secret": "_env:HOOK",
            "headers": {"Authorization": "_env:TOKEN", "X-App": "pg", "Accept": "*/*"}, "max_message_bytes": 1024, "timeout_seconds": 5}"#,
    ),
    ("webhook", r#"{"url": "_env:HOOK_URL"}"#),
    ("webhook", r#"{"url": "https://bücher.example/a?b=c%20d"}"#),
];

#[tokio::test]
async fn profiles() {
    let db = Database::with_companion("notifier").await;
    for (number, (transport, profile)) in PROFILES.iter().enumerate() {
        db.execute(&format!(
            "SELECT pgrelay_notifier.create_profile('p{number}', '{transport}', {})",
            literal(profile)
        ))
        .await;
    }
    // Everything but transport may be changed, and what is not given stays.
    db.execute("SELECT pgrelay_notifier.update_profile('p0', p_description => 'alerts')")
        .await;
    let sql = "SELECT description || ' ' || (profile ->> 'port') FROM pgrelay_notifier.profiles WHERE name = 'p0'";
    assert_eq!(db.query_one::<String>(sql, &[]).await, "alerts 465");
}

const MAILS: &[&str] = &[
    r#"{"to": "a@example.org"}"#,
    r#"{"to": ["A <a@example.org>", "  b@example.org  "], "cc": [], "bcc": "c@example.org"}"#,
    r#"{"bcc": "\"Doe, \\\"J\\\"\" <a@example.org>", "reply_to": ["r@example.org"], "subject": "", "text": "a\u0007\r\nb", "html": "<p>"}"#,
    r#"{"cc": "Jürgen Groß <jürgen@bücher.example>", "subject": "Grüße 🎉", "importance": "high", "message_id": "<a.b@example.org>"}"#,
    r#"{"to": "a+b.c_d=e'f@sub.example.org", "list_unsubscribe": ["mailto:u@example.org?subject=x", "https://example.org/u?t=1"]}"#,
    r#"{"to": "a@localhost", "headers": {"X-Ref": "1", "List-Id": "<l.example.org>", "Auto-Submitted": "auto-generated", "References": "<1@x>"}}"#,
    r#"{"to": "a@example.org", "attachments": [{"filename": "Bericht März.csv", "content_type": "text/csv; charset=\"utf-8\"", "content_base64": "YQ==\r\n"},
        {"filename": "logo.png", "content_base64": "", "content_id": "logo@example.org"}], "of_the_future": null}"#,
    r#"{"to": "a@example.org", "text": "see _env:HOME", "subject": "_env:HOME is set"}"#,
];

#[tokio::test]
async fn messages() {
    let db = with_profiles().await;
    for mail in MAILS {
        let sql = "SELECT pgrelay_notifier.send('mail', $1::text::jsonb)";
        let id: i64 = db.query_one(sql, &[mail]).await;
        assert!(id > 0);
    }
    for body in ["1", "\"text\"", "[]", r#"{"_reserved_here": "_env:9"}"#] {
        let sql =
            "SELECT pgrelay_notifier.send_webhook('hook', $1::text::jsonb, '{\"X-A\": \"b\"}')";
        db.query_one::<i64>(sql, &[&body]).await;
    }
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
    let Some(bindir) = Bindir::find() else {
        skip!("psql", "PostgreSQL's binaries are not installed");
    };
    let db = Database::with_companion("notifier").await;
    let profile = r#"{"host": "h", "from": "a@example.org", "security": "none", "username": "u", "password": "_env:P"}"#;
    let create = "SELECT pgrelay_notifier.create_profile('p', 'smtp', ";
    let output = Command::new(bindir.program("psql"))
        .args([
            "--no-psqlrc",
            "--command",
            &format!("{create}{})", literal(profile)),
            &db.url(),
        ])
        .output()
        .expect("running psql");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(
        said.starts_with("WARNING:  the login of this profile travels without encryption"),
        "{said}"
    );
}
