//! Servers that are silent at some point: one limit bounds the token and the mail together.

use crate::cloud::{Cloud, accepted, grant, send, with_secret};
use crate::peer::Act;
use futures_util::future::join_all;
use serde_json::json;
use shared::failure::{Evidence, Network};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(1);
const SLACK: Duration = Duration::from_secs(1);

async fn ends_with(cloud: &Cloud, network: Network) {
    let mut profile = cloud.profile();
    profile["timeout_seconds"] = json!(LIMIT.as_secs());
    let transports = with_secret();
    // Those who wait for the token of another end in time as well.
    for outcome in join_all((0..5).map(|_| send(&transports, &profile))).await {
        assert_eq!(
            outcome.failure().evidence,
            Evidence::Network(network),
            "{}",
            outcome.told()
        );
        assert!(
            outcome.took >= LIMIT && outcome.took < LIMIT + SLACK,
            "{:?}",
            outcome.took
        );
    }
}

#[tokio::test]
async fn a_silent_token_endpoint() {
    let cloud = Cloud::new(|_| Act::Silence, |_| accepted()).await;
    ends_with(&cloud, Network::Timeout).await;
    assert!(cloud.mails().is_empty());
}

#[tokio::test]
async fn a_silent_graph() {
    let cloud = Cloud::answering(Act::Silence).await;
    ends_with(&cloud, Network::UnknownOutcome).await;
}

#[tokio::test]
async fn a_graph_that_drips_its_headers() {
    let cloud = Cloud::answering(Act::SayAndDrip("HTTP/1.1 202 Accepted\r\nX: ".to_owned())).await;
    ends_with(&cloud, Network::UnknownOutcome).await;
}

#[tokio::test]
async fn an_accepted_mail_is_not_held_up_by_the_body() {
    let drip = "HTTP/1.1 202 Accepted\r\nContent-Length: 99\r\n\r\n".to_owned();
    let cloud = Cloud::answering(Act::SayAndDrip(drip)).await;
    let outcome = cloud.send().await;
    outcome.sent();
    assert!(outcome.took < Duration::from_secs(10), "{:?}", outcome.took);
}

#[tokio::test]
async fn a_refusal_whose_body_drips_is_told_by_its_status() {
    let drip = "HTTP/1.1 403 No\r\nContent-Length: 99\r\n\r\n".to_owned();
    let cloud = Cloud::new(
        |_| grant("t0ken", &json!(3600)),
        move |_| Act::SayAndDrip(drip.clone()),
    )
    .await;
    let mut profile = cloud.profile();
    profile["timeout_seconds"] = json!(LIMIT.as_secs());
    let outcome = send(&with_secret(), &profile).await;
    assert_eq!(outcome.failure().detail, "sendMail answered 403");
    assert!(outcome.took < LIMIT + SLACK, "{:?}", outcome.took);
}
