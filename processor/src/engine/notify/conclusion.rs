//! What becomes of a notify event, in the words of everybody who is told: the queue, its log, the notifier, the operator.

use crate::engine::error_text::storable;
use crate::engine::event::Event;
use crate::engine::settle::Failure;
use crate::engine::verdict::{Verdict, after_failed_send};
use crate::transport::{Attempted, Sent};
use shared::failure::Class;
use std::time::Duration;

/// Transports by the names that may be logged: another name is content of the notifier's.
const TRANSPORTS: [&str; 3] = ["smtp", "m365", "webhook"];

/// The end of an event, or of one attempt at it.
#[derive(Debug)]
pub struct Conclusion {
    /// What it comes to.
    pub verdict: Verdict,
    /// For `pgrelay.log`: phase and codes, or why there was no attempt.
    pub failure: Option<Failure>,
    /// For the notifier alone: recipients and the server's words too.
    pub detail: Option<String>,
    /// What the server calls the notification.
    pub provider_ref: Option<String>,
    /// The class of the failure of an attempt.
    pub class: Option<Class>,
    /// The transport, where it is one of ours.
    pub transport: Option<&'static str>,
    /// Length of the attempt; zero where there was none.
    pub took: Duration,
}

impl Conclusion {
    /// There was no attempt, for a reason that lies with the event or its channel.
    #[must_use]
    pub fn without_attempt(verdict: Verdict, reason: &str) -> Self {
        Self {
            verdict,
            failure: Some(Failure::refused(reason)),
            detail: Some(storable(reason)),
            provider_ref: None,
            class: None,
            transport: None,
            took: Duration::ZERO,
        }
    }

    /// An attempt ended before anything was sent, for a reason that can be told to everybody and will not pass.
    #[must_use]
    pub fn unsent(sqlstate: Option<String>, reason: &str) -> Self {
        Self {
            verdict: Verdict::Failed,
            failure: Some(Failure {
                sqlstate,
                error: storable(reason),
            }),
            detail: Some(storable(reason)),
            provider_ref: None,
            class: Some(Class::Permanent),
            transport: None,
            took: Duration::ZERO,
        }
    }

    /// An attempt was made.
    #[must_use]
    pub fn of_attempt(event: &Event, transport: &str, attempted: Attempted) -> Self {
        let transport = TRANSPORTS.into_iter().find(|name| *name == transport);
        let Attempted { result, retry } = attempted;
        match result {
            Ok(Sent {
                provider_ref,
                detail,
            }) => Self {
                verdict: Verdict::Done,
                failure: None,
                detail: detail.as_deref().map(storable),
                provider_ref: provider_ref.as_deref().map(storable),
                class: None,
                transport,
                took: Duration::ZERO,
            },
            Err(failure) => {
                let class = failure.class();
                // The number of this attempt is the count of the retry that would follow.
                let delay = retry.delay(event.attempt(), failure.retry_after);
                Self {
                    verdict: verdict(event, class, delay),
                    failure: Some(Failure::refused(&failure.summary)),
                    detail: Some(storable(&failure.detail)),
                    provider_ref: None,
                    class: Some(class),
                    transport,
                    took: Duration::ZERO,
                }
            }
        }
    }

    /// The same after an attempt of that length.
    #[must_use]
    pub const fn after(mut self, took: Duration) -> Self {
        self.took = took;
        self
    }

    /// The event was ended by somebody else while it was sent: no retry can follow.
    pub fn was_ended_elsewhere(&mut self) {
        if matches!(self.verdict, Verdict::Retry(_)) {
            self.verdict = Verdict::Failed;
        }
    }

    /// For the trace.
    #[must_use]
    pub fn describe(&self) -> String {
        let word = self.verdict.notification_status();
        let after = match self.verdict {
            Verdict::Retry(delay) => format!(" in {} s", delay.as_secs()),
            _ => String::new(),
        };
        match &self.failure {
            Some(failure) => format!("{word}{after}: {}", failure.error),
            None => word.to_owned(),
        }
    }
}

fn verdict(event: &Event, class: Class, delay: Duration) -> Verdict {
    after_failed_send(class, event.retry_count, event.action.max_retries, delay)
}
