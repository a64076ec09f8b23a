use super::{compose, compose_aside, is_sendable, stuffed};
use crate::transport::document::Fields;
use crate::transport::mail::Mail;
use crate::transport::secrets::Resolved;
use crate::transport::smtp::plan::Plan;
use fleet_tests::mail::reading::{self, Reading};
use futures_util::FutureExt;
use serde_json::{Value, json};

fn message(id: i64, profile: &Value, message: &Value) -> String {
    let secrets = Resolved::default();
    let plan = Plan::read(&Fields::of_profile(profile, &secrets).unwrap()).unwrap();
    let mail = Mail::read(&Fields::of_message(message).unwrap()).unwrap();
    let letter = compose(id, &plan, &mail).unwrap();
    letter.message
}

fn of(text: &Value) -> String {
    message(
        7,
        &json!({"host": "h", "from": "App <app@example.org>"}),
        text,
    )
}

fn read(text: &Value) -> Reading {
    reading::read(of(text).as_bytes())
}

/// The one line that begins with `name`.
fn header<'a>(message: &'a str, name: &str) -> &'a str {
    let (head, _) = message.split_once("\r\n\r\n").unwrap();
    let mut values = head
        .split("\r\n")
        .filter_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    let value = values
        .next()
        .unwrap_or_else(|| panic!("no {name} in {head}"));
    assert_eq!(values.next(), None, "{name} in {head}");
    value
}

#[test]
fn two_parsers_read_back_what_was_written() {
    let subjects = [
        "5 août",
        "日本語の件名",
        "👩‍👩‍👧‍👦 family",
        "שלום עולם",
        "e\u{301}te\u{301}",
        "=?utf-8?Q?spoof?=",
        "plain",
        &"x".repeat(950),
        &"ü".repeat(200),
    ];
    for subject in subjects {
        let reading = read(&json!({
            "to": ["Žluťoučký, kůň <z@example.org>", "\"O'Neil, \\\"Bob\\\"\" <o@example.org>", "a@b <ab@example.org>", "=?x?= <e@bücher.example>"],
            "cc": "c@example.org", "bcc": "secret@example.net", "reply_to": "Re <r@example.org>",
            "subject": subject, "text": "Grüße\n.\n..x\n", "html": "<p>ü</p>",
            "message_id": "<fixed@example.org>",
            "attachments": [
                {"filename": "bericht, \"ü\".pdf", "content_type": "application/pdf", "content_base64": "AAECAw0KLg0K"},
                {"filename": "pic.png", "content_type": "image/png", "content_base64": "iVBORw==", "content_id": "pic@app"},
            ],
        }));
        assert_eq!(reading.subject.as_deref(), Some(subject));
        assert_eq!(reading.message_id.as_deref(), Some("fixed@example.org"));
        assert_eq!(
            reading.from,
            [("App".to_owned(), "app@example.org".to_owned())]
        );
        let names: Vec<&str> = reading.to.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["Žluťoučký, kůň", "O'Neil, \"Bob\"", "a@b", "=?x?="]);
        assert_eq!(reading.to[3].1, "e@xn--bcher-kva.example");
        assert_eq!(
            reading.text.as_deref().map(str::trim_end),
            Some("Grüße\n.\n..x")
        );
        assert_eq!(reading.html.as_deref().map(str::trim_end), Some("<p>ü</p>"));
        let mut files: Vec<_> = reading
            .attachments
            .iter()
            .map(|file| {
                (
                    file.filename.as_deref(),
                    file.content.as_slice(),
                    file.inline,
                )
            })
            .collect();
        files.sort_unstable();
        assert_eq!(
            files,
            [
                (
                    Some("bericht, \"ü\".pdf"),
                    &[0, 1, 2, 3, b'\r', b'\n', b'.', b'\r', b'\n'][..],
                    false
                ),
                (Some("pic.png"), b"\x89PNG", true),
            ]
        );
    }
}

#[test]
fn nobody_sees_who_else_was_told_in_secret() {
    for keys in [
        json!({"to": "a@example.org", "bcc": ["s@example.net"]}),
        json!({"bcc": "s@example.net"}),
    ] {
        let message = of(&keys).to_lowercase();
        assert!(
            !message.contains("bcc") && !message.contains("s@example.net"),
            "{message}"
        );
    }
}

#[test]
fn what_every_mail_needs_is_there_once() {
    let message = of(&json!({"to": "a@example.org"}));
    for name in [
        "From",
        "To",
        "Date",
        "Message-ID",
        "MIME-Version",
        "Content-Type",
        "Content-Transfer-Encoding",
    ] {
        assert!(!header(&message, name).is_empty());
    }
    assert!(!message.contains("Subject:"), "{message}");
}

#[test]
fn the_message_id_is_the_same_on_every_attempt_and_another_for_other_notifications() {
    let profile = json!({"host": "h", "from": "app@Example.org"});
    let mail = json!({"to": "a@example.org", "text": "x"});
    let id = |id, mail: &Value| header(&message(id, &profile, mail), "Message-ID").to_owned();
    let first = id(7, &mail);
    assert!(
        first.starts_with("<7.") && first.ends_with("@example.org>"),
        "{first}"
    );
    assert_eq!(first, id(7, &mail));
    assert_ne!(first, id(8, &mail));
    assert_ne!(
        first,
        id(7, &json!({"to": "a@example.org", "text": "y"})),
        "the same id in another database"
    );
    for from in [
        "root@localhost",
        "root@db.localhost",
        "root@localhost.localdomain",
    ] {
        let profile = json!({"host": "h", "from": from});
        let id = header(&message(7, &profile, &mail), "Message-ID").to_owned();
        assert!(id.ends_with("@pg-relay.invalid>"), "{id}");
    }
}

