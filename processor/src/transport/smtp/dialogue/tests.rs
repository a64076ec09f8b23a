//! Whatever a profile and a message hold: one transaction, for the given recipients, with the headers that we write, and a verdict.

mod documents;
mod server;

use super::Talk;
use crate::transport::document::{Fields, breaks_lines};
use crate::transport::mail::Mail;
use crate::transport::secrets::Secrets;
use crate::transport::smtp::compose::compose;
use crate::transport::smtp::plan::Plan;
use crate::transport::smtp::wire::Wire;
use crate::transport::steps::Steps;
use crate::transport::veil::Veil;
use crate::transport::{Failure, Sent};
use documents::{any_document, near_messages, near_profiles};
use proptest::prelude::*;
use serde_json::{Value, json};
use server::{Heard, take_all};
use std::time::Duration;
use tokio::io::duplex;
use tokio::time::Instant;

/// One attempt against a server that takes everything.
fn attempt(profile: &Value, message: &Value) -> (Result<Sent, Failure>, Heard) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let attempt = async {
        let secrets = Secrets::new(|_| true, |_| Some("p@ss wörd".to_owned().into()));
        let resolved = secrets.resolve(profile).unwrap();
        let (profile, message) = (
            Fields::of_profile(profile, &resolved)?,
            Fields::of_message(message)?,
        );
        let (plan, mail) = (Plan::read(&profile)?, Mail::read(&message)?);
        plan.limits.check(&mail)?;
        let letter = compose(1, &plan, &mail)?;
        let talk = Talk {
            plan: &plan,
            letter: &letter,
            helo_name: plan
                .helo_name
                .clone()
                .unwrap_or_else(|| "[127.0.0.1]".to_owned()),
            steps: &Steps::new(1, None),
        };
        let (ours, theirs) = duplex(65_536);
        let server = tokio::spawn(take_all(theirs));
        let mut wire = Wire::new(
            ours,
            Instant::now() + Duration::from_secs(20),
            Veil::default(),
        );
        let delivery = async {
            talk.greet(&mut wire).await?;
            talk.deliver(&mut wire).await
        };
        let sent = delivery.await.map_err(|stop| stop.failure);
        wire.quit().await;
        Ok((sent, server.await.unwrap()))
    };
    let attempted: Result<_, Failure> = runtime.block_on(attempt);
    match attempted {
        Ok(attempted) => attempted,
        Err(failure) => (Err(failure), Heard::default()),
    }
}

/// Names of headers that a mail of ours may have, besides those of the message.
const OURS: [&str; 15] = [
    "From",
    "Reply-To",
    "To",
    "Cc",
    "Subject",
    "Message-ID",
    "Importance",
    "X-Priority",
    "List-Unsubscribe",
    "List-Unsubscribe-Post",
    "MIME-Version",
    "Date",
    "Content-Type",
    "Content-Transfer-Encoding",
    "Content-Disposition",
];

/// What holds of every attempt.
fn check(profile: &Value, message: &Value) -> Result<bool, TestCaseError> {
    let (result, heard) = attempt(profile, message);
    let sent = match result {
        Ok(sent) => sent,
        Err(failure) => {
            prop_assert!(
                !failure.summary.is_empty() && !failure.summary.contains(breaks_lines),
                "{:?}",
                failure.summary
            );
            prop_assert!(
                heard.message.is_none(),
                "a message went out of an attempt that failed: {failure:?}"
            );
            return Ok(false);
        }
    };
    prop_assert_eq!(sent.provider_ref.as_deref(), Some("Ok: queued as 1"));
    let count = |verb: &str| {
        heard
            .commands
            .iter()
            .filter(|command| command.starts_with(verb))
            .count()
    };
    for verb in ["EHLO ", "MAIL FROM:<", "DATA\r\n", "QUIT\r\n"] {
        prop_assert_eq!(count(verb), 1, "{} in {:?}", verb, &heard.commands);
    }
    let mail = Mail::read(&Fields::of_message(message).unwrap()).unwrap();
    let mut given: Vec<String> = mail
        .recipients()
        .map(|to| format!("RCPT TO:<{to}>\r\n"))
        .collect();
    let mut named: Vec<String> = heard
        .commands
        .iter()
        .filter(|command| command.starts_with("RCPT"))
        .cloned()
        .collect();
    given.sort();
    given.dedup();
    named.sort();
    prop_assert_eq!(named, given);
    let logins = heard
        .commands
        .iter()
        .filter(|command| command.ends_with("=\r\n") || command.starts_with("AUTH"));
    for command in &heard.commands {
        let line = command.strip_suffix("\r\n");
        prop_assert!(
            line.is_some_and(|line| !line.contains(breaks_lines)),
            "{command:?}"
        );
    }
    prop_assert!(logins.count() <= 3);
    check_message(&mail, &heard.message.unwrap_or_default())?;
    Ok(true)
}

fn check_message(mail: &Mail, message: &str) -> Result<(), TestCaseError> {
    for line in message.split_inclusive('\n') {
        let text = line.strip_suffix("\r\n");
        prop_assert!(
            text.is_some_and(|text| text.len() <= 998 && !text.contains(['\r', '\0'])),
            "{line:?}"
        );
    }
    let (head, _) = message.split_once("\r\n\r\n").unwrap_or((message, ""));
    let mut names: Vec<String> = Vec::new();
    for line in head.split("\r\n").filter(|line| !line.starts_with(' ')) {
        let name = line.split(':').next().unwrap_or_default();
        let is_known = OURS.contains(&name) || mail.headers.iter().any(|(given, _)| given == name);
        prop_assert!(is_known, "header {name:?}");
        let name = name.to_ascii_lowercase();
        prop_assert!(!names.contains(&name), "header {name:?} twice");
        names.push(name);
    }
    for name in ["from", "date", "message-id", "mime-version"] {
        prop_assert!(names.iter().any(|other| other == name), "no {name}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn nothing_in_a_message_breaks_out_of_its_transaction(message in near_messages()) {
        check(&json!({"host": "mail.example.org", "from": "App <app@example.org>"}), &message)?;
    }

    #[test]
    fn nothing_in_a_profile_does(profile in near_profiles()) {
        check(&profile, &json!({"to": ["a@example.org", "b@example.org"], "subject": "s", "text": "t"}))?;
    }

    #[test]
    fn documents_of_any_shape_get_a_verdict(profile in any_document(), message in any_document()) {
        check(&profile, &message)?;
    }
}

/// The properties above would hold if every attempt was refused.
#[test]
fn the_properties_do_not_hold_for_refusals_alone() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let profile = json!({"host": "mail.example.org", "from": "App <app@example.org>"});
    let sent = (0..300).filter(|_| {
        let message = near_messages().new_tree(&mut runner).unwrap().current();
        check(&profile, &message).unwrap()
    });
    let sent = sent.count();
    assert!(sent > 20, "{sent} of 300 were sent");
}
