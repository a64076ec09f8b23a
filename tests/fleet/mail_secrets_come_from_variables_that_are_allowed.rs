//! A string of a profile that is `_env:NAME` stands for a variable of the Processor's host, wherever it is; where there is none, or it may not be used, nothing is sent.

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;
use serde_json::{Value, json};

use crate::http_endpoint::Endpoint;
use crate::mail_steps::{database, finished};
use crate::steps::refusal;

/// A notification through a webhook whose profile is changed by `settings`, past all checks of the call.
async fn send(db: &Database, endpoint: &Endpoint, settings: &Value, message: &Value) -> i64 {
    let sql = "SELECT pgrelay_notifier.send('hook', '{\"body\": 1}')";
    let id: i64 = db.query_one(sql, &[]).await;
    let profile = format!("hook {id}");
    let base = json!({"url": format!("{}/{id}", endpoint.url()), "allow_private_network": true});
    let sql = "INSERT INTO pgrelay_notifier.profiles (name, transport, channel, profile)
               VALUES ($1, 'webhook', 'pg_relay_notifier.send', $2::jsonb || $3::jsonb)";
    db.rows(sql, &[&profile, &base, settings]).await;
    let sql = "UPDATE pgrelay_notifier.notifications SET profile = $2, message = message || $3 WHERE id = $1";
    db.rows(sql, &[&id, &profile, message]).await;
    id
}

/// Settings of the profile, what is added to the message, and what comes of it: a header that is seen, or words of the failure.
type Case = (Value, Value, Result<&'static str, &'static str>);

fn cases() -> Vec<Case> {
    let header = |value: &str| json!({"headers": {"X-Token": value}});
    let none = || json!({});
    let unknown = json!({"future": [1, {"deep": ["_env:NOT_SET"]}]});
    let in_message = json!({"body": {"deep": ["_env:HOOK_TOKEN"]}});
    let part = "Bearer _env:HOOK_TOKEN";
    vec![
        (header("_env:HOOK_TOKEN"), none(), Ok("x-token: ab cd")),
        (header(part), none(), Ok("x-token: Bearer _env:HOOK_TOKEN")),
        (header("_env:1"), none(), Ok("x-token: _env:1")),
        (unknown, none(), Err("NOT_SET")),
        (header("_env:NOT_SET"), none(), Err("NOT_SET")),
        (header("_env:HOOK_EMPTY"), none(), Err("HOOK_EMPTY")),
        (header("_env:HOOK_DENIED"), none(), Err("HOOK_DENIED")),
        (header("_env:OTHER"), none(), Err("OTHER")),
        (header("_env:PGPASSWORD"), none(), Err("PGPASSWORD")),
        (none(), in_message, Err("belong into the profile")),
    ]
}

async fn start(db: &Database) -> Processor {
    Processor::with(db, |config| {
        config
            .set("SECRET_ALLOW", json!(["HOOK_*", "PG*"]))
            .set("SECRET_DENY", json!(["*_DENIED"]))
            .env("HOOK_TOKEN", "ab cd")
            .env("HOOK_EMPTY", "")
            .env("HOOK_DENIED", "denied value")
            .env("OTHER", "other value")
            .env("PGPASSWORD", "own value")
    })
    .await
}

#[tokio::test]
async fn at_any_depth_and_only_in_profiles() {
    let endpoint = Endpoint::start(|_| (204, String::new())).await;
    let db = database().await;
    let settings = json!({"url": "https://hook.example.org/"});
    let sql = "SELECT pgrelay_notifier.create_profile('hook', 'webhook', $1)::text";
    db.query_one::<String>(sql, &[&settings]).await;
    let mut sent = Vec::new();
    for (settings, message, expected) in cases() {
        let id = send(&db, &endpoint, &settings, &message).await;
        sent.push((format!("{settings} {message}"), id, expected));
    }
    let processor = start(&db).await;
    for (what, id, expected) in sent {
        let seen = finished(&db, id).await;
        let said = seen.last_error.unwrap_or_default();
        let place = format!("POST /{id} ");
        let mut requests = endpoint.requests().into_iter();
        let request = requests.find(|request| request.starts_with(&place));
        match expected {
            Ok(header) => {
                assert_eq!(seen.status, "sent", "{what}: {said}");
                let request = request.unwrap_or_default();
                assert!(
                    request.lines().any(|line| line == header),
                    "{what}: {request}"
                );
            }
            Err(words) => {
                let result = (seen.status.as_str(), seen.attempts);
                assert_eq!(result, ("failed", 1), "{what}: {said}");
                assert!(said.contains(words), "{what}: {said}");
                assert_eq!(request, None, "{what}");
            }
        }
    }
    for value in ["ab cd", "denied value", "other value", "own value"] {
        assert!(!processor.logs().contains(value), "{value} is in the log");
    }
}

#[tokio::test]
async fn a_literal_secret_and_a_reference_in_a_message_are_refused_at_the_call() {
    let db = database().await;
    let session = db.connect().await;
    let literal = r#"SELECT pgrelay_notifier.create_profile('m', 'smtp', '{"host": "h.example", "from": "a@test.example", "username": "u", "password": "hunter2"}')"#;
    let refused = refusal(&session, literal).await;
    assert_eq!(refused.sqlstate, "PN011", "{refused:?}");
    assert!(!format!("{refused:?}").contains("hunter2"), "{refused:?}");
    db.execute(r#"SELECT pgrelay_notifier.create_profile('m', 'smtp', '{"host": "h.example", "from": "a@test.example"}')"#).await;
    let reference = r#"SELECT pgrelay_notifier.send('m', '{"to": "a@test.example", "text": "_env:PGPASSWORD"}')"#;
    assert_eq!(refusal(&session, reference).await.sqlstate, "PN004");
}
