//! What a failed send says about the notification: nothing else is asked but the evidence, and nothing is ever read from a message text.
//!
//! Invariants:
//! * [`classify`] is total and pure; a new kind of evidence does not compile until it has a class;
//! * what is unknown is transient: a notification is sent once more rather than given up for a reason nobody has seen;
//! * every exception to the rule of its row says why it is one.
//!
//! Source: pg_relay_notifier: Failure classification.

mod http;
mod smtp;

pub use http::{GraphCode, TokenCode};
pub use smtp::{Enhanced, Offer, Phase, Reply};

/// What is to be done after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The same attempt may succeed later.
    Transient,
    /// Trying again would fail again.
    Permanent,
}

impl Class {
    /// The word in logs and in the details of an attempt.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Permanent => "permanent",
        }
    }
}

/// What was seen when a send failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Evidence {
    /// The way to the server, or the conversation itself, broke.
    Network(Network),
    /// The server's certificate is not trusted, is for another name, or has expired.
    Certificate,
    /// An SMTP server refused.
    Smtp {
        /// What it was asked when it did.
        phase: Phase,
        /// What it said.
        reply: Reply,
    },
    /// An SMTP server does not offer what the notification needs.
    NotOffered(Offer),
    /// The token endpoint refused.
    Token {
        /// HTTP status.
        status: u16,
        /// Its `error` and `error_codes`.
        code: TokenCode,
    },
    /// The token endpoint answered 2xx with something that is no token: a captive portal, a proxy's page.
    TokenUnusable,
    /// Microsoft Graph refused.
    Graph {
        /// HTTP status.
        status: u16,
        /// Its `error.code`.
        code: GraphCode,
    },
    /// Microsoft Graph refused a token that was fetched after it had refused another one.
    GraphUnauthorizedAgain,
    /// A webhook's receiver answered something else than 2xx.
    Webhook {
        /// HTTP status.
        status: u16,
    },
    /// The notification cannot be sent as it stands.
    Unsendable(Unsendable),
}

/// How a conversation broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// The name could not be resolved; `getaddrinfo` does not tell for how long.
    Dns,
    /// Nobody listens.
    Refused,
    /// No route, or the host does not answer to its address.
    Unreachable,
    /// The connection was reset or closed between two replies.
    Closed,
    /// The time for the attempt was over.
    Timeout,
    /// The connection ended within a reply.
    HalfReply,
    /// What was received is no reply of the protocol, or not one that this place of the dialogue allows.
    NoReply,
    /// The TLS handshake broke, for another reason than the certificate.
    Handshake,
    /// Plaintext arrived between the reply to STARTTLS and the handshake (CVE-2011-0411).
    Injected,
    /// Everything was handed over and the answer did not come: the server may have accepted (RFC 1047).
    UnknownOutcome,
}

/// Why a notification cannot be sent as it stands, on this host, now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsendable {
    /// The payload of the event is no notification id.
    Payload,
    /// The notifier does not know the id.
    UnknownId,
    /// This Processor has no such transport.
    Transport,
    /// The profile is malformed.
    Profile,
    /// The message is malformed.
    Message,
    /// A variable that the profile refers to is not set, or empty, on this host.
    Variable,
    /// The configuration of this host does not let notifications use that variable.
    Denied,
    /// The webhook's address is one that the profile does not allow.
    Address,
    /// The notifier is not installed, or not complete.
    NotifierAbsent,
    /// The notifier's interface version is another than this Processor speaks.
    NotifierVersion,
}

/// The class of a failure.
#[must_use]
pub fn classify(evidence: &Evidence) -> Class {
    match evidence {
        Evidence::Network(network) => of_network(*network),
        Evidence::Smtp { phase, reply } => smtp::of_reply(*phase, *reply),
        Evidence::NotOffered(Offer::StartTls | Offer::Auth | Offer::SmtpUtf8)
        | Evidence::Certificate
        | Evidence::GraphUnauthorizedAgain => Class::Permanent,
        Evidence::Token { status, code } => http::of_token(*status, *code),
        Evidence::TokenUnusable => Class::Transient,
        Evidence::Graph { status, code } => http::of_graph(*status, *code),
        Evidence::Webhook { status } => http::of_webhook(*status),
        Evidence::Unsendable(reason) => of_unsendable(*reason),
    }
}

const fn of_network(network: Network) -> Class {
    match network {
        Network::Dns
        | Network::Refused
        | Network::Unreachable
        | Network::Closed
        | Network::Timeout
        | Network::HalfReply
        | Network::NoReply
        | Network::Handshake
        // Whoever injects is on the way to the server, and not the server: another way may be free of him.
        | Network::Injected
        | Network::UnknownOutcome => Class::Transient,
    }
}

const fn of_unsendable(reason: Unsendable) -> Class {
    match reason {
        Unsendable::Payload
        | Unsendable::UnknownId
        | Unsendable::Transport
        | Unsendable::Profile
        | Unsendable::Message
        | Unsendable::Variable
        | Unsendable::Denied
        | Unsendable::Address
        | Unsendable::NotifierAbsent
        | Unsendable::NotifierVersion => Class::Permanent,
    }
}

#[cfg(test)]
mod tests;
