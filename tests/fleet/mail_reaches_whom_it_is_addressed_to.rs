//! Every recipient gets the message once, whoever is named in it; those of Bcc are named nowhere. Display names come through, domains are in ASCII.

use fleet_tests::mail::postfix::{Port, Postfix};
use fleet_tests::mail::reading;
use fleet_tests::processor::Processor;
use fleet_tests::skip;
use serde_json::{Value, json};

use crate::mail_steps::{database, finished, plain, profile, send};

/// Display names, as they are written in front of an address.
const NAMES: [(&str, &str); 6] = [
    (r#""Žluťoučký, kůň""#, "Žluťoučký, kůň"),
    (r#""O'Neil, \"Bob\"""#, r#"O'Neil, "Bob""#),
    (r#""a@b""#, "a@b"),
    (r#""=?x?=""#, "=?x?="),
    ("Plain Name", "Plain Name"),
    (r#""日本 太郎""#, "日本 太郎"),
];

#[tokio::test]
async fn copies_blind_copies_and_names() {
    let postfix = match Postfix::start().await {
        Ok(postfix) => postfix,
        Err(why) => skip!("mail", "{why}"),
    };
    let db = database().await;
    let settings = json!({"from": "\"Müller, Jörg\" <app@test.example>", "envelope_from": "bounces@test.example"});
    profile(&db, "mail", &plain(postfix.port(Port::Plain), settings)).await;
    let _processor = Processor::start(&db).await;

    let to: Vec<Value> = NAMES
        .iter()
        .enumerate()
        .map(|(place, (written, _))| json!(format!("{written} <to{place}@test.example>")))
        .collect();
    let message = json!({
        "to": to,
        "cc": ["Kopie <cc@test.example>", "user@bücher.example", "user@例え.example"],
        "bcc": ["Blind <blind@test.example>", "hidden@test.example"],
        "reply_to": "Antwort <answers@test.example>",
        "subject": "Hello",
        "text": "Hello.\n",
    });
    let id = send(&db, "mail", &message).await;
    let seen = finished(&db, id).await;
    assert_eq!(seen.status, "sent", "{seen:?}");

    let others = [
        "cc@test.example",
        "user@xn--bcher-kva.example",
        "user@xn--r8jz45g.example",
        "blind@test.example",
        "hidden@test.example",
    ];
    let numbered = (0..NAMES.len()).map(|place| format!("to{place}@test.example"));
    let mut copies = Vec::new();
    for recipient in numbered.chain(others.map(str::to_owned)) {
        copies.push(postfix.wait_for(&recipient, 1).await.remove(0));
    }
    assert_eq!(postfix.received().len(), copies.len(), "nobody else");
    assert!(
        copies
            .iter()
            .all(|copy| copy.message == copies[0].message && copy.sender == "bounces@test.example")
    );
    let text = copies[0].text();
    for absent in ["Bcc", "blind", "Blind", "hidden"] {
        assert!(!text.contains(absent), "{absent} in\n{text}");
    }

    let reading = reading::read(&copies[0].message);
    let mailbox = |name: &str, address: &str| (name.to_owned(), address.to_owned());
    let expected: Vec<_> = NAMES
        .iter()
        .enumerate()
        .map(|(place, (_, name))| mailbox(name, &format!("to{place}@test.example")))
        .collect();
    assert_eq!(reading.to, expected, "{text}");
    let expected = [
        mailbox("Kopie", "cc@test.example"),
        mailbox("", "user@xn--bcher-kva.example"),
        mailbox("", "user@xn--r8jz45g.example"),
    ];
    assert_eq!(reading.cc, expected);
    assert_eq!(reading.from, [mailbox("Müller, Jörg", "app@test.example")]);
    assert_eq!(
        reading.reply_to,
        [mailbox("Antwort", "answers@test.example")]
    );
}

#[tokio::test]
async fn blind_copies_alone_and_addresses_beyond_ascii() {
    let postfix = match Postfix::start().await {
        Ok(postfix) => postfix,
        Err(why) => skip!("mail", "{why}"),
    };
    let db = database().await;
    profile(&db, "mail", &plain(postfix.port(Port::Plain), json!({}))).await;
    let _processor = Processor::start(&db).await;
    let blind = send(
        &db,
        "mail",
        &json!({"bcc": "only@test.example", "subject": "blind", "text": "x"}),
    )
    .await;
    let local = send(
        &db,
        "mail",
        &json!({"to": "Jörg <jörg@bücher.example>", "subject": "local", "text": "x"}),
    )
    .await;
    for id in [blind, local] {
        let seen = finished(&db, id).await;
        assert_eq!(seen.status, "sent", "{seen:?}");
    }
    let received = postfix.wait_for("only@test.example", 1).await.remove(0);
    assert!(!received.text().contains("only@"), "{}", received.text());
    let _ = reading::read(&received.message);
    // Only SMTPUTF8 carries such a local part; the server offers it, and keeps the domain as it came or not.
    let received = postfix.received();
    let received = received
        .iter()
        .find(|one| one.recipient.starts_with("jörg@"));
    let received = received.unwrap_or_else(|| panic!("no mail for jörg: {}", postfix.log()));
    assert!(received.text().contains("jörg@"), "{}", received.text());
}
