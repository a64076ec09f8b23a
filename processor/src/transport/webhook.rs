//! Webhooks: one HTTP request, signed after Standard Webhooks 1.0.0.
//!
//! Invariants:
//! * the address that is connected to is one that was checked: the name is resolved once, by us;
//! * only 2xx is success, and the status alone decides: the body of an answer is neither kept nor waited for;
//! * of the URL only scheme and host are ever told, since tokens live in paths and queries.

mod call;
mod guard;
mod headers;
mod resolve;
mod signature;
mod target;

pub use resolve::{Resolver, SystemResolver};

use super::document::Fields;
use super::http::{self, Request};
use super::steps::Steps;
use super::{Failure, Sent};
use call::Call;
use reqwest::Response;
use resolve::Pinned;
use shared::failure::{Class, Evidence};
use std::sync::Arc;
use std::time::{Instant, SystemTime};
use target::Target;

/// Makes one request to the receiver.
pub async fn send(
    id: i64,
    profile: &Fields<'_>,
    message: &Fields<'_>,
    deadline: Instant,
    steps: &Steps,
) -> Result<Sent, Failure> {
    send_resolving(&SystemResolver, id, profile, message, deadline, steps).await
}

/// The same with names resolved by `resolver`.
pub async fn send_resolving(
    resolver: &impl Resolver,
    id: i64,
    profile: &Fields<'_>,
    message: &Fields<'_>,
    deadline: Instant,
    steps: &Steps,
) -> Result<Sent, Failure> {
    let target = Target::read(profile)?;
    let call = Call::read(id, message, &target)?;
    let addresses = resolve::checked(resolver, &target, deadline).await?;
    steps.note("resolve", format!("{} address(es)", addresses.len()));

    let action = format!("{} to {}", target.method, target.shown);
    steps.note("request", format!("{action}, {} bytes", call.body.len()));
    let client = http::client().dns_resolver(Arc::new(Pinned(addresses)));
    let request = Request {
        method: target.method.clone(),
        url: target.url.clone(),
        headers: call.headers(&target, SystemTime::now()),
        body: call.body,
    };
    let response = http::exchange(client, request, deadline)
        .await
        .map_err(|broken| broken.failure(&action))?;
    let result = verdict(&response, &action);
    steps.note("answer", format!("HTTP {}", response.status().as_u16()));
    http::let_finish(response, deadline).await;
    result
}

fn verdict(response: &Response, action: &str) -> Result<Sent, Failure> {
    if response.status().is_success() {
        return Ok(Sent {
            provider_ref: http::reference(response.headers(), "x-request-id"),
            detail: None,
        });
    }
    let status = response.status().as_u16();
    let text = match status {
        300..=399 => format!("{action} answered {status}; redirects are not followed"),
        _ => format!("{action} answered {status}"),
    };
    let mut failure = Failure::new(Evidence::Webhook { status }, text.clone(), text);
    if failure.class() == Class::Transient {
        failure.retry_after = http::retry_after(response.headers());
    }
    Err(failure)
}
