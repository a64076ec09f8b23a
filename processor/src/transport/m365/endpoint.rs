//! The token endpoint: the client-credentials grant (RFC 6749, section 4.4).

use super::account::Account;
use super::answer::{BODY_MAX, TEXT_MAX, word};
use crate::transport::Failure;
use crate::transport::http::{self, Request};
use crate::transport::veil::Veil;
use bytes::Bytes;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Method, Response};
use secrecy::SecretString;
use serde_json::Value;
use shared::failure::{Class, Evidence, TokenCode};
use std::time::{Duration, Instant};

/// Lifetime of a token that came without one, which RFC 6749 allows (section 5.1).
const ASSUMED_LIFETIME: Duration = Duration::from_mins(5);
/// No server is believed beyond it.
const LONGEST_LIFETIME: Duration = Duration::from_hours(24);

/// A token as it was granted.
pub(super) struct Grant {
    pub(super) token: SecretString,
    pub(super) lifetime: Duration,
}

/// Asks for a token.
pub(super) async fn fetch(account: &Account<'_>, deadline: Instant) -> Result<Grant, Failure> {
    let form = form_urlencoded::Serializer::new(String::new())
        .append_pair("grant_type", "client_credentials")
        .append_pair("client_id", account.client)
        .append_pair("client_secret", account.secret)
        .append_pair("scope", &account.scope())
        .finish();
    let headers = HeaderMap::from_iter([
        (
            CONTENT_TYPE,
            HeaderValue::from_static("application/x-www-form-urlencoded"),
        ),
        (ACCEPT, HeaderValue::from_static("application/json")),
    ]);
    let request = Request {
        method: Method::POST,
        url: account.token_url(),
        headers,
        body: Bytes::from(form),
    };
    let response = http::exchange(http::client(), request, deadline)
        .await
        .map_err(|broken| broken.failure_without_effect("token request"))?;
    if !response.status().is_success() {
        return Err(refusal(response, account.secret, deadline).await);
    }
    let status = response.status().as_u16();
    let body = http::read_body(response, BODY_MAX, deadline).await;
    granted(&body).ok_or_else(|| {
        let text = format!("token endpoint answered {status} without a token");
        Failure::new(Evidence::TokenUnusable, text.clone(), text)
    })
}

fn granted(body: &[u8]) -> Option<Grant> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    let token = answer.get("access_token")?.as_str()?;
    let fits_a_header = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    fits_a_header.then(|| Grant {
        token: SecretString::from(token),
        lifetime: lifetime(answer.get("expires_in")),
    })
}

/// `expires_in`: a number, or a string that holds one, as older endpoints write it.
fn lifetime(expires_in: Option<&Value>) -> Duration {
    let seconds = match expires_in {
        Some(Value::Number(number)) => number.as_f64(),
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(_) | None => None,
    };
    match seconds {
        None => ASSUMED_LIFETIME,
        // Infinite is too long, and what is negative or no number has expired.
        Some(seconds) if seconds > 0.0 => Duration::try_from_secs_f64(seconds)
            .map_or(LONGEST_LIFETIME, |lifetime| lifetime.min(LONGEST_LIFETIME)),
        Some(_) => Duration::ZERO,
    }
}

async fn refusal(response: Response, secret: &str, deadline: Instant) -> Failure {
    let status = response.status().as_u16();
    let retry_after = http::retry_after(response.headers());
    let body = http::read_body(response, BODY_MAX, deadline).await;
    let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
    // An endpoint that repeats what it was asked with shall not bring the secret into the log or the database.
    let veil = Veil::of([secret]);
    let error = answer.get("error").and_then(Value::as_str);
    let numbers: Vec<u64> = answer
        .get("error_codes")
        .and_then(Value::as_array)
        .map(|numbers| numbers.iter().filter_map(Value::as_u64).take(10).collect())
        .unwrap_or_default();

    let mut summary = format!("token endpoint answered {status}");
    if let Some(word) = error.and_then(|error| word(error, &veil)) {
        summary = format!("{summary} {word}");
    }
    if !numbers.is_empty() {
        summary = format!("{summary} {numbers:?}");
    }
    let description = answer.get("error_description").and_then(Value::as_str);
    let detail = match description {
        Some(text) => format!(
            "{summary}: {}",
            http::one_line(&veil.draw(text.to_owned()), TEXT_MAX)
        ),
        None => summary.clone(),
    };
    let code = TokenCode::of(error, &numbers);
    let mut failure = Failure::new(Evidence::Token { status, code }, summary, detail);
    if failure.class() == Class::Transient {
        failure.retry_after = retry_after;
    }
    failure
}

#[cfg(test)]
mod tests {
    use super::{granted, lifetime};
    use secrecy::ExposeSecret as _;
    use serde_json::{Value, json};

    #[test]
    fn lifetimes_are_read_however_they_are_written() {
        let seconds = |value: Value| lifetime(Some(&value)).as_secs();
        assert_eq!(seconds(json!(3599)), 3599);
        assert_eq!(seconds(json!("3599")), 3599);
        assert_eq!(seconds(json!(60.9)), 60);
        assert_eq!(seconds(json!(0)), 0);
        assert_eq!(seconds(json!(-5)), 0);
        assert_eq!(seconds(json!("-5")), 0);
        assert_eq!(seconds(json!("NaN")), 0);
        assert_eq!(seconds(json!(1e300)), 86_400);
        assert_eq!(seconds(json!("inf")), 86_400);
        assert_eq!(seconds(json!("soon")), 300);
        assert_eq!(seconds(json!(null)), 300);
        assert_eq!(lifetime(None).as_secs(), 300);
    }

    #[test]
    fn a_token_fits_into_a_header() {
        let token = |answer: Value| granted(answer.to_string().as_bytes());
        let grant = token(json!({"access_token": "a.b-c~", "expires_in": 60})).unwrap();
        assert_eq!(grant.token.expose_secret(), "a.b-c~");
        for answer in [
            json!({}),
            json!([]),
            json!("token"),
            json!({"access_token": null}),
            json!({"access_token": ""}),
            json!({"access_token": 5}),
            json!({"access_token": "a\r\nX: b"}),
            json!({"access_token": "a b"}),
            json!({"access_token": "ä"}),
        ] {
            assert!(token(answer.clone()).is_none(), "{answer}");
        }
        assert!(granted(b"<html>sign in</html>").is_none());
    }
}
