//! Microsoft Graph's refusals. Its `error.code`s decide, and never its `error.message`.

use crate::transport::Failure;
use crate::transport::http;
use crate::transport::veil::Veil;
use reqwest::Response;
use serde_json::Value;
use shared::failure::{Class, Evidence, GraphCode};
use std::time::Instant;

/// Most bytes that are read of an answer.
pub(super) const BODY_MAX: usize = 65_536;

/// Most characters of a text of the server's that are kept.
pub(super) const TEXT_MAX: usize = 500;

/// Most codes within each other.
const DEPTH_MAX: usize = 5;

/// The failure of an answer that is not 2xx.
pub(super) async fn refusal(response: Response, veil: &Veil, deadline: Instant) -> Failure {
    let status = response.status().as_u16();
    let retry_after = http::retry_after(response.headers());
    let said = Said::read(response, veil, deadline).await;
    let evidence = Evidence::Graph {
        status,
        code: said.code(),
    };
    let mut failure = said.failure(evidence, &format!("sendMail answered {status}"));
    if failure.class() == Class::Transient {
        failure.retry_after = retry_after;
    }
    failure
}

/// The failure of a second 401.
pub(super) async fn unauthorized_again(
    response: Response,
    veil: &Veil,
    deadline: Instant,
) -> Failure {
    let said = Said::read(response, veil, deadline).await;
    said.failure(
        Evidence::GraphUnauthorizedAgain,
        "sendMail answered 401 to a new token as well",
    )
}

/// What Graph said.
struct Said {
    request_id: Option<String>,
    /// From the outermost to the innermost.
    codes: Vec<String>,
    message: Option<String>,
}

impl Said {
    async fn read(response: Response, veil: &Veil, deadline: Instant) -> Self {
        let request_id = request_id(&response, veil);
        let body = http::read_body(response, BODY_MAX, deadline).await;
        let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
        let error = answer.get("error");
        Self {
            request_id,
            codes: codes(error, veil),
            message: error
                .and_then(|error| error.get("message"))
                .and_then(Value::as_str)
                .map(|text| http::one_line(&veil.draw(text.to_owned()), TEXT_MAX)),
        }
    }

    fn code(&self) -> GraphCode {
        let read = self.codes.iter().map(|code| GraphCode::of(Some(code)));
        read.reduce(|outer, inner| {
            if outer == GraphCode::Other {
                inner
            } else {
                outer
            }
        })
        .unwrap_or(GraphCode::of(None))
    }

    fn failure(&self, evidence: Evidence, what: &str) -> Failure {
        let mut summary = what.to_owned();
        for code in &self.codes {
            summary = format!("{summary} {code}");
        }
        let mut detail = summary.clone();
        if self.codes.iter().any(|code| code == "ErrorAccessDenied") {
            detail.push_str(" (the application needs the permission Mail.Send for this mailbox; a change of it takes up to hours)");
        }
        if let Some(request_id) = &self.request_id {
            detail = format!("{detail}, request-id {request_id}");
        }
        if let Some(message) = &self.message {
            detail = format!("{detail}: {message}");
        }
        Failure::new(evidence, summary, detail)
    }
}

/// Graph's name for the request.
pub(super) fn request_id(response: &Response, veil: &Veil) -> Option<String> {
    let id = http::reference(response.headers(), "request-id");
    id.filter(|id| !veil.hides(id))
}

/// `error.code` and those within it.
fn codes(error: Option<&Value>, veil: &Veil) -> Vec<String> {
    std::iter::successors(error, |error| inner(error))
        .take(DEPTH_MAX)
        .filter_map(|error| word(error.get("code")?.as_str()?, veil))
        .map(str::to_owned)
        .collect()
}

/// Services disagree on how to spell it.
fn inner(error: &Value) -> Option<&Value> {
    error.get("innererror").or_else(|| error.get("innerError"))
}

/// A code, unless it is a text that may hold anything, or one that tells what `veil` hides.
pub(super) fn word<'a>(text: &'a str, veil: &Veil) -> Option<&'a str> {
    const LENGTH_MAX: usize = 100;
    let is_word = (1..=LENGTH_MAX).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
    (is_word && !veil.hides(text)).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::{codes, word};
    use crate::transport::veil::Veil;
    use serde_json::{Value, json};

    fn found(error: &Value) -> Vec<String> {
        codes(Some(error), &Veil::default())
    }

    #[test]
    fn codes_are_walked_inwards_in_both_spellings() {
        let error =
            json!({"code": "A", "innerError": {"date": 1, "innererror": {"code": "C.d_e-1"}}});
        assert_eq!(found(&error), ["A", "C.d_e-1"]);
        assert!(codes(None, &Veil::default()).is_empty());
        assert!(found(&json!("A")).is_empty());
        assert!(found(&json!({"code": 5, "innererror": [1]})).is_empty());
    }

    #[test]
    fn a_bottomless_error_ends() {
        let deep = (0..100).fold(
            json!({"code": "X"}),
            |inner, _| json!({"code": "X", "innererror": inner}),
        );
        assert_eq!(found(&deep).len(), 5);
    }

    #[test]
    fn a_text_is_no_code() {
        for text in [
            "",
            "two words",
            "a@example.org",
            "Ä",
            "a\n",
            &"x".repeat(101),
        ] {
            assert_eq!(word(text, &Veil::default()), None, "{text:?}");
        }
    }
}
