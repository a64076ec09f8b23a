//! Headers that a profile or a message asks for.

use crate::transport::document::{Fields, Malformed, Text};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

const COUNT_MAX: usize = 50;
const VALUE_MAX: usize = 8192;

/// Names that belong to the framing of HTTP/1.1 (RFC 9110, sections 7.6.1, 7.8 and 10.1.1; RFC 9112, section 6).
const FRAMING: [&str; 9] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Names whose values are credentials, which belong into a variable of the host.
const CREDENTIALS: [&str; 2] = ["authorization", "cookie"];

/// Reads `headers` of a profile or of a message. Values are never quoted: they are where credentials are.
pub(super) fn read(document: &Fields<'_>) -> Result<HeaderMap, Malformed> {
    let mut headers = HeaderMap::new();
    let Some(given) = document.get("headers") else {
        return Ok(headers);
    };
    let given = given
        .object()
        .map_err(|_| document.malformed("headers", "expected an object of names and values"))?;
    // Before any is taken: a map of headers panics when it holds too many.
    if given.iter().count() > COUNT_MAX {
        return Err(document.malformed("headers", format!("expected up to {COUNT_MAX} headers")));
    }
    for (name, value) in given.iter() {
        let name = accepted(name).ok_or_else(|| {
            given.malformed(
                name,
                "expected a header name that neither belongs to the framing of HTTP nor begins with proxy- or webhook-",
            )
        })?;
        let text = value.text().ok();
        if CREDENTIALS.contains(&name.as_str()) && !text.is_some_and(Text::is_reference) {
            return Err(given.malformed(
                name.as_str(),
                "expected a reference to a variable, _env:NAME, in the headers of the profile, since secrets are not stored",
            ));
        }
        let text = text.map(Text::expose);
        let value = text.filter(|text| text.len() <= VALUE_MAX && is_printable(text));
        let value = value.and_then(|text| HeaderValue::from_str(text).ok());
        let mut value = value.ok_or_else(|| {
            given.malformed(
                name.as_str(),
                format!("expected a text of up to {VALUE_MAX} printable ASCII characters"),
            )
        })?;
        value.set_sensitive(true);
        if headers.insert(&name, value).is_some() {
            return Err(
                given.malformed(name.as_str(), "expected each name once, whatever its case")
            );
        }
    }
    Ok(headers)
}

fn is_printable(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

fn accepted(name: &str) -> Option<HeaderName> {
    let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
    let lower = name.as_str();
    let is_ours =
        FRAMING.contains(&lower) || lower.starts_with("proxy-") || lower.starts_with("webhook-");
    (!is_ours).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::transport::document::Fields;
    use crate::transport::secrets::Secrets;
    use reqwest::header::HeaderMap;
    use serde_json::{Value, json};

    fn headers(value: &Value) -> Result<HeaderMap, String> {
        let message = json!({"headers": value});
        let fields = Fields::of_message(&message).unwrap();
        read(&fields).map_err(|malformed| malformed.detail())
    }

    #[test]
    fn names_are_tokens_and_values_printable() {
        let read = headers(&json!({"X-A": "1 ~", "X-Null": null})).unwrap();
        assert_eq!(read.len(), 1);
        assert_eq!(read["x-a"], "1 ~");
        assert!(headers(&json!(null)).unwrap().is_empty());
    }

    #[test]
    fn credentials_come_from_variables_of_a_profile() {
        let secrets = Secrets::new(|_| true, |_| Some("Bearer s3cret".to_owned().into()));
        for name in ["Authorization", "cookie", "COOKIE"] {
            let profile = json!({"headers": {name: "_env:TOKEN"}});
            let resolved = secrets.resolve(&profile).unwrap();
            let taken = read(&Fields::of_profile(&profile, &resolved).unwrap()).unwrap();
            assert_eq!(taken[name], "Bearer s3cret");
            for value in ["Bearer s3cret", "_env:", "x _env:TOKEN"] {
                let profile = json!({"headers": {name: value}});
                let resolved = secrets.resolve(&profile).unwrap();
                let in_profile = read(&Fields::of_profile(&profile, &resolved).unwrap());
                let in_profile = in_profile.map_err(|malformed| malformed.detail());
                for refused in [in_profile, headers(&profile["headers"])] {
                    let problem = refused.expect_err(value);
                    assert!(
                        problem.contains("expected a reference to a variable"),
                        "{problem}"
                    );
                    assert!(!problem.contains("s3cret"), "{problem}");
                }
            }
        }
    }

    #[test]
    fn names_that_are_not_the_callers_are_refused() {
        for name in [
            "",
            "a b",
            "a:b",
            "X-A\r\nX-B",
            "Ä",
            "Host",
            "content-length",
            "Transfer-Encoding",
            "CONNECTION",
            "Keep-Alive",
            "Upgrade",
            "TE",
            "Trailer",
            "Expect",
            "Proxy-Authorization",
            "webhook-id",
            "Webhook-Signature",
        ] {
            let problem = headers(&json!({name: "secret"})).expect_err(name);
            assert!(problem.contains("header name"), "{problem}");
            assert!(!problem.contains("secret"), "{problem}");
        }
    }

    #[test]
    fn values_that_break_a_line_or_are_no_text_are_refused_and_not_quoted() {
        for value in [
            json!("secret\r\nX-B: 1"),
            json!("secret\0"),
            json!("secretü"),
            json!(["secret"]),
            json!("secret\u{2028}"),
            json!("x".repeat(8193)),
        ] {
            let problem = headers(&json!({"X-A": value})).expect_err("refused");
            assert!(
                problem.contains("message key headers.x-a: expected a text"),
                "{problem}"
            );
            assert!(!problem.contains("secret"), "{problem}");
        }
    }

    #[test]
    fn a_name_comes_once_and_not_with_fifty_others() {
        assert!(
            headers(&json!({"X-A": "1", "x-a": "2"}))
                .unwrap_err()
                .contains("once")
        );
        for number in [51, 50_000] {
            let many: serde_json::Map<String, Value> = (0..number)
                .map(|number| (format!("x-{number}"), json!("1")))
                .collect();
            let problem = headers(&Value::Object(many)).unwrap_err();
            assert!(problem.contains("up to 50"), "{problem}");
        }
    }
}
