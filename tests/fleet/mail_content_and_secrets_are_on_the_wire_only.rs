//! Neither secrets nor content nor addresses are in a log, in the queue or in its log, at any level, over every transport, whether it succeeds or fails.

use fleet_tests::database::Database;
use fleet_tests::mail::peer::Peer;
use fleet_tests::mail::postfix::{Port, Postfix};
use fleet_tests::processor::Processor;
use fleet_tests::{skip, wait};
use serde_json::{Value, json};

use crate::http_endpoint::Endpoint;
use crate::mail_steps::{database, finished, plain, profile};

/// All that is secret or content holds it, in clear text or in one of these disguises.
const CANARY: &str = "zanzibar";
const SECRET: &str = "zanzibar-secret";
/// base64 of `zanzibar` at each of the three places it can have in a text, less the ends that depend on what is around it.
const DISGUISES: [&str; 4] = [CANARY, "emFuemliYX", "phbnppYmFy", "6YW56aWJhc"];

fn mail(recipient: &str) -> Value {
    json!({
        "to": format!("zanzibar <{recipient}>"),
        "cc": "zanzibar-cc@test.example",
        "subject": "zanzibar subject",
        "text": "zanzibar text",
        "html": "<p>zanzibar html</p>",
        "headers": {"X-Zanzibar": "zanzibar header"},
        "attachments": [{"filename": "zanzibar.txt", "content_base64": "emFuemliYXI="}],
    })
}

async fn create(db: &Database, name: &str, transport: &str, settings: &Value) {
    let sql = "SELECT pgrelay_notifier.create_profile($1, $2, $3)::text";
    db.query_one::<String>(sql, &[&name, &transport, settings])
        .await;
}

/// Sends with every step reported.
async fn send(db: &Database, profile: &str, message: &Value) -> i64 {
    let sql = "SELECT pgrelay_notifier.send($1, $2, p_debug => true)";
    db.query_one(sql, &[&profile, message]).await
}

/// What is found below `path` is answered so, and with the canary.
fn answer(line: &str) -> (u16, String) {
    let body = |status| {
        (
            status,
            json!({"error": {"code": "ErrorAccessDenied", "message": CANARY}}).to_string(),
        )
    };
    if line.contains("/token") {
        return (
            200,
            json!({"access_token": "zanzibar-token", "expires_in": 3600, "token_type": "Bearer"})
                .to_string(),
        );
    }
    for status in [503, 403] {
        if line.contains(&status.to_string()) {
            return body(status);
        }
    }
    (202, String::new())
}

/// For each way to end a profile and what to send with it.
async fn profiles(
    db: &Database,
    peer: &Peer,
    postfix: &Postfix,
    endpoint: &Endpoint,
) -> Vec<(String, Value, &'static str)> {
    let login = json!({"username": "zanzibar-user", "password": "_env:MAIL_SECRET"});
    profile(db, "smtp-sent", &plain(peer.port(), login)).await;
    profile(
        db,
        "smtp-refused",
        &plain(postfix.port(Port::Plain), json!({})),
    )
    .await;
    let mut sends = vec![
        (
            "smtp-sent".to_owned(),
            mail("zanzibar-to@test.example"),
            "sent",
        ),
        (
            "smtp-refused".to_owned(),
            mail("zanzibar-grey@test.example"),
            "failed",
        ),
        (
            "smtp-refused".to_owned(),
            mail("zanzibar-unknown@test.example"),
            "failed",
        ),
    ];
    for (path, status) in [("202", "sent"), ("503", "failed"), ("403", "failed")] {
        let url = endpoint.url();
        let hook = format!("hook-{path}");
        let settings = json!({
            "url": format!("{url}/{path}?key=zanzibar"), "allow_private_network": true,
            "headers": {"Authorization": "_env:HOOK_SECRET"}, "signing_secret": "_env:HOOK_KEY",
        });
        create(db, &hook, "webhook", &settings).await;
        sends.push((
            hook,
            json!({"body": {"zanzibar": "zanzibar body"}, "headers": {"X-Zanzibar": "zanzibar"}}),
            status,
        ));
        let graph = format!("graph-{path}");
        let settings = json!({
            "tenant_id": "contoso.example", "client_id": "c0ffee", "client_secret": "_env:GRAPH_SECRET",
            "sender": "zanzibar-app@test.example", "authority_url": url, "graph_url": format!("{url}/{path}"),
        });
        create(db, &graph, "m365", &settings).await;
        let mut message = mail("zanzibar-to@test.example");
        message["headers"] = json!({"X-Zanzibar": "zanzibar header"});
        sends.push((graph, message, status));
    }
    sends
}

