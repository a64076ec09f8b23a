//! Microsoft 365: mail through Microsoft Graph's `sendMail`, on behalf of an application.
//!
//! Invariants:
//! * `sendMail` is asked once, and once more only after it has refused the token, which is before it has looked at the mail;
//! * any 2xx is a success, whatever else the answer holds: it has no id and cannot be asked for again;
//! * tokens and client secrets never leave this module but to the servers that they are for;
//! * what Graph says about a mail may quote it, and goes to the notifier alone; the log gets status and codes.

mod account;
mod answer;
mod endpoint;
mod message;
mod tokens;

pub use tokens::Tokens;

use super::document::Fields;
use super::http::{self, Request};
use super::mail::{Limits, Mail};
use super::steps::Steps;
use super::veil::Veil;
use super::{Failure, Sent};
use account::Account;
use bytes::Bytes;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Method, Response, StatusCode};
use secrecy::ExposeSecret as _;
use std::time::Instant;
use tokens::Token;

/// `max_message_bytes` where the profile has none: about what is left of Graph's 4 MB when base64 has added its third.
const DEFAULT_MAX_BYTES: u64 = 3_145_728;

/// Sends one mail through Microsoft Graph.
pub async fn send(
    tokens: &Tokens,
    profile: &Fields<'_>,
    message: &Fields<'_>,
    deadline: Instant,
    steps: &Steps,
) -> Result<Sent, Failure> {
    let account = Account::read(profile)?;
    let limits = Limits::read(profile, DEFAULT_MAX_BYTES)?;
    let mail = Mail::read(message)?;
    limits.check(&mail)?;
    let body = Bytes::from(message::compose(&mail, &account, message)?);

    let token = token(tokens, &account, deadline, steps).await?;
    let response = send_mail(&account, &token, body.clone(), deadline, steps).await?;
    if response.status() != StatusCode::UNAUTHORIZED {
        return verdict(response, &veil(&account, &token), deadline).await;
    }
    // Revoked, or signed with keys that were changed: a new one tells.
    tokens.refuse(&account.key(), &token);
    let token = self::token(tokens, &account, deadline, steps).await?;
    let response = send_mail(&account, &token, body, deadline, steps).await?;
    let veil = veil(&account, &token);
    if response.status() == StatusCode::UNAUTHORIZED {
        return Err(answer::unauthorized_again(response, &veil, deadline).await);
    }
    verdict(response, &veil, deadline).await
}

/// Hides what Graph was sent, and what the token was asked for with.
fn veil(account: &Account<'_>, token: &Token) -> Veil {
    Veil::of([account.secret, token.secret().expose_secret()])
}

async fn token(
    tokens: &Tokens,
    account: &Account<'_>,
    deadline: Instant,
    steps: &Steps,
) -> Result<Token, Failure> {
    let key = account.key();
    let fetch = || async {
        let grant = endpoint::fetch(account, deadline).await?;
        steps.note(
            "token",
            format!("fetched, valid for {} s", grant.lifetime.as_secs()),
        );
        Ok(grant)
    };
    let token = tokens.get(key, deadline, fetch).await?;
    steps.note("token", "ready");
    Ok(token)
}

async fn send_mail(
    account: &Account<'_>,
    token: &Token,
    body: Bytes,
    deadline: Instant,
    steps: &Steps,
) -> Result<Response, Failure> {
    steps.note("sendMail", format!("{} bytes", body.len()));
    let bearer = format!("Bearer {}", token.secret().expose_secret());
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    // The endpoint's answer was only taken for a token because it fits into a header.
    if let Ok(mut bearer) = HeaderValue::from_str(&bearer) {
        bearer.set_sensitive(true);
        headers.insert(AUTHORIZATION, bearer);
    }
    let request = Request {
        method: Method::POST,
        url: account.send_mail_url(),
        headers,
        body,
    };
    let response = http::exchange(http::client(), request, deadline)
        .await
        .map_err(|broken| broken.failure("sendMail"))?;
    steps.note("sendMail", format!("HTTP {}", response.status().as_u16()));
    Ok(response)
}

async fn verdict(response: Response, veil: &Veil, deadline: Instant) -> Result<Sent, Failure> {
    if !response.status().is_success() {
        return Err(answer::refusal(response, veil, deadline).await);
    }
    let provider_ref = answer::request_id(&response, veil);
    http::let_finish(response, deadline).await;
    Ok(Sent {
        provider_ref,
        detail: None,
    })
}