#[test]
fn keys_become_headers() {
    let message = of(&json!({
        "to": "a@example.org",
        "importance": "high",
        "list_unsubscribe": ["mailto:u@example.org", "https://example.org/u"],
        "headers": {"X-App": "5 août", "References": "<1@x> <2@x>"},
    }));
    assert_eq!(header(&message, "Importance"), "high");
    assert_eq!(header(&message, "X-Priority"), "1");
    assert!(
        message
            .contains("List-Unsubscribe: <mailto:u@example.org>,\r\n <https://example.org/u>\r\n")
    );
    assert_eq!(
        header(&message, "List-Unsubscribe-Post"),
        "List-Unsubscribe=One-Click"
    );
    assert_eq!(header(&message, "X-App"), "=?utf-8?B?NSBhb8O7dA==?=");
    assert_eq!(header(&message, "References"), "<1@x> <2@x>");
    let by_mail = of(&json!({"to": "a@example.org", "list_unsubscribe": "mailto:u@example.org"}));
    assert!(!by_mail.contains("List-Unsubscribe-Post"));
}

#[test]
fn recipients_are_in_the_envelope_once() {
    let secrets = Resolved::default();
    let profile = json!({"host": "h", "from": "app@example.org", "envelope_from": ""});
    let mail = json!({"to": ["a@example.org", "A <a@EXAMPLE.org>"], "cc": "b@example.org", "bcc": ["a@example.org", "B@example.org"]});
    let plan = Plan::read(&Fields::of_profile(&profile, &secrets).unwrap()).unwrap();
    let mail = Mail::read(&Fields::of_message(&mail).unwrap()).unwrap();
    let letter = compose(1, &plan, &mail).unwrap();
    assert_eq!(
        letter.recipients,
        ["a@example.org", "b@example.org", "B@example.org"]
    );
    assert_eq!(letter.sender, "");
    assert!(!letter.needs_utf8);
}

#[test]
fn only_a_local_part_of_another_script_needs_smtputf8() {
    let secrets = Resolved::default();
    for (to, from, expected) in [
        ("Ü <a@bücher.example>", "ü <a@例子.测试>", false),
        ("ü@example.org", "a@example.org", true),
        ("a@example.org", "用户@example.org", true),
    ] {
        for key in ["to", "bcc"] {
            let profile = json!({"host": "h", "from": from});
            let mail = json!({key: to, "subject": "ü", "text": "ü"});
            let plan = Plan::read(&Fields::of_profile(&profile, &secrets).unwrap()).unwrap();
            let mail = Mail::read(&Fields::of_message(&mail).unwrap()).unwrap();
            assert_eq!(
                compose(1, &plan, &mail).unwrap().needs_utf8,
                expected,
                "{key} {to} {from}"
            );
        }
    }
}

#[test]
fn the_last_look_finds_what_must_not_go_out() {
    assert!(is_sendable("a\r\n\r\nb\r\n"));
    assert!(is_sendable(&format!("{}\r\n", "x".repeat(998))));
    let long = format!("{}\r\n", "x".repeat(999));
    for message in [
        "", "a", "a\n", "a\r", "a\nb\r\n", "a\rb\r\n", "a\r\r\n", "a\0\r\n", &long,
    ] {
        assert!(!is_sendable(message), "{message:?}");
    }
}

#[test]
fn dots_are_stuffed_and_the_last_one_ends_it() {
    for (message, expected) in [
        ("a\r\n", "a\r\n.\r\n"),
        (".\r\n", "..\r\n.\r\n"),
        ("a\r\n.\r\n..b\r\nc.\r\n", "a\r\n..\r\n...b\r\nc.\r\n.\r\n"),
        ("\r\n", "\r\n.\r\n"),
    ] {
        assert_eq!(stuffed(message), expected, "{message:?}");
    }
}

#[tokio::test]
async fn only_a_large_message_is_composed_elsewhere() {
    let (profile, secrets) = (
        json!({"host": "h", "from": "app@example.org"}),
        Resolved::default(),
    );
    for (length, at_once) in [(1 << 20, true), ((1 << 20) + 1, false)] {
        let text = json!({"to": "a@example.org", "text": "x\n".repeat(length / 2) + &"x".repeat(length % 2)});
        let plan = Plan::read(&Fields::of_profile(&profile, &secrets).unwrap()).unwrap();
        let mail = Mail::read(&Fields::of_message(&text).unwrap()).unwrap();
        let mut composing = Box::pin(compose_aside(1, plan, mail));
        let first = (&mut composing).now_or_never();
        assert_eq!(first.is_some(), at_once, "{length}");
        let composed = match first {
            Some(composed) => composed,
            None => composing.await,
        };
        let (_, letter) = composed.unwrap();
        assert!(letter.stuffed.len() > length && letter.stuffed.ends_with("\r\n.\r\n"));
    }
}
