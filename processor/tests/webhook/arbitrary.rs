//! Whatever a profile and a message hold: no panic, a verdict, at most one request, and no header that nobody asked for.

use crate::documents::{document, json_value};
use crate::peer::{Peer, answer};
use crate::sending::{attempt, transports};
use proptest::prelude::{ProptestConfig, prop_assert};
use proptest::test_runner::TestRunner;
use serde_json::json;

const PROFILE: &[&str] = &[
    "url",
    "method",
    "headers",
    "signing_secret",
    "max_message_bytes",
    "allow_private_network",
    "backoff_seconds",
    "other",
];
const MESSAGE: &[&str] = &["body", "headers", "webhook_id", "other"];

/// Headers of ours, and the names from the documents that a document may set.
const EXPECTED: [&str; 16] = [
    "accept",
    "content-length",
    "content-type",
    "host",
    "user-agent",
    "webhook-id",
    "webhook-signature",
    "webhook-timestamp",
    "x-test",
    "whsec_",
    "100-continue",
    "post",
    "put",
    "patch",
    "get",
    "~",
];

#[test]
fn documents_are_sent_as_they_ask_or_refused() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let peer = runtime.block_on(Peer::plain(|_| answer(200, "", "")));
    let transports = transports(&[("KEY", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")]);
    let strategy = (document(PROFILE), document(MESSAGE), json_value());
    let mut runner = TestRunner::new(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let result = runner.run(&strategy, |(changes, mut message, body)| {
        let mut profile = crate::profile(&peer.url("http"));
        profile["timeout_seconds"] = json!(5);
        profile.as_object_mut().unwrap().extend(changes);
        message.entry("body").or_insert(body);
        let before = peer.connections();
        let outcome = runtime.block_on(attempt(&transports, "webhook", &profile, &message.into()));
        let requests = peer.connections() - before;
        prop_assert!(requests <= 1, "{requests} requests");
        prop_assert!(requests == 1 || outcome.result.is_err());
        Ok(())
    });
    result.unwrap();
    let received = peer.received();
    for request in &received {
        for (name, _) in &request.headers {
            let name = name.to_ascii_lowercase();
            assert!(EXPECTED.contains(&name.as_str()), "{request:?}");
        }
        request.header("webhook-id").expect("an id");
    }
    let sent = received.len();
    assert!(
        sent > 20,
        "only {sent} documents were sent: the test sees too little"
    );
}
