//! Whatever a profile and a message hold: no panic, a verdict, at most one mail, and in it nothing that Graph refuses for being empty.

use crate::cloud::{Cloud, accepted, with_secret};
use crate::documents::document;
use crate::sending::attempt;
use proptest::prelude::{ProptestConfig, prop_assert};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use std::cell::RefCell;

const PROFILE: &[&str] = &[
    "tenant_id",
    "client_id",
    "client_secret",
    "sender",
    "save_to_sent_items",
    "max_message_bytes",
    "allowed_recipient_domains",
    "other",
];
const MESSAGE: &[&str] = &[
    "to",
    "cc",
    "bcc",
    "reply_to",
    "subject",
    "text",
    "html",
    "attachments",
    "headers",
    "importance",
    "message_id",
    "list_unsubscribe",
];

#[test]
fn documents_are_sent_as_they_ask_or_refused() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let cloud = runtime.block_on(Cloud::answering(accepted()));
    let transports = with_secret();
    let mut runner = TestRunner::new(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let sent = RefCell::new(0);
    let strategy = (document(PROFILE), document(MESSAGE));
    let result = runner.run(&strategy, |(changes, mut message)| {
        message.entry("to").or_insert(json!("rcpt@example.org"));
        let mut profile = cloud.profile();
        profile.as_object_mut().unwrap().extend(changes);
        let before = cloud.mails().len();
        let outcome = runtime.block_on(attempt(&transports, "m365", &profile, &message.into()));
        let mails = cloud.mails().split_off(before);
        prop_assert!(mails.len() <= 1, "{} mails", mails.len());
        prop_assert!(mails.len() == 1 || outcome.result.is_err());
        for mail in mails {
            let body: Value = serde_json::from_slice(&mail.body).unwrap();
            let empty = body["message"]
                .as_object()
                .unwrap()
                .values()
                .find(|value| value.as_array().is_some_and(Vec::is_empty));
            prop_assert!(empty.is_none(), "{body}");
            *sent.borrow_mut() += 1;
        }
        Ok(())
    });
    result.unwrap();
    let sent = sent.into_inner();
    assert!(
        sent > 10,
        "only {sent} documents were sent: the test sees too little"
    );
}
