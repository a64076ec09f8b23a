//! How notifications travel.
//!
//! [`Transports::send`] makes one attempt at one notification: resolve secrets, validate, send. It knows nothing of events, verdicts or the
//! database; what it returns is either what the server gave, or the evidence of a failure, which is data and not an error.
//!
//! Invariants:
//! * one deadline bounds the whole attempt, `timeout_seconds` of the profile, from DNS to the last reply;
//! * a success is reported only after the server has said so for the whole notification;
//! * [`Failure::summary`] and steps hold phases, codes, sizes and names of keys and variables, and nothing of what is sent, to whom or with which secret;
//! * nothing that a profile or a message holds can panic a worker.

pub mod document;
mod http;
pub mod m365;
pub mod mail;
pub mod retry;
pub mod secrets;
pub mod smtp;
pub mod steps;
mod veil;
pub mod webhook;

use document::{Fields, Malformed};
use retry::RetryPolicy;
use secrets::{Secrets, Unresolved};
use serde_json::Value;
use shared::failure::{Class, Evidence, Unsendable, classify};
use std::time::{Duration, Instant};
use steps::Steps;

/// `timeout_seconds` where the profile has none.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
/// The most that `timeout_seconds` can come to; larger values are taken for this one.
pub const LONGEST_TIMEOUT: Duration = Duration::from_mins(2);

/// A notification as the notifier handed it out. It has no `Debug`: all of it is content.
pub struct Notification {
    /// Its id.
    pub id: i64,
    /// The name of its transport.
    pub transport: String,
    /// The profile, with `_env:` references where secrets belong.
    pub profile: Value,
    /// The message.
    pub message: Value,
}

/// The server has taken the notification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// What the server calls it, such as a request id.
    pub provider_ref: Option<String>,
    /// What else there is to say, such as recipients that were refused; for the notifier alone.
    pub detail: Option<String>,
}

/// The server has not, or it is not known whether it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What was seen.
    pub evidence: Evidence,
    /// Phase and codes, for the log.
    pub summary: String,
    /// The same with what the server said and the recipients it refused, for the notifier alone.
    pub detail: String,
    /// When the server asked to be tried again.
    pub retry_after: Option<Duration>,
}

/// What became of one attempt.
#[derive(Debug)]
pub struct Attempted {
    /// Sent or not.
    pub result: Result<Sent, Failure>,
    /// When a retry would follow.
    pub retry: RetryPolicy,
}

/// What the sends of a Processor share.
#[derive(Debug)]
pub struct Transports {
    secrets: Secrets,
    m365: m365::Tokens,
}

impl Transports {
    /// With `secrets` for the references in profiles.
    #[must_use]
    pub fn new(secrets: Secrets) -> Self {
        Self {
            secrets,
            m365: m365::Tokens::default(),
        }
    }

    /// Makes one attempt, which `began` a moment ago.
    pub async fn send(
        &self,
        notification: &Notification,
        began: Instant,
        steps: &Steps,
    ) -> Attempted {
        match self.try_send(notification, began, steps).await {
            Ok(attempted) => attempted,
            Err(failure) => Attempted {
                result: Err(failure),
                retry: RetryPolicy::default(),
            },
        }
    }

    /// `Err`: not even the retry policy could be read.
    async fn try_send(
        &self,
        notification: &Notification,
        began: Instant,
        steps: &Steps,
    ) -> Result<Attempted, Failure> {
        let secrets = self.secrets.resolve(&notification.profile)?;
        let profile = Fields::of_profile(&notification.profile, &secrets)?;
        let message = Fields::of_message(&notification.message)?;
        let retry = RetryPolicy::read(&profile)?;
        let deadline = began + timeout(&profile)?;
        let id = notification.id;
        let result = match notification.transport.as_str() {
            "smtp" => smtp::send(id, &profile, &message, deadline, steps).await,
            "m365" => m365::send(&self.m365, &profile, &message, deadline, steps).await,
            "webhook" => webhook::send(id, &profile, &message, deadline, steps).await,
            unknown => Err(Failure::unsendable(
                Unsendable::Transport,
                "this Processor has no such transport".to_owned(),
                format!(
                    "this Processor has no transport {unknown:?}; it has smtp, m365 and webhook"
                ),
            )),
        };
        Ok(Attempted { result, retry })
    }
}

/// The limit of one attempt.
fn timeout(profile: &Fields<'_>) -> Result<Duration, Malformed> {
    let Some(seconds) = profile.get("timeout_seconds") else {
        return Ok(DEFAULT_TIMEOUT);
    };
    // Larger than any integer that JSON can carry is still only larger than the cap.
    let seconds = seconds.integer(1, u64::MAX)?;
    Ok(Duration::from_secs(seconds).min(LONGEST_TIMEOUT))
}

impl Failure {
    /// A failure that is told apart by its evidence; `detail` says more than `summary` may.
    #[must_use]
    pub fn new(evidence: Evidence, summary: String, detail: String) -> Self {
        Self {
            evidence,
            summary,
            detail,
            retry_after: None,
        }
    }

    /// The notification cannot be sent as it stands.
    #[must_use]
    pub fn unsendable(reason: Unsendable, summary: String, detail: String) -> Self {
        Self::new(Evidence::Unsendable(reason), summary, detail)
    }

    /// The class of its evidence.
    #[must_use]
    pub fn class(&self) -> Class {
        classify(&self.evidence)
    }
}

impl From<Malformed> for Failure {
    fn from(malformed: Malformed) -> Self {
        Self::unsendable(malformed.part(), malformed.summary(), malformed.detail())
    }
}

impl From<Unresolved> for Failure {
    fn from(unresolved: Unresolved) -> Self {
        let text = unresolved.to_string();
        Self::unsendable(unresolved.reason(), text.clone(), text)
    }
}

#[cfg(test)]
mod tests;
