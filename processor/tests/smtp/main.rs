//! The SMTP transport against servers that misbehave as no real server does on request.

#![expect(
    clippy::unwrap_used,
    reason = "here every failure is a panic: that is how a test fails"
)]

mod authentication;
mod certificates;
mod client;
mod connections;
mod matrix;
mod peer;
mod pipelining;
mod recipients;
mod replies;
mod session;
mod tls;
mod transcript;
