//! What an answer, or none, comes to.

use crate::peer::{Act, Peer, answer};
use crate::sending::{Outcome, attempt, transports};
use crate::{profile, profile_with};
use serde_json::json;
use shared::failure::{Class, Evidence, Network};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

async fn answered(act: Act) -> (Peer, Outcome) {
    let peer = Peer::plain(move |_| act.clone()).await;
    let url = format!("{}/secret", peer.url("http"));
    let outcome = attempt(
        &transports(&[]),
        "webhook",
        &profile(&url),
        &json!({"body": 1}),
    )
    .await;
    assert!(!outcome.told().contains("secret"), "{}", outcome.told());
    assert_eq!(peer.received().len(), 1);
    (peer, outcome)
}

#[tokio::test]
async fn only_2xx_is_success() {
    for status in [200, 201, 202, 204, 226, 299] {
        let (_, outcome) = answered(answer(status, "Retry-After: 5\r\n", "")).await;
        assert_eq!(outcome.sent().provider_ref, None);
    }
    for (statuses, class) in [
        (
            &[300, 301, 304, 400, 401, 403, 404, 410, 413, 499, 501, 505][..],
            Class::Permanent,
        ),
        (
            &[408, 425, 429, 500, 502, 503, 504, 507, 520, 599],
            Class::Transient,
        ),
    ] {
        for status in statuses {
            let (_, outcome) = answered(answer(*status, "", "the body")).await;
            let failure = outcome.failure();
            assert_eq!(failure.evidence, Evidence::Webhook { status: *status });
            assert_eq!(failure.class(), class, "{status}");
            assert!(failure.summary.contains(&status.to_string()), "{failure:?}");
            assert!(!outcome.told().contains("the body"), "{}", outcome.told());
        }
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let other = Peer::plain(|_| answer(200, "", "")).await;
    for target in [
        format!("{}/", other.url("http")),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
    ] {
        for status in [301, 302, 303, 307, 308] {
            let (_, outcome) =
                answered(answer(status, &format!("Location: {target}\r\n"), "")).await;
            let failure = outcome.failure();
            assert_eq!(failure.evidence, Evidence::Webhook { status });
            assert!(
                failure.summary.ends_with("redirects are not followed"),
                "{failure:?}"
            );
        }
    }
    assert_eq!(other.connections(), 0);
}

#[tokio::test]
async fn retry_after_is_passed_on_when_a_retry_follows() {
    let asked = async |status, value| {
        let headers = format!("Retry-After: {value}\r\n");
        let (_, outcome) = answered(answer(status, &headers, "")).await;
        outcome.failure().retry_after
    };
    assert_eq!(asked(429, "7").await, Some(Duration::from_secs(7)));
    let date = httpdate::fmt_http_date(std::time::SystemTime::now() + Duration::from_secs(500));
    let pause = asked(503, date.as_str()).await.unwrap();
    assert!(
        pause > Duration::from_secs(400) && pause <= Duration::from_secs(500),
        "{pause:?}"
    );
    assert_eq!(asked(503, "soon").await, None);
    assert_eq!(asked(400, "7").await, None);
}

#[tokio::test]
async fn without_an_answer_the_outcome_is_unknown() {
    for act in [
        Act::Close,
        Act::Reset,
        Act::Say("HTTP/1.1 200 O".to_owned()),
        Act::Say("HTTP/1.1 200 OK\r\nContent-Le".to_owned()),
        Act::Say("220 mail.example ESMTP\r\n".to_owned()),
    ] {
        let (_, outcome) = answered(act.clone()).await;
        let failure = outcome.failure();
        let unknown = Evidence::Network(Network::UnknownOutcome);
        assert_eq!(failure.evidence, unknown, "{act:?}: {failure:?}");
    }
}

#[tokio::test]
async fn a_body_that_breaks_off_changes_nothing() {
    for body in [
        "Content-Length: 100\r\n\r\nshort",
        "Transfer-Encoding: chunked\r\n\r\n5\r\nab",
        "Content-Encoding: gzip\r\n\r\nnot gzip",
    ] {
        let (_, outcome) = answered(Act::Say(format!("HTTP/1.1 200 OK\r\n{body}"))).await;
        outcome.sent();
    }
}

#[tokio::test]
async fn a_closed_port_is_refused() {
    let peer = Peer::plain(|_| Act::Close).await;
    let url = format!("{}/secret", peer.url("http"));
    let address = peer.address();
    drop(peer);
    fleet_tests::wait::until("the port to close", fleet_tests::wait::SOON, || async {
        match std::net::TcpStream::connect(address) {
            Ok(_) => Err("it is still open"),
            Err(_) => Ok(()),
        }
    })
    .await;
    let outcome = attempt(
        &transports(&[]),
        "webhook",
        &profile(&url),
        &json!({"body": 1}),
    )
    .await;
    assert_eq!(
        outcome.failure().evidence,
        Evidence::Network(Network::Refused)
    );
    assert!(!outcome.told().contains("secret"), "{}", outcome.told());
}

#[tokio::test]
async fn what_is_no_tls_breaks_the_handshake() {
    for said in ["", "220 mail.example ESMTP\r\n"] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}/secret", listener.local_addr().unwrap());
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(said.as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
        });
        let message = json!({"body": 1});
        let outcome = attempt(&transports(&[]), "webhook", &profile(&url), &message).await;
        let handshake = Evidence::Network(Network::Handshake);
        assert_eq!(outcome.failure().evidence, handshake, "{}", outcome.told());
        assert!(!outcome.told().contains("secret"), "{}", outcome.told());
        server.await.unwrap();
    }
}

#[tokio::test]
async fn an_answer_that_comes_before_the_end_of_the_request_counts() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let answer = "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        stream.read_u8().await.unwrap();
        stream.write_all(answer.as_bytes()).await.unwrap();
        // As front ends do, so that the answer is not lost in a reset.
        tokio::io::copy(&mut stream, &mut tokio::io::sink())
            .await
            .ok();
    });
    let changes = json!({"max_message_bytes": 50_000_000});
    let message = json!({"body": "x".repeat(20_000_000)});
    let profile = profile_with(&url, &changes);
    let outcome = attempt(&transports(&[]), "webhook", &profile, &message).await;
    assert_eq!(
        outcome.failure().evidence,
        Evidence::Webhook { status: 413 }
    );
    server.await.unwrap();
}
