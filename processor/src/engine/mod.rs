//! The engine: what all workers of a Processor share, and the parts that claim, attempt, settle and look after the fleet.
//!
//! Invariants:
//! * an event is settled in the transaction that holds its action's effect, or not at all;
//! * a claim is a lock of an open transaction, so it cannot outlive its holder;
//! * everything that claims or ends an event takes FOR UPDATE first, which is what deduplicated callers rely on;
//! * nothing is decided by the clock of this host.

pub mod attempt;
pub mod availability;
pub mod batch;
pub mod claim;
pub mod control;
pub mod crash;
pub mod error_text;
pub mod event;
pub mod floor;
pub mod gate;
pub mod janitor;
pub mod lanes;
pub mod notify;
pub mod pace;
pub mod pipeline;
pub mod pool;
pub mod registry;
pub mod report;
pub mod session;
pub mod settle;
pub mod settlement;
pub mod sleeper;
pub mod statements;
pub mod step;
pub mod verdict;
pub mod wire;
pub mod worker;

use crate::config::ProcessorConfig;
use crate::transport::Transports;
use crate::transport::secrets::Secrets;
use availability::Availability;
use notify::postponed::Postponed;
use notify::snapshot::Snapshot;
use pool::Pool;
use report::Counters;
use shared::db::connect::Connector;
use shared::db::listener::ListenerHandle;
use shared::shutdown::Shutdown;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;
use uuid::Uuid;

/// Advisory lock that sleepers of the sql pool share; `pgrelay.notify()` probes it.
pub const SLEEPER_SQL: i64 = 5_283_401;
/// The same for the notify pool.
pub const SLEEPER_NOTIFY: i64 = 5_283_402;
/// Topic that wakes the sql pool.
pub const TOPIC_SQL: &str = "pgrelay_sql";
/// Topic that wakes the notify pool.
pub const TOPIC_NOTIFY: &str = "pgrelay_notify";
/// Topic that announces a change of the fleet's controls.
pub const TOPIC_CONTROL: &str = "pgrelay_control";

/// What all tasks of a Processor share.
#[derive(Debug)]
pub struct Engine {
    /// Identity of this run in registry and log.
    pub id: Uuid,
    /// Host name.
    pub host: String,
    /// Opens sessions.
    pub connector: Connector,
    /// Configuration.
    pub config: ProcessorConfig,
    /// Channels this instance serves.
    pub served: Served,
    /// The workers of sql channels.
    pub sql: Pool,
    /// The workers of notify channels.
    pub notify: Pool,
    /// What was last seen of the notifier.
    pub notifier: Snapshot,
    /// Notify events that wait until the notifier can be asked for them.
    pub postponed: Postponed,
    /// What sends notifications.
    pub transports: Transports,
    /// The gate to the database.
    pub availability: Availability,
    /// Signals and tasks.
    pub shutdown: Shutdown,
    /// For the heartbeat.
    pub counters: Counters,
    listener: RwLock<Option<ListenerHandle>>,
}

/// CHANNELS and EXCLUDE_CHANNELS as regular expressions for the claims; `None`: no restriction.
#[derive(Debug, PartialEq, Eq)]
pub struct Served {
    /// What is served.
    pub include: Option<String>,
    /// What is not, whatever `include` says.
    pub exclude: Option<String>,
}

impl Served {
    fn new(config: &ProcessorConfig) -> Self {
        let everything = config.channels.iter().any(|glob| glob == "*");
        Self {
            include: (!everything).then(|| regular_expression(&config.channels)),
            exclude: (!config.exclude_channels.is_empty())
                .then(|| regular_expression(&config.exclude_channels)),
        }
    }

    /// Whether some channels are not served.
    #[must_use]
    pub const fn is_narrowed(&self) -> bool {
        self.include.is_some() || self.exclude.is_some()
    }
}

/// One regular expression of PostgreSQL for a list of globs; an empty list matches nothing.
fn regular_expression(globs: &[String]) -> String {
    let mut text = "^(?:".to_owned();
    for (place, glob) in globs.iter().enumerate() {
        if place > 0 {
            text.push('|');
        }
        for c in glob.chars() {
            match c {
                '*' => text.push_str(".*"),
                '?' => text.push('.'),
                c if c.is_alphanumeric() || c == '_' => text.push(c),
                c => {
                    text.push('\\');
                    text.push(c);
                }
            }
        }
    }
    if globs.is_empty() {
        text.push_str("(?!)");
    }
    text.push_str(")$");
    text
}

impl Engine {
    /// An engine at rest.
    #[must_use]
    pub fn new(
        config: ProcessorConfig,
        connector: Connector,
        shutdown: Shutdown,
        host: String,
    ) -> Self {
        let served = Served::new(&config);
        let narrowed = served.is_narrowed();
        let pause = config.poll_interval.duration();
        Self {
            id: Uuid::new_v4(),
            host,
            connector,
            served,
            sql: Pool::new(SLEEPER_SQL, narrowed, pause),
            notify: Pool::new(SLEEPER_NOTIFY, narrowed, pause),
            notifier: Snapshot::new(),
            postponed: Postponed::default(),
            transports: Transports::new(Secrets::of_this_process(&config)),
            availability: Availability::new(),
            shutdown,
            counters: Counters::default(),
            listener: RwLock::new(None),
            config,
        }
    }

    /// The listener of the present access, if there is one.
    pub fn listener(&self) -> Option<ListenerHandle> {
        let listener = self.listener.read();
        listener.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets or removes the listener.
    pub fn set_listener(&self, listener: Option<ListenerHandle>) {
        *self
            .listener
            .write()
            .unwrap_or_else(PoisonError::into_inner) = listener;
    }

    /// Sleeps, unless the drain begins first.
    pub async fn pause(&self, pause: Duration) {
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = self.shutdown.token.cancelled() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::regular_expression;

    #[test]
    fn globs_become_one_anchored_expression() {
        let globs = ["orders.*".to_owned(), "a?".to_owned()];
        assert_eq!(regular_expression(&globs), "^(?:orders\\..*|a.)$");
        assert_eq!(regular_expression(&[]), "^(?:(?!))$");
    }
}
