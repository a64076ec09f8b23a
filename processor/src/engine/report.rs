//! What operators hear of verdicts: one line each, where it is decided, and the counters of the heartbeat.

use super::Engine;
use super::event::Event;
use super::settle::{Ending, Failure};
use super::step::OpenError;
use super::verdict::Verdict;
use shared::db::connect::ConnectError;
use shared::logging::repeat::Repeats;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
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
