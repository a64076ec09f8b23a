//! What a request without an answer says.

use crate::transport::Failure;
use shared::failure::{Evidence, Network, Unsendable};
use std::error::Error;
use std::io::{self, ErrorKind};

/// A request that got no answer.
#[derive(Debug)]
pub(in crate::transport) struct Broken {
    evidence: Evidence,
    cause: String,
    /// The server may have the request.
    under_way: bool,
}

impl Broken {
    /// `under_way`: the request was begun to be written.
    pub(super) fn new(error: &reqwest::Error, under_way: bool) -> Self {
        let under_way = under_way && !error.is_connect();
        // The parts were checked; what remains is a URL that only one of two parsers takes.
        if error.is_builder() {
            let evidence = Evidence::Unsendable(Unsendable::Profile);
            return Self::because(evidence, "the URL cannot be requested");
        }
        let text = text_of(root(error));
        let tls = causes(error).find_map(tls_error);
        match tls.filter(|_| !under_way) {
            Some(tls) => Self::of_handshake(tls),
            None => Self {
                under_way,
                ..Self::because(Evidence::Network(network(error)), &text)
            },
        }
    }

    /// The deadline passed.
    pub(super) fn timeout(under_way: bool) -> Self {
        let cause = if under_way {
            "no answer within the time for the attempt"
        } else {
            "no connection within the time for the attempt"
        };
        Self {
            under_way,
            ..Self::because(Evidence::Network(Network::Timeout), cause)
        }
    }

    /// The client could not be made, which is the work of the TLS library.
    pub(super) fn setup(error: &impl Error) -> Self {
        Self::because(
            Evidence::Network(Network::Handshake),
            &format!("TLS cannot be set up: {}", text_of(error)),
        )
    }

    /// The failure of `action`, such as "POST to https://example.org", which has an effect: once it is under way, that may be there.
    pub(in crate::transport) fn failure(self, action: &str) -> Failure {
        let mut text = format!("{action} failed: {}", self.cause);
        let mut evidence = self.evidence;
        if self.under_way {
            evidence = Evidence::Network(Network::UnknownOutcome);
            text.push_str("; it was handed over and may have been accepted");
        }
        Failure::new(evidence, text.clone(), text)
    }

    /// The failure of `action`, which has no effect but its answer.
    pub(in crate::transport) fn failure_without_effect(self, action: &str) -> Failure {
        let text = format!("{action} failed: {}", self.cause);
        Failure::new(self.evidence, text.clone(), text)
    }

    fn of_handshake(error: &native_tls::Error) -> Self {
        let text = text_of(error);
        // The only place where the library tells the one from the other: OpenSSL's name for the reason, which is never translated.
        let evidence = if text.contains("certificate verify failed") {
            Evidence::Certificate
        } else {
            Evidence::Network(Network::Handshake)
        };
        Self::because(evidence, &text)
    }

    fn because(evidence: Evidence, cause: &str) -> Self {
        Self {
            evidence,
            cause: cause.to_owned(),
            under_way: false,
        }
    }
}

fn network(error: &reqwest::Error) -> Network {
    if error.is_dns() {
        return Network::Dns;
    }
    let found = causes(error)
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .find(|found| found.kind() != ErrorKind::Other);
    let Some(found) = found else {
        let is_late = error.is_timeout();
        return if is_late {
            Network::Timeout
        } else {
            Network::Closed
        };
    };
    match found.kind() {
        ErrorKind::ConnectionRefused => Network::Refused,
        // The share of an address in the time was over. With a number it was the kernel that gave the address up.
        ErrorKind::TimedOut if found.raw_os_error().is_none() => Network::Timeout,
        ErrorKind::TimedOut
        | ErrorKind::HostUnreachable
        | ErrorKind::NetworkUnreachable
        | ErrorKind::NetworkDown
        | ErrorKind::AddrNotAvailable => Network::Unreachable,
        _ => Network::Closed,
    }
}

fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(error.source(), |&cause| cause.source())
}

/// The error at the bottom. Those above it say what was tried, and the topmost one of them to which URL.
fn root(error: &reqwest::Error) -> &(dyn Error + 'static) {
    causes(error).last().unwrap_or(&Unexplained)
}

/// The error of the TLS library in `cause`; an `io::Error` does not count what it wraps among its sources.
fn tls_error<'a>(cause: &'a (dyn Error + 'static)) -> Option<&'a native_tls::Error> {
    let wrapped = cause
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref)
        .and_then(|inner| inner.downcast_ref());
    wrapped.or_else(|| cause.downcast_ref())
}

/// On one line, and not at length.
fn text_of(error: &(impl Error + ?Sized)) -> String {
    super::one_line(&error.to_string(), 300)
}

#[derive(Debug, thiserror::Error)]
#[error("the HTTP library gives no reason")]
struct Unexplained;
