//! Receivers that are silent at some point: the attempt ends with its time.

use crate::peer::{Act, Peer};
use crate::sending::{Outcome, attempt, transports};
use crate::unanswered::Unanswered;
use serde_json::json;
use shared::failure::{Evidence, Network};
use std::time::Duration;
use tokio::net::TcpListener;

/// `timeout_seconds` of the profiles here, and what may come on top of it.
const LIMIT: Duration = Duration::from_secs(1);
const SLACK: Duration = Duration::from_secs(1);
/// A limit that no attempt shall come near.
const LONG: Duration = Duration::from_secs(20);

async fn send(url: &str, limit: Duration) -> Outcome {
    let profile =
        json!({"url": url, "allow_private_network": true, "timeout_seconds": limit.as_secs()});
    attempt(&transports(&[]), "webhook", &profile, &json!({"body": 1})).await
}

async fn ends_with(url: &str, network: Network) {
    let outcome = send(url, LIMIT).await;
    assert_eq!(
        outcome.failure().evidence,
        Evidence::Network(network),
        "{}",
        outcome.told()
    );
    assert!(outcome.took < LIMIT + SLACK, "{:?}", outcome.took);
    assert!(outcome.took >= LIMIT, "{:?}", outcome.took);
}

#[tokio::test]
async fn a_connection_that_is_never_accepted() {
    let (_unanswered, address) = Unanswered::at("127.0.0.1:0".parse().unwrap()).await;
    ends_with(&format!("http://{address}/"), Network::Timeout).await;
}

#[tokio::test]
async fn silence_in_the_handshake() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    ends_with(&url, Network::Timeout).await;
}

#[tokio::test]
async fn silence_before_the_status() {
    let peer = Peer::plain(|_| Act::Silence).await;
    ends_with(&peer.url("http"), Network::UnknownOutcome).await;
}

#[tokio::test]
async fn silence_in_the_headers() {
    let peer = Peer::plain(|_| Act::SayAndDrip("HTTP/1.1 200 OK\r\nX-Slow: ".to_owned())).await;
    ends_with(&peer.url("http"), Network::UnknownOutcome).await;
}

#[tokio::test]
async fn a_body_is_not_waited_for() {
    let head = "Content-Length: 2000000\r\n\r\n";
    let endless = format!("HTTP/1.1 200 X\r\n{head}{}", "x".repeat(1_000_000));
    for (act, is_sent) in [
        (Act::SayAndDrip(format!("HTTP/1.1 200 X\r\n{head}")), true),
        (Act::SayAndDrip(format!("HTTP/1.1 500 X\r\n{head}")), false),
        (Act::SayAndDrip(endless), true),
    ] {
        let peer = Peer::plain(move |_| act.clone()).await;
        let outcome = send(&peer.url("http"), LONG).await;
        assert_eq!(outcome.result.is_ok(), is_sent, "{}", outcome.told());
        assert!(outcome.took < LONG / 2, "{:?}", outcome.took);
    }
}
