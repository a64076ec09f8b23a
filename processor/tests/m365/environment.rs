//! What the environment of the process decides, and what reaches its log: each of these runs a program of its own.

use crate::cloud::{Cloud, SECRET, accepted, grant, send, with_secret};
use crate::peer::{Act, Peer, answer};
use crate::sending::run_apart;
use fleet_tests::mail::authority::Authority;
use serde_json::{Value, json};

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is for the test that runs this one"))
}

#[tokio::test]
#[ignore = "run by the tests below, with an environment and a log of its own"]
async fn sends_with_a_log_at_trace() {
    shared::logging::init(shared::logging::Level::Trace, shared::logging::Format::Text).unwrap();
    let profiles: Vec<Value> = serde_json::from_str(&variable("PROFILES")).unwrap();
    for profile in profiles {
        println!("came to {}", send(&with_secret(), &profile).await.told());
    }
}

async fn run_with(
    profiles: &[Value],
    more: Vec<(&'static str, String)>,
) -> crate::sending::Printed {
    let mut variables = vec![("PROFILES", json!(profiles).to_string())];
    variables.extend(more);
    run_apart("environment::sends_with_a_log_at_trace", variables).await
}

#[tokio::test]
async fn no_secret_and_no_content_is_logged() {
    let clouds = [
        Cloud::answering(accepted()).await,
        Cloud::answering(answer(401, "", "")).await,
        Cloud::answering(answer(500, "", "t0ken t3xt")).await,
        Cloud::answering(Act::Reset).await,
        Cloud::new(|_| answer(401, "", SECRET), |_| accepted()).await,
        Cloud::new(|_| Act::Close, |_| accepted()).await,
    ];
    let profiles: Vec<Value> = clouds.iter().map(Cloud::profile).collect();
    let printed = run_with(&profiles, Vec::new()).await;
    assert_eq!(
        printed.output.matches("came to Ok").count(),
        1,
        "{}",
        printed.output
    );
    assert_eq!(
        printed.output.matches("came to Err").count(),
        5,
        "{}",
        printed.output
    );
    assert!(
        printed.log.contains("TRACE") && printed.log.contains("notification 7: token: fetched"),
        "{}",
        printed.log
    );
    for text in [printed.output, printed.log] {
        for secret in ["s3cret", "t0ken", "subj3ct", "t3xt", "rcpt@", "sender@"] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
    }
}

#[tokio::test]
async fn proxies_are_not_used() {
    let proxy = Peer::plain(|_| answer(200, "", "")).await;
    let cloud = Cloud::answering(accepted()).await;
    let proxies = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]
        .map(|name| (name, proxy.url("http")));
    let printed = run_with(&[cloud.profile()], proxies.to_vec()).await;
    assert!(printed.output.contains("came to Ok"), "{}", printed.output);
    assert_eq!((proxy.connections(), cloud.mails().len()), (0, 1));
}

#[tokio::test]
async fn certificates_are_verified() {
    let authority = Authority::new();
    let root = authority.certificate().display().to_string();
    let script = |request: &crate::peer::Received| {
        if request.target.ends_with("/token") {
            grant("t0ken", &json!(3600))
        } else {
            accepted()
        }
    };
    let right = Peer::tls(&authority.issue("right", "IP:127.0.0.1"), script).await;
    let wrong = Peer::tls(&authority.issue("wrong", "DNS:login.example"), script).await;
    for (peer, trusted, expected) in [
        (&right, true, "came to Ok"),
        (&right, false, "evidence: Certificate"),
        (&wrong, true, "evidence: Certificate"),
    ] {
        let profile = json!({
            "tenant_id": "t", "client_id": "c", "client_secret": "_env:SECRET", "sender": "a@b.example",
            "authority_url": peer.url("https"), "graph_url": peer.url("https"),
        });
        let trust = trusted.then(|| ("SSL_CERT_FILE", root.clone()));
        let printed = run_with(&[profile], trust.into_iter().collect()).await;
        assert!(printed.output.contains(expected), "{}", printed.output);
    }
    assert_eq!((right.received().len(), wrong.received().len()), (2, 0));
}
