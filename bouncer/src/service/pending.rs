//! What there is to look at: messages that wake-ups named, and the place where a sweep is.

use shared::db::listener::WakeUp;
use std::collections::BTreeSet;
use tokio::sync::mpsc::Receiver;

use crate::ingress::BATCH;

/// Work that is known of. A wake-up carries no truth: a message may have been moved long ago, or the table may have changed more than
/// was told.
#[derive(Debug, Default)]
pub(super) struct Pending {
    ids: BTreeSet<String>,
    sweep: Option<Position>,
    /// Something was missed behind the back of the sweep that is under way.
    again: bool,
    reconnected: bool,
}

/// Where a sweep is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Position {
    /// The last id that was looked at; `None` at the beginning.
    pub(super) after: Option<String>,
}

impl Pending {
    /// Asks for a sweep of the whole table.
    pub(super) fn sweep(&mut self) {
        if self.sweep.is_some() {
            self.again = true;
        } else {
            self.sweep = Some(Position { after: None });
        }
    }

    /// Begins anew: with a new session nothing of the old one's progress counts.
    pub(super) fn start_over(&mut self) {
        self.again = false;
        self.sweep = Some(Position { after: None });
    }

    /// Takes note of a wake-up.
    pub(super) fn note(&mut self, wake_up: WakeUp) {
        match wake_up {
            WakeUp::Connected => {
                self.reconnected = true;
                self.sweep();
            }
            WakeUp::Topic { payload, .. } => {
                self.ids.insert(payload);
            }
        }
    }

    /// Takes what is waiting, up to one batch of messages: a row that was told of twice is looked at once.
    pub(super) fn take_in(&mut self, wake_ups: &mut Receiver<WakeUp>) {
        while self.ids.len() < BATCH {
            match wake_ups.try_recv() {
                Ok(wake_up) => self.note(wake_up),
                Err(_) => return,
            }
        }
    }

    /// The messages to look at now; they are forgotten.
    pub(super) fn take_ids(&mut self) -> Vec<String> {
        std::mem::take(&mut self.ids).into_iter().collect()
    }

    /// Where the sweep goes on, if there is one.
    pub(super) fn position(&self) -> Option<Position> {
        self.sweep.clone()
    }

    /// The sweep has come to `next`, or to the end of the table.
    pub(super) fn advance(&mut self, next: Option<String>) {
        self.sweep = match next {
            Some(after) => Some(Position { after: Some(after) }),
            None => std::mem::take(&mut self.again).then_some(Position { after: None }),
        };
    }

    /// Whether the listening had to begin again since the last question.
    pub(super) fn was_reconnected(&mut self) -> bool {
        std::mem::take(&mut self.reconnected)
    }

    /// Whether there is nothing to do.
    pub(super) fn is_empty(&self) -> bool {
        self.ids.is_empty() && self.sweep.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::{BATCH, Pending, Position, WakeUp};

    fn topic(payload: &str) -> WakeUp {
        WakeUp::Topic {
            topic: "ingress_failed".to_owned(),
            payload: payload.to_owned(),
        }
    }

    #[test]
    fn a_message_told_of_twice_is_looked_at_once() {
        let mut pending = Pending::default();
        for id in ["7", "8", "7"] {
            pending.note(topic(id));
        }
        assert_eq!(pending.take_ids(), ["7", "8"]);
        assert!(pending.is_empty());
    }

    #[test]
    fn what_is_missed_during_a_sweep_is_found_by_another() {
        let mut pending = Pending::default();
        pending.sweep();
        pending.advance(Some("5".to_owned()));
        pending.note(WakeUp::Connected);
        let after = Some("5".to_owned());
        assert_eq!(pending.position(), Some(Position { after }));
        pending.advance(None);
        assert_eq!(pending.position(), Some(Position { after: None }));
        pending.advance(None);
        assert_eq!(pending.position(), None);
        assert!(pending.was_reconnected() && !pending.was_reconnected());
    }

    #[test]
    fn no_more_is_taken_than_one_batch() {
        let (sender, mut wake_ups) = tokio::sync::mpsc::channel(2 * BATCH);
        for id in 0..2 * BATCH {
            sender.try_send(topic(&id.to_string())).unwrap();
        }
        let mut pending = Pending::default();
        pending.take_in(&mut wake_ups);
        assert_eq!(pending.take_ids().len(), BATCH);
        assert_eq!(wake_ups.len(), BATCH);
    }
}
