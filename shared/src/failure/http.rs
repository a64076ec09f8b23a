//! Answers over HTTP: the token endpoint, Microsoft Graph, and receivers of webhooks.

use super::Class;

/// What a token endpoint's `error` and `error_codes` say (RFC 6749, 5.2; Microsoft Entra error codes).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenCode {
    /// `temporarily_unavailable` or `server_error`.
    Unavailable,
    /// One of the few numbers that ask to come back later: 50196, 90024, 90033, 90055.
    Throttled,
    /// Anything else, or nothing.
    Other,
}

impl TokenCode {
    /// Reads `error` and `error_codes` of an answer.
    #[must_use]
    pub fn of(error: Option<&str>, numbers: &[u64]) -> Self {
        /// Loop detected, request budget exceeded, service unavailable, tenant throttled.
        const LATER: [u64; 4] = [50_196, 90_024, 90_033, 90_055];
        if matches!(error, Some("temporarily_unavailable" | "server_error")) {
            Self::Unavailable
        } else if numbers.iter().any(|number| LATER.contains(number)) {
            Self::Throttled
        } else {
            Self::Other
        }
    }
}

/// What Microsoft Graph's `error.code` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GraphCode {
    /// `ErrorQuotaExceeded`.
    QuotaExceeded,
    /// Anything else, or nothing.
    Other,
}

impl GraphCode {
    /// Reads an `error.code`.
    #[must_use]
    pub fn of(code: Option<&str>) -> Self {
        match code {
            Some("ErrorQuotaExceeded") => Self::QuotaExceeded,
            Some(_) | None => Self::Other,
        }
    }
}

#[expect(
    clippy::match_same_arms,
    reason = "an exception keeps its own arm and its reason"
)]
pub(super) const fn of_token(status: u16, code: TokenCode) -> Class {
    match (code, status) {
        // These say "later" whatever status carries them.
        (TokenCode::Unavailable | TokenCode::Throttled, _) => Class::Transient,
        (TokenCode::Other, 408 | 429 | 500..=599) => Class::Transient,
        (TokenCode::Other, 300..=499) => Class::Permanent,
        // No answer of the protocol.
        (TokenCode::Other, 0..=299 | 600..=u16::MAX) => Class::Transient,
    }
}

#[expect(
    clippy::match_same_arms,
    reason = "an exception keeps its own arm and its reason"
)]
pub(super) const fn of_graph(status: u16, code: GraphCode) -> Class {
    match (code, status) {
        // The sender's mailbox is full until a person empties it.
        (GraphCode::QuotaExceeded, _) => Class::Permanent,
        (GraphCode::Other, 408 | 425 | 429 | 500..=599) => Class::Transient,
        (GraphCode::Other, 300..=499) => Class::Permanent,
        (GraphCode::Other, 0..=299 | 600..=u16::MAX) => Class::Transient,
    }
}

pub(super) const fn of_webhook(status: u16) -> Class {
    match status {
        // The receiver does not speak the method or the version, and will not the next time.
        501 | 505 => Class::Permanent,
        408 | 425 | 429 | 500..=599 => Class::Transient,
        // Redirects are not followed: the body would not arrive.
        300..=499 => Class::Permanent,
        0..=299 | 600..=u16::MAX => Class::Transient,
    }
}
