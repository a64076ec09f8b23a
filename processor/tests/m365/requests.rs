//! What the two servers are sent.

use crate::cloud::{Cloud, SECRET, accepted, with_secret};
use crate::peer::Received;
use crate::sending::{attempt, transports};
use serde_json::{Value, json};
use shared::failure::{Class, Evidence, Unsendable};

/// The headers that the test does not look at one by one.
fn names(request: &Received) -> Vec<String> {
    let mut names: Vec<String> = request
        .headers
        .iter()
        .map(|(name, _)| name.to_ascii_lowercase())
        .collect();
    names.sort();
    names
}

fn decoded(form: &str) -> Vec<(String, String)> {
    let mut pairs: Vec<(String, String)> = form_urlencoded::parse(form.as_bytes())
        .into_owned()
        .collect();
    pairs.sort();
    pairs
}

#[tokio::test]
async fn a_token_is_asked_for_with_the_clients_credentials() {
    let cloud = Cloud::answering(accepted()).await;
    cloud.send().await.sent();
    let requests = cloud.token_requests();
    let [request] = &requests[..] else {
        panic!("{requests:?}")
    };
    assert_eq!(request.method, "POST");
    assert_eq!(request.target, "/login/contoso.example/oauth2/v2.0/token");
    assert_eq!(
        request.header("content-type"),
        Some("application/x-www-form-urlencoded")
    );
    assert_eq!(
        names(request),
        [
            "accept",
            "content-length",
            "content-type",
            "host",
            "user-agent"
        ]
    );
    let form = String::from_utf8(request.body.clone()).unwrap();
    let expected = [
        ("client_id", "1-2-3"),
        ("client_secret", SECRET),
        ("grant_type", "client_credentials"),
        ("scope", &format!("{}/.default", cloud.url())),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(decoded(&form), expected);
}

#[tokio::test]
async fn a_mail_is_sent_with_the_token() {
    let cloud = Cloud::answering(accepted()).await;
    let mut profile = cloud.profile();
    profile["save_to_sent_items"] = json!(false);
    let message = json!({
        "to": ["Žluťoučký <a@exämple.org>"], "subject": "Grüße", "text": "t", "message_id": "<m@contoso.example>",
        "attachments": [{"filename": "f.txt", "content_type": "text/plain", "content_base64": "aGk="}],
    });
    let outcome = attempt(&with_secret(), "m365", &profile, &message).await;
    assert_eq!(outcome.sent().provider_ref.as_deref(), Some("r-1"));

    let mails = cloud.mails();
    let [request] = &mails[..] else {
        panic!("{mails:?}")
    };
    assert_eq!(request.method, "POST");
    assert_eq!(
        request.target,
        "/v1.0/users/sender@contoso.example/sendMail"
    );
    assert_eq!(request.header("authorization"), Some("Bearer t0ken"));
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(
        names(request),
        [
            "accept",
            "authorization",
            "content-length",
            "content-type",
            "host",
            "user-agent"
        ]
    );
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(body["saveToSentItems"], json!(false));
    assert_eq!(
        body["message"]["toRecipients"],
        json!([{"emailAddress": {"name": "Žluťoučký", "address": "a@xn--exmple-cua.org"}}])
    );
    assert_eq!(
        body["message"]["internetMessageId"],
        json!("<m@contoso.example>")
    );
    assert_eq!(
        body["message"]["attachments"][0]["contentBytes"],
        json!("aGk=")
    );
}

#[tokio::test]
async fn recipients_may_all_be_hidden() {
    let cloud = Cloud::answering(accepted()).await;
    let message = json!({"bcc": "a@example.org", "text": "t"});
    attempt(&with_secret(), "m365", &cloud.profile(), &message)
        .await
        .sent();
    let body: Value = serde_json::from_slice(&cloud.mails()[0].body).unwrap();
    assert!(body["message"].get("toRecipients").is_none(), "{body}");
    assert_eq!(
        body["message"]["bccRecipients"].as_array().unwrap().len(),
        1
    );
}

#[tokio::test]
async fn what_is_malformed_or_too_large_is_never_sent() {
    let cloud = Cloud::answering(accepted()).await;
    for (changes, message, reason) in [
        (json!({"sender": "nobody"}), json!({}), Unsendable::Profile),
        (
            json!({"client_secret": SECRET}),
            json!({}),
            Unsendable::Profile,
        ),
        (
            json!({"client_secret": "_env:UNSET"}),
            json!({}),
            Unsendable::Variable,
        ),
        (
            json!({"authority_url": "http://login.example"}),
            json!({}),
            Unsendable::Profile,
        ),
        (
            json!({"allowed_recipient_domains": ["example.com"]}),
            json!({}),
            Unsendable::Message,
        ),
        (
            json!({"max_message_bytes": 1024}),
            json!({"text": "x".repeat(1025)}),
            Unsendable::Message,
        ),
        (
            json!({"max_message_bytes": 8_000_000}),
            json!({"text": "x".repeat(4_000_000)}),
            Unsendable::Message,
        ),
        (json!({}), json!({"to": "a"}), Unsendable::Message),
        (
            json!({}),
            json!({"headers": {"Precedence": "bulk"}}),
            Unsendable::Message,
        ),
        (
            json!({}),
            json!({"text": "_env:SECRET"}),
            Unsendable::Message,
        ),
    ] {
        let (mut profile, mut mail) = (cloud.profile(), json!({"to": "rcpt@example.org"}));
        for (document, changes) in [(&mut profile, changes), (&mut mail, message)] {
            for (key, value) in changes.as_object().unwrap() {
                document[key] = value.clone();
            }
        }
        let transports = transports(&[("SECRET", SECRET), ("UNSET", "")]);
        let outcome = attempt(&transports, "m365", &profile, &mail).await;
        let failure = outcome.failure();
        assert_eq!(
            failure.evidence,
            Evidence::Unsendable(reason),
            "{failure:?}"
        );
        assert_eq!(failure.class(), Class::Permanent);
        assert!(!outcome.told().contains("s3cret"), "{}", outcome.told());
    }
    assert_eq!(cloud.connections(), 0);
}
