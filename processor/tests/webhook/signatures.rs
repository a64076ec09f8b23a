//! Signatures, verified by the reference library of Standard Webhooks.

use crate::peer::{Peer, Received, answer};
use crate::profile_with;
use crate::sending::{attempt, transports};
use serde_json::json;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

const OLD: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const NEW: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
const STRANGER: &str = "whsec_////////////////////////////////";

/// Reads headers and body from its input, as JSON, and says whether the library takes them.
const VERIFIER: &str = "
import json, sys
from standardwebhooks import Webhook, WebhookVerificationError
given = json.load(sys.stdin)
try:
    Webhook(sys.argv[1]).verify(given['body'].encode(), given['headers'])
    print('verified')
except WebhookVerificationError as error:
    print('refused:', error)
";

fn verdict(python: &Path, secret: &str, request: &Received) -> String {
    let headers: serde_json::Map<String, serde_json::Value> = request
        .headers
        .iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), json!(value)))
        .collect();
    let body = String::from_utf8_lossy(&request.body);
    let mut verifier = Command::new(python)
        .args(["-c", VERIFIER, secret])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("starting python");
    let given = json!({"headers": headers, "body": body}).to_string();
    let mut input = verifier.stdin.take().expect("its input");
    input.write_all(given.as_bytes()).expect("reading python");
    drop(input);
    let output = verifier.wait_with_output().expect("its output");
    assert!(output.status.success(), "the verifier failed");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[tokio::test]
async fn the_reference_library_verifies_them() {
    let python = match fleet_tests::python::environment("webhooks") {
        Ok(python) => python,
        Err(why) => fleet_tests::skip!("python", "{why}"),
    };
    let peer = Peer::plain(|_| answer(200, "", "")).await;
    let both = format!("{NEW} {OLD}");
    for secret in [OLD, NEW, &both] {
        let transports = transports(&[("KEY", secret)]);
        let profile = profile_with(&peer.url("http"), &json!({"signing_secret": "_env:KEY"}));
        let message = json!({"body": {"text": "ünï\r\n", "number": 1.5}, "webhook_id": "msg_1"});
        attempt(&transports, "webhook", &profile, &message)
            .await
            .sent();
        let request = peer.received().pop().unwrap();
        for key in secret.split(' ') {
            // The library of Python wants the padding.
            let key = format!("{key}{}", "=".repeat((4 - (key.len() - 6) % 4) % 4));
            assert_eq!(verdict(&python, &key, &request), "verified", "{request:?}");
        }
        assert_eq!(
            verdict(&python, STRANGER, &request),
            "refused: No matching signature found"
        );
        let mut changed = request;
        changed.body[5] ^= 1;
        assert_eq!(
            verdict(&python, OLD, &changed),
            "refused: No matching signature found"
        );
    }
}
