//! STARTTLS and TLS from the first byte, to a server whose certificate is right, and with logins from the environment. What cannot be protected is not sent.

use fleet_tests::mail::authority::Authority;
use fleet_tests::mail::postfix::{Port, Postfix};
use fleet_tests::processor::Processor;
use fleet_tests::skip;
use serde_json::{Value, json};

use crate::mail_steps::{database, finished, plain, profile, send, to};

/// Hostile to URLs, to base64 made of UTF-16, to shells, and to trimming.
const PASSWORD: &str = " p@:/%+ü \"w' ";

/// A profile with its name, and a word of the reason why it fails; `None`: it works.
type Case = (&'static str, Value, Option<&'static str>);

/// Whoever is let in, and whoever is kept out.
fn cases(postfix: &Postfix, ours: &Authority, stranger: &Authority) -> Vec<Case> {
    let path = |authority: &Authority| authority.certificate().display().to_string();
    let anonymous = |port: Port, security: &str, more: Value| {
        let mut settings =
            json!({"host": "localhost", "security": security, "ca_file": path(ours)});
        merge(&mut settings, more);
        plain(postfix.port(port), settings)
    };
    let login = |port: Port, security: &str, more: Value| {
        let mut settings =
            json!({"username": "mailer@test.example", "password": "_env:MAIL_PASSWORD"});
        merge(&mut settings, more);
        anonymous(port, security, settings)
    };
    let (none, wrong) = (json!({}), json!({"password": "_env:MAIL_WRONG"}));
    let untrusted = json!({"ca_file": path(stranger)});
    #[rustfmt::skip]
    let cases = vec![
        ("starttls", login(Port::Starttls, "starttls", none.clone()), None),
        ("tls", login(Port::Tls, "tls", none.clone()), None),
        ("login", login(Port::Tls, "tls", json!({"auth": "login"})), None),
        ("address", login(Port::Tls, "tls", json!({"host": "127.0.0.1"})), None),
        ("wrong-password", login(Port::Starttls, "starttls", wrong), Some("535")),
        ("no-login", anonymous(Port::Starttls, "starttls", none.clone()), Some("554")),
        ("wrong-name", anonymous(Port::WrongName, "starttls", none.clone()), Some("certificate")),
        ("untrusted", login(Port::Starttls, "starttls", untrusted.clone()), Some("certificate")),
        ("untrusted-tls", login(Port::Tls, "tls", untrusted), Some("certificate")),
        ("no-starttls", anonymous(Port::Plain, "starttls", none.clone()), Some("STARTTLS")),
        ("no-auth", login(Port::WrongName, "none", none.clone()), Some("AUTH")),
        ("tls-required", anonymous(Port::Starttls, "none", none), Some("530")),
    ];
    cases
}

fn merge(settings: &mut Value, more: Value) {
    let (Value::Object(settings), Value::Object(more)) = (settings, more) else {
        panic!("settings are objects");
    };
    settings.extend(more);
}

#[tokio::test]
async fn certificates_are_verified_and_logins_taken_from_the_environment() {
    let postfix = match Postfix::start().await {
        Ok(postfix) => postfix,
        Err(why) => skip!("mail", "{why}"),
    };
    postfix.add_login("mailer", PASSWORD);
    let stranger = Authority::new();
    let db = database().await;
    let mut sent = Vec::new();
    for (name, settings, reason) in cases(&postfix, postfix.authority(), &stranger) {
        profile(&db, name, &settings).await;
        let recipient = format!("{name}@test.example");
        let id = send(&db, name, &to(&recipient)).await;
        sent.push((recipient, id, reason));
    }
    let processor = Processor::with(&db, |config| {
        let config = config.set("LOG_LEVEL", "trace");
        config
            .env("MAIL_PASSWORD", PASSWORD)
            .env("MAIL_WRONG", "guess")
    })
    .await;
    for (recipient, id, reason) in &sent {
        let seen = finished(&db, *id).await;
        let Some(reason) = reason else {
            assert_eq!(seen.status, "sent", "{recipient}: {seen:?}");
            let trace = postfix.wait_for(recipient, 1).await.remove(0).trace;
            for word in [
                "using TLSv1.",
                "(Authenticated sender: mailer@test.example)",
            ] {
                assert!(trace.contains(word), "{recipient}: {trace}");
            }
            continue;
        };
        let result = (seen.status.as_str(), seen.attempts);
        assert_eq!(result, ("failed", 1), "{recipient}: {seen:?}");
        let said = seen.last_error.unwrap_or_default();
        assert!(said.contains(reason), "{recipient}: {said}");
    }
    let good = sent
        .iter()
        .filter(|(_, _, reason)| reason.is_none())
        .count();
    assert_eq!(postfix.received().len(), good, "what failed was not sent");
    let log = processor.logs();
    assert!(
        log.contains("TRACE") && !log.contains("p@:/%+"),
        "the password is in the log"
    );
}
