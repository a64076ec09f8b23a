use super::compose;
use crate::transport::document::Fields;
use crate::transport::m365::account::Account;
use crate::transport::mail::Mail;
use crate::transport::secrets::Secrets;
use serde_json::{Value, json};

fn composed(message: &Value, save: bool) -> Result<Value, String> {
    let profile = json!({
        "tenant_id": "t", "client_id": "c", "client_secret": "_env:S", "sender": "a@b.example",
        "save_to_sent_items": save,
    });
    let secrets = Secrets::new(|_| true, |_| Some("s".to_owned().into()));
    let resolved = secrets.resolve(&profile).unwrap();
    let profile = Fields::of_profile(&profile, &resolved).unwrap();
    let account = Account::read(&profile).unwrap();
    let fields = Fields::of_message(message).unwrap();
    let mail = Mail::read(&fields).map_err(|malformed| malformed.detail())?;
    let bytes = compose(&mail, &account, &fields).map_err(|malformed| malformed.detail())?;
    Ok(serde_json::from_slice(&bytes).unwrap())
}

#[test]
fn nothing_is_there_that_has_no_entries() {
    let least = json!({"bcc": "x@y.example"});
    let expected = json!({
        "message": {
            "subject": "",
            "body": {"contentType": "Text", "content": ""},
            "bccRecipients": [{"emailAddress": {"address": "x@y.example"}}],
        },
        "saveToSentItems": false,
    });
    assert_eq!(composed(&least, false).unwrap(), expected);
}

#[test]
fn every_part_has_its_place() {
    let all = json!({
        "to": ["X <x@y.example>", "z@y.example"], "cc": "c@y.example", "bcc": "b@y.example", "reply_to": "r@y.example",
        "subject": "Grüße", "text": "plain", "html": "<p>", "importance": "high", "message_id": "<1@b.example>",
        "headers": {"X-One": "1", "x-two": "2"}, "list_unsubscribe": ["mailto:u@b.example", "https://b.example/u"],
        "attachments": [
            {"filename": "a.txt", "content_type": "text/plain", "content_base64": "aGk="},
            {"filename": "i.png", "content_type": "image/png", "content_base64": "", "content_id": "i@b"},
        ],
    });
    let address = |address: &str| json!({"emailAddress": {"address": address}});
    let expected = json!({
        "message": {
            "subject": "Grüße",
            "body": {"contentType": "HTML", "content": "<p>"},
            "toRecipients": [{"emailAddress": {"address": "x@y.example", "name": "X"}}, address("z@y.example")],
            "ccRecipients": [address("c@y.example")],
            "bccRecipients": [address("b@y.example")],
            "replyTo": [address("r@y.example")],
            "importance": "high",
            "internetMessageId": "<1@b.example>",
            "internetMessageHeaders": [{"name": "X-One", "value": "1"}, {"name": "x-two", "value": "2"}],
            "singleValueExtendedProperties": [
                {"id": "String 0x1045", "value": "<mailto:u@b.example>, <https://b.example/u>"},
            ],
            "attachments": [
                {"@odata.type": "#microsoft.graph.fileAttachment", "name": "a.txt", "contentType": "text/plain",
                 "contentBytes": "aGk=", "isInline": false},
                {"@odata.type": "#microsoft.graph.fileAttachment", "name": "i.png", "contentType": "image/png",
                 "contentBytes": "", "isInline": true, "contentId": "i@b"},
            ],
        },
        "saveToSentItems": true,
    });
    assert_eq!(composed(&all, true).unwrap(), expected);
}

#[test]
fn what_graph_would_refuse_is_refused_at_once() {
    let six: serde_json::Map<String, Value> = (1..=6)
        .map(|number| (format!("X-{number}"), json!("v")))
        .collect();
    for (key, value, expected) in [
        (
            "headers",
            json!({"Precedence": "bulk"}),
            "headers.Precedence: expected a name that begins with X-",
        ),
        ("headers", Value::Object(six), "at most 5 headers, got 6"),
        (
            "text",
            json!("x".repeat(4_000_000)),
            "at most 4000000 bytes",
        ),
    ] {
        let mut message = json!({"to": "x@y.example"});
        message[key] = value;
        let problem = composed(&message, true).unwrap_err();
        assert!(problem.contains(expected), "{problem}");
    }
}
