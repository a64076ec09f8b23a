//! What a webhook says: the keys of a message.

use super::headers;
use super::target::Target;
use crate::transport::document::{Fields, Malformed};
use bytes::Bytes;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use std::time::{SystemTime, UNIX_EPOCH};

/// Longest `webhook_id` in characters.
const ID_MAX: usize = 200;

/// A call: what stays the same on every attempt.
pub(super) struct Call {
    id: String,
    pub(super) body: Bytes,
    content_type: HeaderValue,
    headers: HeaderMap,
}

impl Call {
    /// Reads the message of notification `id`.
    ///
    /// A string is sent as it is and as plain text, any other JSON in compact form. A header that the profile sets is the profile's: whoever writes messages cannot replace it.
    pub(super) fn read(id: i64, message: &Fields<'_>, target: &Target) -> Result<Self, Malformed> {
        let (body, content_type) = match message.required("body")?.stored() {
            Value::String(text) => (Bytes::from(text.clone()), "text/plain; charset=utf-8"),
            json => (Bytes::from(json.to_string()), "application/json"),
        };
        if body.len() as u64 > target.max_bytes {
            let (size, limit) = (body.len(), target.max_bytes);
            return Err(message.malformed(
                "body",
                format!("expected at most {limit} bytes (max_message_bytes of the profile), got {size} bytes"),
            ));
        }
        let headers = headers::read(message)?;
        let mut names = headers.keys();
        if let Some(name) = names.find(|name| target.headers.contains_key(*name)) {
            return Err(message.required("headers")?.object()?.malformed(
                name.as_str(),
                "expected none of the headers that the profile sets",
            ));
        }
        Ok(Self {
            id: webhook_id(id, message)?,
            body,
            content_type: HeaderValue::from_static(content_type),
            headers,
        })
    }

    /// The headers of an attempt at `now`. Id and time are there even when nothing is signed, so that a receiver can tell a repetition.
    pub(super) fn headers(&self, target: &Target, now: SystemTime) -> HeaderMap {
        let timestamp = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut headers = target.headers.clone();
        headers.extend(self.headers.clone());
        headers
            .entry(CONTENT_TYPE)
            .or_insert_with(|| self.content_type.clone());
        headers.insert(
            HeaderName::from_static("webhook-timestamp"),
            timestamp.into(),
        );
        let signature = target.keys.sign(&self.id, timestamp, &self.body);
        let texts = [
            ("webhook-id", Some(self.id.as_str())),
            ("webhook-signature", signature.as_deref()),
        ];
        for (name, text) in texts {
            if let Some(value) = text.and_then(|text| HeaderValue::from_str(text).ok()) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
        headers
    }
}

/// The id that the notifier has assigned, or one that follows from the notification's own: the same on every attempt either way.
fn webhook_id(id: i64, message: &Fields<'_>) -> Result<String, Malformed> {
    let Some(node) = message.get("webhook_id") else {
        return Ok(format!("pgrelay-{id}"));
    };
    let text = node.line()?.expose();
    // A dot, say, would end it early in what is signed.
    let is_id = text.len() <= ID_MAX
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    is_id.then(|| text.to_owned()).ok_or_else(|| {
        node.malformed(format!(
            "expected 1 to {ID_MAX} letters and digits of ASCII, underscores and hyphens"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::Call;
    use crate::transport::document::Fields;
    use crate::transport::secrets::Resolved;
    use crate::transport::webhook::target::Target;
    use reqwest::header::HeaderMap;
    use serde_json::{Value, json};
    use std::time::{Duration, UNIX_EPOCH};

    fn target() -> Target {
        let profile = json!({
            "url": "https://example.org/", "max_message_bytes": 1024, "headers": {"X-Profile": "p"},
        });
        let secrets = Resolved::default();
        Target::read(&Fields::of_profile(&profile, &secrets).unwrap()).unwrap()
    }

    fn call(message: &Value) -> Result<(Vec<u8>, HeaderMap), String> {
        let fields = Fields::of_message(message).unwrap();
        let target = target();
        let call = Call::read(7, &fields, &target).map_err(|malformed| malformed.detail())?;
        let headers = call.headers(&target, UNIX_EPOCH + Duration::from_secs(1_700_000_000));
        Ok((call.body.to_vec(), headers))
    }

    #[test]
    fn a_string_is_sent_as_it_is_and_other_json_in_compact_form() {
        for (body, sent, content_type) in [
            (json!("naïve\r\n"), "naïve\r\n", "text/plain; charset=utf-8"),
            (json!(""), "", "text/plain; charset=utf-8"),
            (
                json!({"a": [1, null]}),
                r#"{"a":[1,null]}"#,
                "application/json",
            ),
            (json!([]), "[]", "application/json"),
            (json!(1.5), "1.5", "application/json"),
            (json!(false), "false", "application/json"),
        ] {
            let (bytes, headers) = call(&json!({"body": body})).unwrap();
            assert_eq!(bytes, sent.as_bytes());
            assert_eq!(headers["content-type"], content_type);
        }
    }

    #[test]
    fn a_header_says_otherwise_and_the_profiles_stay() {
        let message =
            json!({"body": {}, "headers": {"content-type": "application/x", "X-Own": "o"}});
        let (_, headers) = call(&message).unwrap();
        assert_eq!(headers["content-type"], "application/x");
        assert_eq!(
            (&headers["x-profile"], &headers["x-own"]),
            (&"p".parse().unwrap(), &"o".parse().unwrap())
        );
        let problem = call(&json!({"body": {}, "headers": {"x-profile": "mine"}})).unwrap_err();
        assert!(
            problem.contains("headers.x-profile: expected none"),
            "{problem}"
        );
    }

    #[test]
    fn id_and_time_are_always_there() {
        let (_, headers) = call(&json!({"body": 1, "webhook_id": "msg_1-A"})).unwrap();
        assert_eq!(headers["webhook-id"], "msg_1-A");
        assert_eq!(headers["webhook-timestamp"], "1700000000");
        assert!(!headers.contains_key("webhook-signature"));
        let (_, headers) = call(&json!({"body": 1})).unwrap();
        assert_eq!(headers["webhook-id"], "pgrelay-7");
    }

    #[test]
    fn what_is_malformed_is_named() {
        for (message, expected) in [
            (json!({}), "message key body: is required"),
            (json!({"body": null}), "message key body: is required"),
            (json!({"body": "x".repeat(1025)}), "at most 1024 bytes"),
            (
                json!({"body": 1, "webhook_id": "a.b"}),
                "message key webhook_id",
            ),
            (
                json!({"body": 1, "webhook_id": "a b"}),
                "message key webhook_id",
            ),
            (
                json!({"body": 1, "webhook_id": "a:b"}),
                "message key webhook_id",
            ),
            (
                json!({"body": 1, "webhook_id": "ä"}),
                "message key webhook_id",
            ),
            (
                json!({"body": 1, "webhook_id": "a\n"}),
                "message key webhook_id",
            ),
            (
                json!({"body": 1, "webhook_id": 5}),
                "message key webhook_id",
            ),
            (
                json!({"body": 1, "webhook_id": "x".repeat(201)}),
                "message key webhook_id",
            ),
        ] {
            let problem = call(&message).expect_err(&message.to_string());
            assert!(problem.contains(expected), "{problem}");
        }
    }
}
