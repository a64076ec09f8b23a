//! What a receiver is sent.

use crate::peer::{Peer, Received, answer};
use crate::sending::{attempt, transports};
use crate::{profile, profile_with};
use serde_json::json;
use std::time::{SystemTime, UNIX_EPOCH};

fn ok(_: &Received) -> crate::peer::Act {
    answer(204, "X-Request-Id: req-1\r\n", "")
}

#[tokio::test]
async fn a_request_holds_exactly_what_was_asked_for() {
    let peer = Peer::plain(ok).await;
    let url = format!("{}/hook/%41?token=t&x=ä", peer.url("http"));
    let changes = json!({
        "method": "PUT",
        "headers": {"Authorization": "_env:TOKEN", "X-Profile": "p"},
    });
    let message = json!({"body": {"b": [1, "ü"], "a": null}, "headers": {"X-Own": "o"}, "webhook_id": "msg_5"});
    let transports = transports(&[("TOKEN", "Bearer t0ken")]);
    let before = unix_now();
    let outcome = attempt(
        &transports,
        "webhook",
        &profile_with(&url, &changes),
        &message,
    )
    .await;
    assert_eq!(outcome.sent().provider_ref.as_deref(), Some("req-1"));

    let received = peer.received();
    let [request] = &received[..] else {
        panic!("{received:?}")
    };
    assert_eq!(
        (request.method.as_str(), request.target.as_str()),
        ("PUT", "/hook/%41?token=t&x=%C3%A4")
    );
    assert_eq!(request.body, r#"{"a":null,"b":[1,"ü"]}"#.as_bytes());
    let timestamp: u64 = request
        .header("webhook-timestamp")
        .unwrap()
        .parse()
        .unwrap();
    assert!((before..=unix_now()).contains(&timestamp), "{timestamp}");
    let mut headers: Vec<(String, &str)> = request
        .headers
        .iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), value.as_str()))
        .filter(|(name, _)| name != "webhook-timestamp")
        .collect();
    headers.sort();
    let agent = concat!("pg-relay-processor/", env!("CARGO_PKG_VERSION"));
    let host = peer.address().to_string();
    let expected = [
        ("accept", "*/*"),
        ("authorization", "Bearer t0ken"),
        ("content-length", "23"),
        ("content-type", "application/json"),
        ("host", &host),
        ("user-agent", agent),
        ("webhook-id", "msg_5"),
        ("x-own", "o"),
        ("x-profile", "p"),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value));
    assert_eq!(headers, expected);
}

#[tokio::test]
async fn numbers_keep_their_digits() {
    let peer = Peer::plain(ok).await;
    let amounts = r#"{"amount":12345678901234567890.12,"price":1.10,"tiny":1e-400}"#;
    let message = format!(r#"{{"body": {amounts}}}"#);
    attempt(
        &transports(&[]),
        "webhook",
        &profile(&peer.url("http")),
        &serde_json::from_str(&message).unwrap(),
    )
    .await
    .sent();
    assert_eq!(peer.received()[0].body, amounts.as_bytes());
}

#[tokio::test]
async fn a_text_is_sent_as_it_is_even_when_it_is_empty() {
    let peer = Peer::plain(ok).await;
    for text in ["line\r\nüß\0", ""] {
        let message = json!({"body": text});
        attempt(
            &transports(&[]),
            "webhook",
            &profile(&peer.url("http")),
            &message,
        )
        .await
        .sent();
        let request = peer.received().pop().unwrap();
        assert_eq!(request.body, text.as_bytes());
        assert_eq!(
            request.header("content-type"),
            Some("text/plain; charset=utf-8")
        );
        assert_eq!(
            request.header("content-length"),
            Some(text.len().to_string().as_str())
        );
    }
}

#[tokio::test]
async fn every_attempt_has_the_same_id_and_a_connection_of_its_own() {
    let peer = Peer::plain(|_| {
        crate::peer::Act::Say(
            "HTTP/1.1 503 Later\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n".to_owned(),
        )
    })
    .await;
    let transports = transports(&[]);
    for _ in 0..3 {
        attempt(
            &transports,
            "webhook",
            &profile(&peer.url("http")),
            &json!({"body": 1}),
        )
        .await
        .failure();
    }
    let ids: Vec<String> = peer
        .received()
        .iter()
        .map(|request| request.header("webhook-id").unwrap().to_owned())
        .collect();
    assert_eq!(ids, ["pgrelay-7"; 3]);
    assert_eq!(peer.connections(), 3);
}

#[tokio::test]
async fn what_is_malformed_is_never_sent() {
    let peer = Peer::plain(ok).await;
    for (changes, message) in [
        (json!({}), json!({})),
        (json!({}), json!({"body": 1, "webhook_id": "a.b"})),
        (json!({}), json!({"body": 1, "headers": {"Host": "x"}})),
        (json!({}), json!({"body": "_env:TOKEN"})),
        (json!({}), json!({"body": 1, "_private": 1})),
        (json!({"max_message_bytes": 3}), json!({"body": "four"})),
        (json!({"method": "DELETE"}), json!({"body": 1})),
        (json!({"signing_secret": "_env:TOKEN"}), json!({"body": 1})),
        (json!({"headers": {"X": "_env:UNSET"}}), json!({"body": 1})),
    ] {
        let transports = transports(&[("TOKEN", "t0ken")]);
        let profile = profile_with(&peer.url("http"), &changes);
        let outcome = attempt(&transports, "webhook", &profile, &message).await;
        let class = outcome.failure().class();
        assert_eq!(
            class,
            shared::failure::Class::Permanent,
            "{}",
            outcome.told()
        );
        assert!(!outcome.told().contains("t0ken"), "{}", outcome.told());
    }
    assert_eq!(peer.connections(), 0);
}

fn unix_now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("a time after 1970")
        .as_secs()
}
