//! Which addresses are reached, whatever a name server says.

use crate::peer::{Peer, answer};
use crate::sending::{attempt, transports};
use crate::unanswered::Unanswered;
use pg_relay_processor::transport::document::Fields;
use pg_relay_processor::transport::secrets::Resolved;
use pg_relay_processor::transport::steps::Steps;
use pg_relay_processor::transport::webhook::{Resolver, send_resolving};
use pg_relay_processor::transport::{Failure, Sent};
use serde_json::json;
use shared::failure::{Evidence, Network, Unsendable};
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Answers the first question with the first list, and every later one with the last.
struct Scripted {
    answers: Vec<Vec<IpAddr>>,
    asked: AtomicUsize,
}

impl Scripted {
    fn new(answers: &[&[&str]]) -> Self {
        let parse = |list: &&[&str]| {
            list.iter()
                .map(|text| text.parse().expect("an address"))
                .collect()
        };
        Self {
            answers: answers.iter().map(parse).collect(),
            asked: AtomicUsize::new(0),
        }
    }
}

impl Resolver for Scripted {
    async fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        let number = self.asked.fetch_add(1, Ordering::SeqCst);
        Ok(self.answers[number.min(self.answers.len() - 1)].clone())
    }
}

async fn send(resolver: &impl Resolver, url: &str, allow: bool) -> Result<Sent, Failure> {
    let profile = json!({"url": url, "allow_private_network": allow});
    let (message, secrets) = (json!({"body": 1}), Resolved::default());
    let profile = Fields::of_profile(&profile, &secrets).expect("a profile");
    let message = Fields::of_message(&message).expect("a message");
    let deadline = Instant::now() + Duration::from_secs(2);
    send_resolving(
        resolver,
        7,
        &profile,
        &message,
        deadline,
        &Steps::new(7, None),
    )
    .await
}

fn is_refused(result: &Result<Sent, Failure>) -> bool {
    result
        .as_ref()
        .is_err_and(|failure| failure.evidence == Evidence::Unsendable(Unsendable::Address))
}

#[tokio::test]
async fn a_name_is_resolved_once_and_the_checked_address_is_connected_to() {
    let peer = Peer::plain(|_| answer(200, "", "")).await;
    // The second answer would be another host, which a second look-up would reach.
    let resolver = Scripted::new(&[&["127.0.0.1"], &["127.0.0.2"]]);
    let url = format!("http://hook.example:{}/", peer.address().port());
    send(&resolver, &url, true).await.unwrap();
    assert_eq!(resolver.asked.load(Ordering::SeqCst), 1);
    let host = format!("hook.example:{}", peer.address().port());
    assert_eq!(peer.received()[0].header("host"), Some(host.as_str()));
}

#[tokio::test]
async fn an_address_that_does_not_answer_leaves_time_for_the_next() {
    let peer = Peer::plain(|_| answer(200, "", "")).await;
    let port = peer.address().port();
    let (_unanswered, _) = Unanswered::at(([127, 0, 0, 2], port).into()).await;
    let resolver = Scripted::new(&[&["127.0.0.2", "127.0.0.1"]]);
    let url = format!("http://hook.example:{port}/");
    send(&resolver, &url, true).await.unwrap();
    assert_eq!(peer.received().len(), 1);
}

#[tokio::test]
async fn one_forbidden_address_refuses_the_host() {
    for answers in [
        &["10.0.0.1"][..],
        &["1.1.1.1", "127.0.0.1"],
        &["2606:4700::1111", "::ffff:192.168.0.1"],
    ] {
        let result = send(
            &Scripted::new(&[answers]),
            "https://hook.example./s3cret",
            false,
        )
        .await;
        assert!(is_refused(&result), "{answers:?}: {result:?}");
        let failure = result.unwrap_err();
        assert!(
            failure.summary.contains("https://hook.example. is"),
            "{failure:?}"
        );
        let forbidden = answers.last().unwrap();
        assert!(failure.detail.contains(forbidden), "{failure:?}");
        assert!(!failure.summary.contains(forbidden), "{failure:?}");
        assert!(!format!("{failure:?}").contains("s3cret"), "{failure:?}");
    }
}

#[tokio::test]
async fn the_private_network_is_without_metadata_services() {
    for address in [
        "169.254.169.254",
        "fd00:ec2::254",
        "100.100.100.200",
        "0.0.0.0",
        "::ffff:169.254.169.254",
    ] {
        let resolver = Scripted::new(&[&["127.0.0.1", address]]);
        let result = send(&resolver, "http://hook.example/", true).await;
        assert!(is_refused(&result), "{address}: {result:?}");
    }
}

#[tokio::test]
async fn a_name_without_addresses_is_a_failure_of_dns() {
    let failure = send(&Scripted::new(&[&[]]), "https://hook.example/", false)
        .await
        .unwrap_err();
    assert_eq!(failure.evidence, Evidence::Network(Network::Dns));
}

#[tokio::test]
async fn addresses_in_urls_are_checked_in_every_notation() {
    let peer = Peer::plain(|_| answer(200, "", "")).await;
    let port = peer.address().port();
    let transports = transports(&[]);
    for host in [
        "127.0.0.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.1",
        "127.0.0.1.",
        "[::ffff:127.0.0.1]",
        "[::1]",
        "[::]",
        "0",
        "localhost",
        "LOCALHOST",
        "169.254.169.254",
        "[fd00:ec2::254]",
        "[64:ff9b::7f00:1]",
        "１２７.0.0.1",
    ] {
        let profile = json!({"url": format!("https://{host}:{port}/"), "timeout_seconds": 5});
        let outcome = attempt(&transports, "webhook", &profile, &json!({"body": 1})).await;
        assert!(is_refused(&outcome.result), "{host}: {}", outcome.told());
    }
    assert_eq!(peer.connections(), 0);
}

#[tokio::test]
async fn of_a_url_from_a_variable_not_even_the_address_is_told() {
    let transports = transports(&[("HOOK", "https://10.11.12.13/s3cret")]);
    let profile = json!({"url": "_env:HOOK"});
    let outcome = attempt(&transports, "webhook", &profile, &json!({"body": 1})).await;
    assert!(is_refused(&outcome.result), "{}", outcome.told());
    let told = outcome.told();
    assert!(told.contains("_env:HOOK"), "{told}");
    assert!(
        !told.contains("s3cret") && !told.contains("10.11"),
        "{told}"
    );
}
