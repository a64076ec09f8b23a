//! What operators hear of verdicts: one line each, where it is decided, and the counters of the heartbeat.

use super::Engine;
use super::event::Event;
use super::notify::conclusion::Conclusion;
use super::settle::{Ending, Failure};
use super::step::{OpenError, StepError};
use super::verdict::Verdict;
use shared::db::connect::ConnectError;
use shared::failure::Class;
use shared::logging::repeat::Repeats;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use tokio_postgres::error::SqlState;
use tracing::{debug, info, warn};

/// Counters since the start.
#[derive(Debug, Default)]
pub struct Counters {
    /// Attempts that succeeded.
    pub ok: AtomicI64,
    /// Events that ended as error, expired or invalid.
    pub failed: AtomicI64,
    /// Retries scheduled.
    pub retried: AtomicI64,
}

impl Counters {
    fn count(&self, verdict: Verdict) {
        let counter = match verdict {
            Verdict::Done => &self.ok,
            Verdict::Retry(_) => &self.retried,
            Verdict::RetriesExhausted | Verdict::Failed | Verdict::Expired | Verdict::Invalid => {
                &self.failed
            }
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// A worker has no session. When nobody could have one, the control task says so, once. Otherwise (too many connections, a grant taken
/// away) it is a warning the first time and then at every power of ten, since every worker tries about once a second.
pub fn cannot_connect(repeats: &mut Repeats, worker: &str, error: &OpenError) {
    let text = error.to_string();
    if let OpenError::Connect(
        ConnectError::Unreachable { .. }
        | ConnectError::Timeout { .. }
        | ConnectError::NotAccepting { .. }
        | ConnectError::Standby { .. },
    ) = error
    {
        debug!("a {worker} cannot connect: {text}");
    } else if let Some(times) = repeats.observe(&text) {
        warn!("a {worker} cannot connect ({times} times so far): {text}");
    }
}

/// An attempt was settled and committed. The error text stays in pgrelay.log: it may quote the payload.
pub fn attempt(
    engine: &Engine,
    event: &Event,
    verdict: Verdict,
    failure: Option<&Failure>,
    took: Duration,
) {
    engine.counters.count(verdict);
    let id = event.id;
    let number = event.attempt();
    let channel = event.channel.as_str();
    let milliseconds = took.as_secs_f64() * 1000.0;
    let state = failure
        .and_then(|failure| failure.sqlstate.as_deref())
        .unwrap_or("none");
    match verdict {
        Verdict::Done => debug!(
            event.id = id,
            channel.name = channel,
            attempt.number = number,
            verdict = "ok",
            "event {id} of {channel}: attempt {number} succeeded in {milliseconds:.1} ms"
        ),
        Verdict::Retry(delay) => info!(
            event.id = id,
            channel.name = channel,
            attempt.number = number,
            verdict = "retry_scheduled",
            db.sqlstate = state,
            "event {id} of {channel}: attempt {number} failed with SQLSTATE {state}, retried in {} s",
            delay.as_secs()
        ),
        Verdict::RetriesExhausted | Verdict::Failed | Verdict::Expired | Verdict::Invalid => warn!(
            event.id = id,
            channel.name = channel,
            attempt.number = number,
            verdict = verdict.log_status(),
            db.sqlstate = state,
            "event {id} of {channel}: attempt {number} ended as {} with SQLSTATE {state}; pgrelay.log has the error",
            verdict.log_status()
        ),
    }
}

/// Events were resolved without an attempt.
pub fn endings(engine: &Engine, endings: &[Ending]) {
    for ending in endings {
        engine.counters.count(ending.verdict);
        let (id, channel) = (ending.id, ending.channel.as_str());
        if let Some(twin) = ending.served_by {
            debug!(
                event.id = id,
                channel.name = channel,
                "event {id} of {channel}: served by the run of event {twin}"
            );
            continue;
        }
        let status = ending.verdict.log_status();
        let reason = ending.error.as_deref().unwrap_or_default();
        info!(
            event.id = id,
            channel.name = channel,
            verdict = status,
            "event {id} of {channel}: {status}, {reason}"
        );
    }
}

/// A notify event, or one attempt at it, was settled and committed. Neither the words of a server nor those of the notifier: they may quote what is sent.
pub fn notification(engine: &Engine, event: &Event, notification: Option<i64>, end: &Conclusion) {
    engine.counters.count(end.verdict);
    let (id, channel, number) = (event.id, event.channel.as_str(), event.attempt());
    let status = end.verdict.log_status();
    let class = end.class.map(Class::as_str);
    let milliseconds = end.took.as_secs_f64() * 1000.0;
    // One line for each level, since a level is part of the place in the program.
    macro_rules! line {
        ($level:ident, $($text:tt)+) => {
            $level!(
                event.id = id,
                channel.name = channel,
                notification.id = notification,
                attempt.number = number,
                verdict = status,
                failure.class = class,
                transport = end.transport,
                $($text)+
            )
        };
    }
    let kind = class.unwrap_or("no attempt");
    match end.verdict {
        Verdict::Done => line!(
            debug,
            "event {id} of {channel}: attempt {number} sent its notification in {milliseconds:.1} ms"
        ),
        Verdict::Retry(delay) => line!(
            info,
            "event {id} of {channel}: attempt {number} failed ({kind}), retried in {} s",
            delay.as_secs()
        ),
        Verdict::Expired | Verdict::Invalid => {
            line!(info, "event {id} of {channel}: {status} before an attempt");
        }
        Verdict::Failed | Verdict::RetriesExhausted => line!(
            warn,
            "event {id} of {channel}: attempt {number} ended as {status} ({kind}); pgrelay.log has the error"
        ),
    }
}

/// A notification was on its way when the claim of its event was lost.
pub fn lost_during_send(notification: i64) {
    warn!(
        notification.id = notification,
        "the database session was lost while notification {notification} was being sent: nothing is recorded, and its event is claimed again"
    );
}

/// The notifier cannot be asked for a notification just now; its event stays as it is, and waits.
pub fn postponed(event: &Event, notification: Option<i64>, times: u64, problem: &str) {
    let (id, channel) = (event.id, event.channel.as_str());
    warn!(
        event.id = id,
        channel.name = channel,
        notification.id = notification,
        "event {id} of {channel} waits, and so may others, {times} times so far: {problem}; it burns no retry"
    );
}

/// The settlement of a notify event failed, not by the notifier's part in it, and is tried again.
pub fn settlement_failed(event: &Event, error: &StepError) {
    let id = event.id;
    let state = error.sqlstate().map_or("none", SqlState::code);
    warn!(
        event.id = id,
        db.sqlstate = state,
        "event {id} of {}: its settlement failed and is tried again (SQLSTATE {state})",
        event.channel
    );
}

/// The notifier could not be told what became of its notification, for a reason that may pass.
pub fn report_repeated(event: &Event, notification: i64, error: &StepError) {
    let id = event.id;
    let state = error.sqlstate().map_or("none", SqlState::code);
    warn!(
        event.id = id,
        notification.id = notification,
        db.sqlstate = state,
        "event {id} of {}: set_status() of the notifier failed for notification {notification} and is tried again (SQLSTATE {state})",
        event.channel
    );
}

/// The notifier is not told what became of its notification.
pub fn report_lost(event: &Event, notification: i64, error: &StepError) {
    let id = event.id;
    let state = error.sqlstate().map_or("none", SqlState::code);
    warn!(
        event.id = id,
        notification.id = notification,
        db.sqlstate = state,
        "event {id} of {}: set_status() of the notifier failed for notification {notification}, its status is lost (SQLSTATE {state})",
        event.channel
    );
}

/// Somebody who does not ask for claims (a person at psql) ended a notify event while it was sent.
pub fn ended_elsewhere(event: &Event) {
    let id = event.id;
    warn!(
        event.id = id,
        "event {id} of {} was ended by somebody else while its notification was sent",
        event.channel
    );
}

/// COMMIT failed after a send, and the event is somebody else's by now.
pub fn verdict_dropped(event: &Event) {
    let id = event.id;
    warn!(
        event.id = id,
        "event {id} of {} was claimed by somebody else before its verdict could be recorded: it may be sent once more",
        event.channel
    );
}
