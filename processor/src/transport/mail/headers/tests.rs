use super::super::tests::{problem, read};
use serde_json::json;

#[test]
fn allowed_headers_are_taken() {
    let mail = read(&json!({
        "to": "a@example.org",
        "headers": {
            "X-A": "v", "x-b!#$%&'*+_`|~": "", "List-Id": "<l.example.org>", "List-Unsubscribe": "<mailto:a@b>", "X-Priority": "2",
            "AUTO-SUBMITTED": "auto-generated", "References": "<1@x> <2@x>", "Thread-Index": "x", "X-Null": null,
        },
    }))
    .unwrap();
    let names: Vec<&str> = mail.headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names.len(), 8);
    assert!(names.contains(&"AUTO-SUBMITTED") && names.contains(&"x-b!#$%&'*+_`|~"));
}

#[test]
fn no_header_replaces_ours_or_ends_its_line() {
    for name in [
        "From",
        "to",
        "Cc",
        "BCC",
        "Sender",
        "Reply-To",
        "Subject",
        "Date",
        "Message-ID",
        "MIME-Version",
        "Content-Type",
        "Content-Transfer-Encoding",
        "Return-Path",
        "Received",
        "DKIM-Signature",
        "Resent-To",
        "Importance",
        "Disposition-Notification-To",
        "",
        "X-",
        "X-A\r\nBcc",
        "X-A\nBcc",
        "X-A:b",
        "X-A b",
        " X-A",
        "X-Ä",
        "X-A\0",
        "X-A\u{2028}",
        "List-",
        "List--",
        "List-1",
        "List-A b",
    ] {
        let problem = problem("headers", json!({name: "v"}));
        assert!(
            problem.contains("expected the name of a header"),
            "{name:?}: {problem}"
        );
    }
    let long = format!("X-{}", "y".repeat(99));
    assert!(problem("headers", json!({long: "v"})).contains("expected the name"));
}

#[test]
fn values_are_lines_and_names_differ() {
    for value in [
        "a\r\nBcc: b@example.org",
        "a\rb",
        "a\nb",
        "a\0b",
        "a\tb",
        "a\u{85}b",
        "a\u{2029}b",
    ] {
        let problem = problem("headers", json!({"X-A": value}));
        assert!(
            problem.contains("headers.X-A: expected a text without control characters"),
            "{problem}"
        );
    }
    assert!(problem("headers", json!({"X-A": 1})).contains("expected a string"));
    assert!(problem("headers", json!({"X-A": "1", "x-a": "2"})).contains("is there twice"));
    assert!(problem("headers", json!(["X-A: 1"])).contains("expected an object"));
    let many: serde_json::Map<_, _> = (0..51)
        .map(|number| (format!("X-{number}"), json!("v")))
        .collect();
    assert!(problem("headers", many.into()).contains("at most 50"));
}

#[test]
fn a_header_that_a_key_writes_is_refused_beside_the_key() {
    for (key, value, name) in [
        ("importance", json!("low"), "x-priority"),
        (
            "list_unsubscribe",
            json!("https://example.org/"),
            "List-Unsubscribe",
        ),
        ("list_unsubscribe", json!([]), "LIST-unsubscribe-post"),
    ] {
        let message = json!({"to": "a@example.org", key: value, "headers": {name: "v"}});
        let problem = read(&message).err().unwrap();
        assert!(
            problem.contains(&format!("is written for the key {key}")),
            "{problem}"
        );
    }
}

#[test]
fn a_message_id_has_two_sides_and_is_of_nobodys_localhost() {
    assert!(read(&json!({"to": "a@example.org", "message_id": "<a.b+c=d$1@example.org>"})).is_ok());
    let long = format!("<{}@example.org>", "x".repeat(240));
    for id in [
        "",
        "a@example.org",
        "<a>",
        "<@example.org>",
        "<a@>",
        "<a@b@c>",
        "<a b@c>",
        "<a@b> <c@d>",
        "<ä@b>",
        "<a@LOCALHOST>",
        "<a@b>\r\nX: y",
        &long,
    ] {
        let problem = problem("message_id", json!(id));
        assert!(
            problem.contains("message key message_id: expected"),
            "{id:?}: {problem}"
        );
    }
}

#[test]
fn uris_to_unsubscribe_with_are_mailto_or_https() {
    let uris = json!([
        "https://example.org/u?a=b,c".replace(',', "%2C"),
        "mailto:u@example.org?subject=x"
    ]);
    let mail = read(&json!({"to": "a@example.org", "list_unsubscribe": uris})).unwrap();
    assert_eq!(mail.list_unsubscribe.len(), 2);
    for uri in [
        "",
        "http://example.org/",
        "https://",
        "https:///x",
        "https://u:p@example.org/",
        "mailto:",
        "mailto:x",
        "javascript:x",
        "https://example.org/>, <x",
        "https://example.org/ x",
        "https://example.org/ä",
        "https://example.org/,x",
        "https://e\r\nX: y",
    ] {
        let problem = problem("list_unsubscribe", json!([uri]));
        assert!(
            problem.contains("message key list_unsubscribe[0]: expected"),
            "{uri:?}: {problem}"
        );
    }
    assert!(
        problem("list_unsubscribe", json!(vec!["https://example.org/"; 11])).contains("at most 10")
    );
}
