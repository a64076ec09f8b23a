//! Tokens are shared: by those who ask at once, and by those who ask later.

use crate::cloud::{Cloud, SECRET, accepted, grant, send, with_secret};
use crate::peer::{Act, answer};
use crate::sending::{Outcome, transports};
use futures_util::future::join_all;
use pg_relay_processor::transport::Transports;
use serde_json::{Value, json};
use shared::failure::Evidence;
use std::sync::atomic::{AtomicUsize, Ordering};

async fn a_hundred(cloud: &Cloud, transports: &Transports) -> Vec<Outcome> {
    let profile = cloud.profile();
    join_all((0..100).map(|_| send(transports, &profile))).await
}

/// A token endpoint whose tokens are numbered from 1.
fn numbered(expires_in: Value) -> impl Fn(&crate::peer::Received) -> Act + Send + Sync + 'static {
    let number = AtomicUsize::new(1);
    move |_| {
        let number = number.fetch_add(1, Ordering::SeqCst);
        grant(&format!("token-{number}"), &expires_in)
    }
}

#[tokio::test]
async fn a_hundred_mails_at_once_need_one_token() {
    let cloud = Cloud::new(numbered(json!(3600)), |_| accepted()).await;
    for outcome in a_hundred(&cloud, &with_secret()).await {
        outcome.sent();
    }
    assert_eq!(
        (cloud.token_requests().len(), cloud.mails().len()),
        (1, 100)
    );
}

#[tokio::test]
async fn a_hundred_refusals_of_one_token_lead_to_one_new_token() {
    let cloud = Cloud::new(numbered(json!(3600)), |request| {
        if request.header("authorization") == Some("Bearer token-1") {
            answer(
                401,
                "",
                r#"{"error": {"code": "InvalidAuthenticationToken"}}"#,
            )
        } else {
            accepted()
        }
    })
    .await;
    let transports = with_secret();
    for outcome in a_hundred(&cloud, &transports).await {
        outcome.sent();
    }
    assert_eq!(cloud.token_requests().len(), 2);
    send(&transports, &cloud.profile()).await.sent();
    assert_eq!(cloud.token_requests().len(), 2);
}

#[tokio::test]
async fn a_hundred_share_the_failure_of_a_request_and_later_ones_ask_again() {
    let refused = || answer(503, "Retry-After: 9\r\n", "");
    let cloud = Cloud::new(move |_| refused(), |_| accepted()).await;
    let transports = with_secret();
    for outcome in a_hundred(&cloud, &transports).await {
        let failure = outcome.failure();
        assert!(
            matches!(failure.evidence, Evidence::Token { status: 503, .. }),
            "{failure:?}"
        );
        assert_eq!(failure.retry_after.unwrap().as_secs(), 9);
    }
    assert_eq!(cloud.token_requests().len(), 1);
    send(&transports, &cloud.profile()).await.failure();
    assert_eq!((cloud.token_requests().len(), cloud.mails().len()), (2, 0));
}

#[tokio::test]
async fn a_token_is_used_again_while_it_lives() {
    for (expires_in, requests) in [
        (json!(3600), 1),
        (json!("3600"), 1),
        (json!(61), 1),
        (json!(30), 1),
        (Value::Null, 1),
        (json!(0), 3),
        (json!(-1), 3),
    ] {
        let cloud = Cloud::new(numbered(expires_in.clone()), |_| accepted()).await;
        let transports = with_secret();
        for _ in 0..3 {
            send(&transports, &cloud.profile()).await.sent();
        }
        assert_eq!(cloud.token_requests().len(), requests, "{expires_in}");
    }
}

#[tokio::test]
async fn another_secret_or_server_is_another_token() {
    let cloud = Cloud::new(numbered(json!(3600)), |_| accepted()).await;
    let transports = transports(&[("SECRET", SECRET), ("OTHER", "another")]);
    let mut requests = 0;
    for (key, value) in [
        ("sender", json!("somebody.else@contoso.example")),
        ("client_secret", json!("_env:OTHER")),
        ("client_id", json!("4-5-6")),
        ("tenant_id", json!("fabrikam.example")),
        ("authority_url", json!(cloud.url())),
        (
            "graph_url",
            json!(cloud.url().replace("127.0.0.1", "localhost")),
        ),
    ] {
        let mut profile = cloud.profile();
        profile[key] = value;
        for _ in 0..2 {
            send(&transports, &profile).await.sent();
        }
        requests += 1;
        assert_eq!(cloud.token_requests().len(), requests, "{key}");
    }
}
