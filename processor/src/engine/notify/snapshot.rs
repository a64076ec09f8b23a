//! What this Processor last saw of the notifier.
//!
//! The control task sets it at start and with every reload. Workers go by it as long as it says that the notifier can be called and the notifier bears that
//! out. Before they end an event because of the notifier they look for themselves (pg_relay_notifier: Unservable states and recovery):
//! * a look counts for an event only if it began after the event was claimed, so nothing that was installed before is missed;
//! * looks are one at a time, and all that wait for one share the next;
//! * what a look shows to be outdated is reloaded by the control task, once, however many workers ask for it.

use super::interface::{self, Interface};
use crate::engine::step::{ANSWER_LIMIT, StepError, within};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{Mutex, Notify, watch};
use tokio_postgres::Client;

/// Longest wait for the control task to reload.
const RELOAD_LIMIT: Duration = Duration::from_secs(5);

/// What was seen, and in which order.
#[derive(Debug, Clone)]
pub struct Known {
    /// The notifier.
    pub interface: Interface,
    generation: u64,
}

/// The last-known copy.
#[derive(Debug)]
pub struct Snapshot {
    known: watch::Sender<Known>,
    /// Every generation below this one is outdated.
    outdated_below: AtomicU64,
    reload: Notify,
    last_look: Mutex<Option<(Instant, Interface)>>,
}

impl Default for Snapshot {
    fn default() -> Self {
        Self::new()
    }
}

impl Snapshot {
    /// Nothing seen yet.
    #[must_use]
    pub fn new() -> Self {
        let nothing = Known {
            interface: Interface::Absent,
            generation: 0,
        };
        Self {
            known: watch::Sender::new(nothing),
            outdated_below: AtomicU64::new(0),
            reload: Notify::new(),
            last_look: Mutex::new(None),
        }
    }

    /// What was last seen.
    #[must_use]
    pub fn known(&self) -> Known {
        self.known.borrow().clone()
    }

    /// The control task saw this.
    pub fn publish(&self, interface: Interface) {
        self.known.send_modify(|known| {
            known.interface = interface;
            known.generation += 1;
        });
    }

    /// What there is of the notifier, by a look that began after `since`, in the open transaction of `client`.
    pub async fn look_again(
        &self,
        client: &Client,
        since: Instant,
    ) -> Result<Interface, StepError> {
        let mut last = self.last_look.lock().await;
        if let Some((began, interface)) = &*last
            && *began > since
        {
            return Ok(interface.clone());
        }
        let began = Instant::now();
        let interface = within(ANSWER_LIMIT, interface::look(client)).await?;
        *last = Some((began, interface.clone()));
        Ok(interface)
    }

    /// A look showed that `known` is not how things are: the control task reloads.
    pub fn outdated(&self, known: &Known) {
        self.outdated_below
            .fetch_max(known.generation + 1, Ordering::SeqCst);
        self.reload.notify_one();
    }

    /// Waits until something else than `known` is known, but not for ever.
    pub async fn renewed(&self, known: &Known) {
        let mut now = self.known.subscribe();
        let renewed = now.wait_for(|now| now.generation != known.generation);
        if tokio::time::timeout(RELOAD_LIMIT, renewed).await.is_err() {
            tracing::debug!("the snapshot of the notifier is not renewed yet");
        }
    }

    /// Returns when a worker has found the copy outdated. For the control task.
    pub async fn reload_wanted(&self) {
        self.reload.notified().await;
    }

    /// Whether the copy is outdated: a request that came while a reload went on is served by it.
    #[must_use]
    pub fn is_outdated(&self) -> bool {
        self.known.borrow().generation < self.outdated_below.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::Snapshot;
    use crate::engine::notify::interface::Interface;

    #[test]
    fn many_requests_to_reload_are_served_by_one() {
        let snapshot = Snapshot::new();
        assert!(!snapshot.is_outdated());
        let seen = snapshot.known();
        snapshot.outdated(&seen);
        snapshot.outdated(&seen);
        assert!(snapshot.is_outdated());
        snapshot.publish(Interface::Absent);
        assert!(!snapshot.is_outdated());
        snapshot.outdated(&seen);
        assert!(!snapshot.is_outdated(), "that copy is gone already");
        snapshot.outdated(&snapshot.known());
        assert!(snapshot.is_outdated());
    }
}
