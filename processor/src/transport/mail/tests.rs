use super::{Importance, Mail};
use crate::transport::document::Fields;
use serde_json::{Value, json};

pub(super) fn read(message: &Value) -> Result<Mail, String> {
    let fields = Fields::of_message(message).map_err(|malformed| malformed.detail())?;
    Mail::read(&fields).map_err(|malformed| malformed.detail())
}

/// What is wrong with a mail to one recipient that has `value` under `key` besides.
pub(super) fn problem(key: &str, value: Value) -> String {
    let mut message = json!({"to": "a@example.org"});
    message[key] = value;
    match read(&message) {
        Ok(_) => panic!("accepted: {message}"),
        Err(problem) => problem,
    }
}

#[test]
fn a_mail_is_read_whole() {
    let mail = read(&json!({
        "to": "a@example.org",
        "cc": ["B <b@example.org>", "c@EXAMPLE.org"],
        "bcc": ["d@example.org"],
        "reply_to": "e@example.org",
        "subject": "Grüße",
        "text": "line\nline",
        "html": "<p>",
        "importance": "high",
        "message_id": "<1@example.org>",
        "unknown": [1, {"x": null}],
        "priority": null,
    }))
    .unwrap();
    let recipients: Vec<String> = mail.recipients().map(ToString::to_string).collect();
    assert_eq!(
        recipients,
        [
            "a@example.org",
            "b@example.org",
            "c@example.org",
            "d@example.org"
        ]
    );
    assert_eq!(mail.cc[0].name.as_deref(), Some("B"));
    assert_eq!(mail.reply_to[0].address(), "e@example.org");
    assert_eq!(mail.subject, "Grüße");
    assert_eq!(mail.importance, Some(Importance::High));
    assert_eq!(mail.message_id.as_deref(), Some("<1@example.org>"));
    assert_eq!(mail.content_bytes(), 12);
}

#[test]
fn a_recipient_in_any_of_three_keys_is_enough_and_none_is_not() {
    for key in ["to", "cc", "bcc"] {
        let mail = read(&json!({key: "a@example.org"})).unwrap();
        assert_eq!(mail.recipients().count(), 1, "{key}");
    }
    for message in [
        json!({}),
        json!({"to": [], "cc": null}),
        json!({"reply_to": "a@example.org"}),
    ] {
        let problem = read(&message).err().unwrap();
        assert!(problem.contains("at least one recipient"), "{problem}");
    }
}

#[test]
fn there_are_at_most_a_thousand_recipients() {
    let many = |count| vec!["a@example.org"; count];
    assert!(read(&json!({"to": many(999), "bcc": many(1)})).is_ok());
    let problem = read(&json!({"to": many(999), "bcc": many(2)}))
        .err()
        .unwrap();
    assert!(problem.contains("at most 1000 recipients"), "{problem}");
}

#[test]
fn a_malformed_key_is_named_with_what_it_takes() {
    for (key, value, expected) in [
        (
            "to",
            json!(7),
            "message key to: expected a string or an array of strings, got 7",
        ),
        (
            "cc",
            json!(["b@example.org", "c"]),
            "message key cc[1]: expected user@example.org",
        ),
        (
            "cc",
            json!([["b@example.org"]]),
            "message key cc[0]: expected a string",
        ),
        (
            "subject",
            json!("a\r\nBcc: x@example.org"),
            "without control characters",
        ),
        ("subject", json!("a\u{2028}b"), "without control characters"),
        ("subject", json!("x".repeat(999)), "at most 998 characters"),
        (
            "subject",
            json!(false),
            "message key subject: expected a string",
        ),
        (
            "text",
            json!("a\0b"),
            "message key text: expected a text without NUL",
        ),
        ("html", json!({}), "message key html: expected a string"),
        (
            "importance",
            json!("urgent"),
            "expected one of low, normal, high",
        ),
    ] {
        let problem = problem(key, value);
        assert!(problem.contains(expected), "{problem}");
    }
}
