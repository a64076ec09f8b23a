use super::write;
use crate::transport::document::Fields;
use crate::transport::mail::Mail;
use serde_json::{Value, json};

fn body(keys: &Value) -> String {
    let mut message = keys.clone();
    message["to"] = json!("a@example.org");
    let mail = Mail::read(&Fields::of_message(&message).unwrap()).unwrap();
    write(&mail).unwrap()
}

/// What stands after the first blank line.
fn content(keys: &Value) -> String {
    body(keys).split_once("\r\n\r\n").unwrap().1.to_owned()
}

#[test]
fn every_line_end_becomes_crlf_and_none_is_added() {
    for text in [
        "a\nb\nc",
        "a\rb\rc",
        "a\r\nb\r\nc",
        "a\nb\rc\r\n",
        "a\r\nb\rc\n",
    ] {
        assert_eq!(
            content(&json!({"text": text})),
            "a\r\nb\r\nc\r\n",
            "{text:?}"
        );
    }
    assert_eq!(content(&json!({"text": "a\n\r\rb"})), "a\r\n\r\n\r\nb\r\n");
    assert_eq!(
        content(&json!({"text": "\n.\r\nMAIL FROM:<x>"})),
        "\r\n.\r\nMAIL FROM:<x>\r\n"
    );
}

#[test]
fn bodies_are_of_seven_bits_and_of_short_lines() {
    for text in [
        "ü".repeat(3000),
        "x".repeat(3000),
        "日本".repeat(600),
        format!("{}\n", "x ".repeat(1500)),
        "\u{1}\u{7f}\u{b}".to_owned(),
    ] {
        let body = body(&json!({"text": text, "html": text}));
        assert!(body.is_ascii());
        let longest = body.split("\r\n").map(str::len).max();
        assert!(longest <= Some(78), "{longest:?}");
    }
}

#[test]
fn only_what_is_there_has_a_part() {
    let file = json!({"filename": "a", "content_base64": "YQ=="});
    let shown = json!({"filename": "b", "content_base64": "YQ==", "content_id": "b@x"});
    for (keys, kinds) in [
        (json!({}), &["text/plain"][..]),
        (json!({"text": "t"}), &["text/plain"]),
        (json!({"html": "h"}), &["text/html"]),
        (
            json!({"text": "t", "html": "h"}),
            &["multipart/alternative", "text/plain", "text/html"],
        ),
        (
            json!({"text": "t", "attachments": [file]}),
            &["multipart/mixed", "text/plain", "application/octet-stream"],
        ),
        (
            json!({"text": "t", "attachments": [shown]}),
            &["multipart/mixed", "text/plain", "application/octet-stream"],
        ),
        (
            json!({"html": "h", "attachments": [shown]}),
            &["multipart/related", "text/html", "application/octet-stream"],
        ),
        (
            json!({"text": "t", "html": "h", "attachments": [file, shown]}),
            &[
                "multipart/mixed",
                "multipart/alternative",
                "text/plain",
                "multipart/related",
                "text/html",
                "application/octet-stream",
                "application/octet-stream",
            ],
        ),
    ] {
        let body = body(&keys);
        let found: Vec<&str> = body
            .split("\r\n")
            .filter_map(|line| line.strip_prefix("Content-Type: "))
            .map(|line| line.split(';').next().unwrap())
            .collect();
        assert_eq!(found, kinds, "{keys}");
    }
}

#[test]
fn an_attachment_is_base64_even_if_it_looks_like_text() {
    let body = body(&json!({
        "attachments": [{"filename": "a.txt", "content_type": "text/plain; charset=us-ascii", "content_base64": "CguKTUFJTCBGUk9NOjx4Pg0KLg0K"}],
    }));
    assert!(
        body.contains("Content-Transfer-Encoding: base64\r\n")
            && body.contains("\r\nCguKTUFJTCBGUk9NOjx4Pg0KLg0K\r\n"),
        "{body}"
    );
}

#[test]
fn a_file_name_cannot_leave_its_header() {
    for name in [
        "a\"; x=\"y.txt",
        "ü;\".txt",
        &"n".repeat(255),
        &"ü".repeat(255),
        "=?utf-8?Q?x?=",
        " ",
        "a\\\u{301}".trim_matches('\\'),
        "'%41'",
    ] {
        let name = name.replace('\\', "");
        let body = body(&json!({"attachments": [{"filename": name, "content_base64": ""}]}));
        let header = body
            .split("Content-Disposition: attachment;")
            .nth(1)
            .unwrap()
            .split("\r\nContent-")
            .next()
            .unwrap();
        assert!(
            header
                .split("\r\n")
                .skip(1)
                .all(|line| line.is_empty() || line.starts_with(' ')),
            "{header:?}"
        );
        assert!(header.is_ascii());
    }
}
