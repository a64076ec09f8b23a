//! Replies of SMTP servers.

use super::Class;

/// Where in the dialogue a reply, or its absence, was met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Opening the connection.
    Connect,
    /// The greeting.
    Banner,
    /// EHLO, or HELO.
    Ehlo,
    /// STARTTLS.
    StartTls,
    /// The TLS handshake.
    Handshake,
    /// AUTH.
    Auth,
    /// MAIL FROM.
    Mail,
    /// RCPT TO.
    Rcpt,
    /// DATA.
    Data,
    /// The message itself, up to the final dot.
    Body,
    /// The reply to the final dot.
    Dot,
}

impl Phase {
    /// The word in logs and details.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Banner => "banner",
            Self::Ehlo => "EHLO",
            Self::StartTls => "STARTTLS",
            Self::Handshake => "TLS handshake",
            Self::Auth => "AUTH",
            Self::Mail => "MAIL",
            Self::Rcpt => "RCPT",
            Self::Data => "DATA",
            Self::Body => "message",
            Self::Dot => "final dot",
        }
    }
}

/// An enhanced status code (RFC 3463), such as 5.1.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Enhanced(pub u8, pub u16, pub u16);

/// What a server said, without its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    /// The three digits.
    pub code: u16,
    /// The enhanced status code, where the text begins with one.
    pub enhanced: Option<Enhanced>,
}

/// What a server may offer in its answer to EHLO.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offer {
    /// STARTTLS (RFC 3207).
    StartTls,
    /// The mechanism of AUTH that the profile asks for (RFC 4954).
    Auth,
    /// SMTPUTF8 (RFC 6531).
    SmtpUtf8,
}

/// The first digit of the basic code decides (RFC 5321, 4.2.1), also where the enhanced code disagrees.
pub(super) const fn of_reply(phase: Phase, reply: Reply) -> Class {
    match (reply.code, phase, reply.enhanced) {
        // "Too many recipients" is a limit of this transaction and not of the recipient (RFC 5321, 4.5.3.1.10). Without
        // 5.5.3 the same code says that a mailbox is full.
        (552, Phase::Rcpt, Some(Enhanced(5, 5, 3))) => Class::Transient,
        (500..=599, _, _) => Class::Permanent,
        // A reply that belongs elsewhere (250 to DATA, 354 to the dot), or to no protocol, is no refusal.
        (0..=399 | 400..=499 | 600..=u16::MAX, _, _) => Class::Transient,
    }
}
