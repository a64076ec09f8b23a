//! What holds of every transport, whatever a profile and a message are.
//!
//! The time of these attempts is over before they begin: they read, validate and compose, and give up where they would reach out.

mod text;

use super::document::breaks_lines;
use super::secrets::Secrets;
use super::steps::Steps;
use super::{Failure, LONGEST_TIMEOUT, Notification, Transports};
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};
use serde_json::Value;
use shared::failure::{Evidence, Unsendable};
use std::cell::Cell;
use std::time::Instant;
use text::{MARK, Shape, document};
use tokio::runtime::{Builder, Runtime};

/// The variables of the tables of good calls; `LINE` is there for secrets that are no key.
const VARIABLES: [(&str, &str); 5] = [
    ("SECRET", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
    ("LINE", "abc"),
    ("HOST", "mail.example.org"),
    ("ADDRESS", "app@example.org"),
    ("URL", "https://hook.example.org/in"),
];

fn transports() -> Transports {
    Transports::new(Secrets::new(
        |_| true,
        |wanted| {
            let mut variables = VARIABLES.iter();
            let found = variables.find(|(name, _)| *name == wanted);
            found.map(|(_, value)| (*value).to_owned().into())
        },
    ))
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// One attempt that comes too late; it fails in any case.
fn attempt(
    runtime: &Runtime,
    transports: &Transports,
    transport: &str,
    profile: Value,
    message: Value,
) -> Failure {
    let notification = Notification {
        id: 7,
        transport: transport.to_owned(),
        profile,
        message,
    };
    let began = Instant::now().checked_sub(LONGEST_TIMEOUT).unwrap();
    let sending = async {
        transports
            .send(&notification, began, &Steps::new(7, None))
            .await
    };
    let attempted = runtime.block_on(sending);
    attempted.result.expect_err("there was no time to send it")
}

/// Which part of the notification kept it from being sent, if any did. How it is written says nothing of the addresses that a webhook may reach, and of the files that
/// this host has.
fn refused(failure: &Failure) -> Option<Unsendable> {
    const NO_FILE: &str = "profile key ca_file: it cannot be read";
    if failure.summary.starts_with(NO_FILE) {
        return None;
    }
    match failure.evidence {
        Evidence::Unsendable(reason) if reason != Unsendable::Address => Some(reason),
        _ => None,
    }
}

/// 4,000 cases of any JSON, as the text of which it comes: a verdict, without what is not to be told, and enough of them beyond validation.
fn any_json_gets_a_verdict(transport: &str, profile: &'static Shape, message: &'static Shape) {
    const CASES: u32 = 4000;
    let (runtime, transports, validated) = (runtime(), transports(), Cell::new(0));
    let check = |(profile, message): (String, String)| {
        let parsed: [Result<Value, _>; 2] =
            [profile, message].map(|text| serde_json::from_slice(text.as_bytes()));
        let [Ok(profile), Ok(message)] = parsed else {
            return Ok::<(), TestCaseError>(());
        };
        let failure = attempt(&runtime, &transports, transport, profile, message);
        let Failure {
            summary, detail, ..
        } = &failure;
        prop_assert!(!summary.is_empty() && !detail.is_empty(), "{failure:?}");
        prop_assert!(!summary.contains(breaks_lines), "{failure:?}");
        prop_assert!(!summary.contains(MARK), "{failure:?}");
        for told in [summary, detail] {
            prop_assert!(!told.contains("MfKQ9r8G"), "{failure:?}");
        }
        validated.set(validated.get() + u32::from(refused(&failure).is_none()));
        Ok(())
    };
    let mut runner = TestRunner::new(ProptestConfig {
        cases: CASES,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let profile = document(profile).prop_map(|text| text.replace(MARK, "x"));
    runner.run(&(profile, document(message)), check).unwrap();
    // Names that are still looked up are of no interest.
    runtime.shutdown_background();
    let validated = validated.get();
    assert!(
        validated > CASES / 20,
        "only {validated} of {CASES} were valid: the test sees too little"
    );
}

#[test]
fn any_json_as_a_mail_over_smtp_gets_a_verdict() {
    any_json_gets_a_verdict("smtp", &text::SMTP, &text::MAIL);
}

#[test]
fn any_json_as_a_mail_through_graph_gets_a_verdict() {
    any_json_gets_a_verdict("m365", &text::M365, &text::MAIL);
}

#[test]
fn any_json_as_a_webhook_gets_a_verdict() {
    any_json_gets_a_verdict("webhook", &text::WEBHOOK, &text::CALL);
}

/// A table of cases `transport | JSON`.
fn table(text: &str) -> Vec<(&str, Value)> {
    let lines = text.lines().filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let (transport, json) = line.split_once(" | ").expect(line);
            let value = serde_json::from_slice(json.as_bytes());
            (
                transport,
                value.unwrap_or_else(|error| panic!("{error}: {line}")),
            )
        })
        .collect()
}

/// The first of `cases` for `transport`.
fn first<'a>(transport: &str, cases: &'a [(&str, Value)]) -> &'a Value {
    let mut cases = cases.iter();
    let found = cases.find(|(other, _)| *other == transport);
    found.map(|(_, value)| value).expect(transport)
}

/// What the notifier's SQL takes must not fail at the attempt, which is when nobody waits for the answer any more.
#[test]
fn what_the_notifier_accepts_is_accepted() {
    let profiles = table(include_str!(
        "../../../tests/fleet/notifier_good_profiles.txt"
    ));
    let messages = table(include_str!(
        "../../../tests/fleet/notifier_good_messages.txt"
    ));
    let (runtime, transports) = (runtime(), transports());
    let attempt = |transport, profile: &Value, message: &Value| {
        attempt(
            &runtime,
            &transports,
            transport,
            profile.clone(),
            message.clone(),
        )
    };
    let mut wrong = Vec::new();
    for (transport, profile) in &profiles {
        let failure = attempt(transport, profile, first(transport, &messages));
        // A profile may be right and not for this message.
        if refused(&failure).is_some_and(|part| part != Unsendable::Message) {
            wrong.push(format!("{transport} | {profile}: {}", failure.detail));
        }
    }
    for (transport, message) in &messages {
        let failure = attempt(transport, first(transport, &profiles), message);
        if refused(&failure).is_some() {
            wrong.push(format!("{transport} | {message}: {}", failure.detail));
        }
    }
    runtime.shutdown_background();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
