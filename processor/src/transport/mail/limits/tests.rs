use super::super::tests::read;
use super::Limits;
use crate::transport::document::Fields;
use crate::transport::secrets::Resolved;
use serde_json::{Value, json};
use shared::failure::Class;

fn limits(profile: &Value) -> Result<Limits, String> {
    let secrets = Resolved::default();
    let fields = Fields::of_profile(profile, &secrets).unwrap();
    Limits::read(&fields, 2000).map_err(|malformed| malformed.detail())
}

#[test]
fn recipients_outside_the_allowed_domains_are_named_in_the_detail_alone() {
    let limits =
        limits(&json!({"allowed_recipient_domains": ["EXAMPLE.org", "bücher.example"]})).unwrap();
    let good = json!({"to": "a@example.org", "bcc": "b@xn--bcher-kva.example", "reply_to": "x@elsewhere.example"});
    assert!(limits.check(&read(&good).unwrap()).is_ok());
    let bad = json!({"to": "a@example.org", "cc": "b@sub.example.org", "bcc": "c@evilexample.org"});
    let failure = limits.check(&read(&bad).unwrap()).unwrap_err();
    assert_eq!(
        failure.summary,
        "2 of 3 recipients are outside allowed_recipient_domains"
    );
    assert!(
        failure
            .detail
            .ends_with(": b@sub.example.org, c@evilexample.org"),
        "{}",
        failure.detail
    );
    assert_eq!(failure.class(), Class::Permanent);
}

#[test]
fn an_empty_list_allows_nobody() {
    let limits = limits(&json!({"allowed_recipient_domains": []})).unwrap();
    assert!(
        limits
            .check(&read(&json!({"to": "a@example.org"})).unwrap())
            .is_err()
    );
}

#[test]
fn the_size_is_that_of_the_content_before_encoding() {
    let of = |text: usize, file: usize| {
        use base64::Engine;
        let file = base64::prelude::BASE64_STANDARD.encode(vec![b'x'; file]);
        let attachments = json!([{"filename": "a", "content_base64": file}]);
        read(&json!({"to": "a@example.org", "text": "x".repeat(text), "attachments": attachments}))
            .unwrap()
    };
    let default = limits(&json!({})).unwrap();
    assert!(default.check(&of(1000, 1000)).is_ok());
    let failure = default.check(&of(1000, 1001)).unwrap_err();
    assert_eq!(
        failure.summary,
        "bodies and attachments have 2001 bytes, and max_message_bytes is 2000"
    );
    assert_eq!(failure.class(), Class::Permanent);
    let own = limits(&json!({"max_message_bytes": 3000})).unwrap();
    assert!(own.check(&of(1000, 1001)).is_ok());
}

#[test]
fn malformed_limits_are_named() {
    for (profile, expected) in [
        (
            json!({"max_message_bytes": 1}),
            "max_message_bytes: expected a whole number from 1024",
        ),
        (
            json!({"allowed_recipient_domains": ["a@b"]}),
            "allowed_recipient_domains[0]: expected a domain name",
        ),
        (
            json!({"allowed_recipient_domains": 1}),
            "expected a string or an array of strings",
        ),
    ] {
        let problem = limits(&profile).unwrap_err();
        assert!(problem.contains(expected), "{problem}");
    }
}
