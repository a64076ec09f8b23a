//! What the environment of the process decides, and what it does not: each of these runs a program of its own.

use crate::peer::{Act, Peer, answer};
use crate::sending::{attempt, run_apart, transports};
use crate::{profile, profile_with};
use fleet_tests::mail::authority::Authority;
use serde_json::json;

/// In the path and the query of every URL, in every header value and in the body.
const CANARY: &str = "zanzibar";

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is for the test that runs this one"))
}

#[tokio::test]
#[ignore = "run by the tests below, with an environment of its own"]
async fn sends_one() {
    let message = json!({"body": CANARY});
    let outcome = attempt(
        &transports(&[]),
        "webhook",
        &profile(&variable("PEER")),
        &message,
    )
    .await;
    println!("came to {:?}", outcome.result);
}

#[tokio::test]
async fn proxies_are_not_for_webhooks() {
    let proxy = Peer::plain(|_| answer(200, "", "")).await;
    let peer = Peer::plain(|_| answer(200, "", "")).await;
    let mut variables = vec![("PEER", peer.url("http"))];
    for name in [
        "http_proxy",
        "HTTP_PROXY",
        "https_proxy",
        "HTTPS_PROXY",
        "all_proxy",
        "ALL_PROXY",
    ] {
        variables.push((name, proxy.url("http")));
    }
    run_apart("environment::sends_one", variables).await;
    assert_eq!((proxy.connections(), peer.received().len()), (0, 1));
}

#[tokio::test]
async fn certificates_are_verified_against_the_roots_of_the_system() {
    let authority = Authority::new();
    let root = authority.certificate().display().to_string();
    let right = Peer::tls(&authority.issue("right", "IP:127.0.0.1"), |_| {
        answer(200, "", "")
    })
    .await;
    let wrong = Peer::tls(&authority.issue("wrong", "DNS:other.example"), |_| {
        answer(200, "", "")
    })
    .await;
    for (peer, trusted, expected) in [
        (&right, true, "came to Ok(Sent"),
        (&right, false, "evidence: Certificate"),
        (&wrong, true, "evidence: Certificate"),
    ] {
        let mut variables = vec![("PEER", peer.url("https"))];
        if trusted {
            variables.push(("SSL_CERT_FILE", root.clone()));
        }
        let printed = run_apart("environment::sends_one", variables).await;
        assert!(printed.output.contains(expected), "{}", printed.output);
    }
    assert_eq!((right.received().len(), wrong.received().len()), (1, 0));
}

#[tokio::test]
#[ignore = "run by the test below, with a log of its own"]
async fn sends_to_secret_urls_with_a_log_at_trace() {
    shared::logging::init(shared::logging::Level::Trace, shared::logging::Format::Text).unwrap();
    for name in [
        "OK",
        "REFUSED",
        "DNS",
        "TLS",
        "TIMEOUT",
        "ERROR",
        "REDIRECT",
        "FORBIDDEN",
    ] {
        let url = format!("{}/{CANARY}?token={CANARY}", variable(name));
        let mut changes = json!({
            "headers": {"X-Secret": CANARY, "Authorization": "_env:TOKEN"},
            "signing_secret": "_env:KEY",
            "timeout_seconds": 2,
        });
        if name == "FORBIDDEN" {
            changes["allow_private_network"] = json!(false);
        }
        let secrets = [
            ("TOKEN", CANARY),
            ("KEY", "whsec_emFuemliYXJ6YW56aWJhcnphbnppYmFy"),
            ("URL", url.as_str()),
        ];
        for url in [url.as_str(), "_env:URL"] {
            let profile = profile_with(url, &changes);
            let message = json!({"body": {"text": CANARY}, "headers": {"X-Mine": CANARY}});
            let outcome = attempt(&transports(&secrets), "webhook", &profile, &message).await;
            println!("{name} came to {}", outcome.told());
        }
    }
}

#[tokio::test]
async fn nothing_of_a_url_is_told_or_logged() {
    let authority = Authority::new();
    let ok = Peer::plain(|_| answer(200, "", CANARY)).await;
    let error = Peer::plain(|_| answer(500, "", CANARY)).await;
    let redirect = Peer::plain(|_| answer(302, &format!("Location: /{CANARY}\r\n"), "")).await;
    let silent = Peer::plain(|_| Act::Silence).await;
    let untrusted = Peer::tls(&authority.issue("peer", "IP:127.0.0.1"), |_| Act::Close).await;
    let variables = vec![
        ("OK", ok.url("http")),
        ("REFUSED", "http://127.0.0.1:1".to_owned()),
        ("DNS", "https://nowhere.invalid".to_owned()),
        ("TLS", untrusted.url("https")),
        ("TIMEOUT", silent.url("http")),
        ("ERROR", error.url("http")),
        ("REDIRECT", redirect.url("http")),
        ("FORBIDDEN", "https://127.0.0.1".to_owned()),
    ];
    let name = "environment::sends_to_secret_urls_with_a_log_at_trace";
    let printed = run_apart(name, variables).await;
    for expected in [
        "OK came to Ok(",
        "REFUSED came to Err(Failure { evidence: Network(Refused)",
        "TLS came to Err(Failure { evidence: Certificate",
        "TIMEOUT came to Err(Failure { evidence: Network(UnknownOutcome)",
        "ERROR came to Err(Failure { evidence: Webhook { status: 500 }",
        "REDIRECT came to Err(Failure { evidence: Webhook { status: 302 }",
        "FORBIDDEN came to Err(Failure { evidence: Unsendable(Address)",
    ] {
        assert_eq!(
            printed.output.matches(expected).count(),
            2,
            "{expected}\n{}",
            printed.output
        );
    }
    // A resolver that asks in vain may also take longer than the attempt.
    assert_eq!(
        printed
            .output
            .matches("DNS came to Err(Failure { evidence: Network(")
            .count(),
        2,
        "{}",
        printed.output
    );
    assert!(
        printed.log.contains("TRACE") && printed.log.contains("notification 7: request"),
        "{}",
        printed.log
    );
    for text in [printed.output, printed.log] {
        for secret in [CANARY, "emFuemliYX"] {
            assert!(!text.contains(secret), "{text}");
        }
    }
}