#[tokio::test]
async fn at_trace_over_all_transports() {
    let postfix = match Postfix::start().await {
        Ok(postfix) => postfix,
        Err(why) => skip!("mail", "{why}"),
    };
    postfix.answer(
        "zanzibar-grey@test.example",
        Some("450 4.7.1 zanzibar later"),
    );
    postfix.answer(
        "zanzibar-unknown@test.example",
        Some("550 5.1.1 zanzibar is unknown"),
    );
    let (peer, endpoint) = (Peer::start().await, Endpoint::start(answer).await);
    let db = database().await;
    let sends = profiles(&db, &peer, &postfix, &endpoint).await;
    let mut processor = Processor::with(&db, |config| {
        config
            .set("LOG_LEVEL", "trace")
            .env("MAIL_SECRET", SECRET)
            .env("HOOK_SECRET", SECRET)
            .env(
                "HOOK_KEY",
                "whsec_emFuemliYXItc2VjcmV0LXphbnppYmFyLXNlY3JldA==",
            )
            .env("GRAPH_SECRET", SECRET)
    })
    .await;
    let mut ids = Vec::new();
    for (profile, message, status) in &sends {
        ids.push((profile, send(&db, profile, message).await, *status));
    }
    for (profile, id, status) in ids {
        let seen = finished(&db, id).await;
        assert_eq!(seen.status, status, "{profile}: {seen:?}");
    }
    processor.terminate();
    assert_eq!(processor.wait_exit(wait::SOON).await, 0);

    seen_on_the_wire(&peer, &endpoint);
    let log = processor.logs();
    for level in ["TRACE", "DEBUG", "INFO", "WARN"] {
        assert!(log.contains(level), "nothing at {level}");
    }
    assert_clean("the log", &log);
    assert_clean("standard output", &processor.stdout());
    for table in [
        "pgrelay.queue",
        "pgrelay.log",
        "pgrelay.channels",
        "pgrelay_notifier.debug_steps",
    ] {
        let text = text_of(&db, table).await;
        assert!(!text.is_empty(), "{table} is empty");
        assert_clean(table, &text);
    }
    // Messages are kept there, and what servers said; secrets are not.
    for table in ["profiles", "notifications", "attempts"] {
        let text = text_of(&db, &format!("pgrelay_notifier.{table}")).await;
        for secret in [SECRET, "emFuemliYXItc2VjcmV0", "zanzibar-token"] {
            assert!(!text.contains(secret), "{secret} is in {table}");
        }
    }
}

/// What was planted has really been used.
fn seen_on_the_wire(peer: &Peer, endpoint: &Endpoint) {
    let heard = peer.heard().join("\n");
    // NUL zanzibar-user NUL zanzibar-secret
    assert!(
        heard.contains("AHphbnppYmFyLXVzZXIAemFuemliYXItc2VjcmV0"),
        "{heard}"
    );
    for planted in [
        "zanzibar subject",
        "zanzibar text",
        "zanzibar html",
        "zanzibar header",
        "zanzibar.txt",
    ] {
        assert!(peer.accepted()[0].contains(planted), "{planted}: {heard}");
    }
    let requests = endpoint.requests().join("\n");
    for planted in [
        "?key=zanzibar",
        "zanzibar body",
        "authorization: zanzibar-secret",
        "client_secret=zanzibar-secret",
        "Bearer zanzibar-token",
    ] {
        assert!(
            requests.to_lowercase().contains(&planted.to_lowercase()),
            "{planted}: {requests}"
        );
    }
}

async fn text_of(db: &Database, table: &str) -> String {
    let sql = format!("SELECT coalesce(string_agg(t::text, E'\\n'), '') FROM {table} AS t");
    db.query_one(&sql, &[]).await
}

fn assert_clean(place: &str, text: &str) {
    let leaks = |line: &&str| {
        let line = line.to_lowercase();
        DISGUISES
            .iter()
            .any(|disguise| line.contains(&disguise.to_lowercase()))
    };
    let leaks: Vec<&str> = text.lines().filter(leaks).take(5).collect();
    assert!(leaks.is_empty(), "in {place}: {leaks:#?}");
}

#[test]
fn a_leak_would_be_seen_in_every_disguise() {
    for leak in [
        "to Zanzibar",
        "AHphbnppYmFyAHg=",
        "eHphbnppYmFy",
        "eHh6YW56aWJhcg==",
        "emFuemliYXI=",
    ] {
        let caught =
            std::panic::catch_unwind(|| assert_clean("a text", &format!("line\n{leak}\n")));
        assert!(caught.is_err(), "{leak}");
    }
}
