//! Events that are left alone for a while, because asking the notifier about them failed for a reason that says nothing about them: a lock, a conflict, a time limit.
//!
//! Invariants:
//! * no retry is burned and no event is ended by it: what is in the way (VACUUM FULL of the notifier's tables, say) may stay for hours, and nothing was sent.
//!   Such an event waits until it can be asked for, or until its `expire_at`;
//! * each event is asked for again after pauses of its own, from one second to half a minute, while its worker serves others. A lane waits with its head;
//! * events whose pause is over have every other turn of a worker: they are older than others, and would come first always;
//! * the operator hears of the first event of a trouble at once, and of every event at its 10th, 100th, … time: a lock on a table makes one line, and an event
//!   that never gets through is named.

use shared::backoff::Backoff;
use shared::logging::repeat::Repeats;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// First pause of an event, which doubles.
const FIRST: Duration = Duration::from_secs(1);
/// Its longest pause.
const LONGEST: Duration = Duration::from_secs(30);
/// An event that has not come back this long after its pause was served elsewhere.
const FORGOTTEN_AFTER: Duration = Duration::from_mins(1);

/// The postponed events of a Processor.
#[derive(Debug, Default)]
pub struct Postponed(Mutex<HashMap<i64, Entry>>);

#[derive(Debug)]
struct Entry {
    lane: Option<i64>,
    until: Instant,
    backoff: Backoff,
    repeats: Repeats,
}

/// Whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// That of events that were not postponed.
    Others,
    /// Everybody's whose pause, if any, is over.
    All,
}

impl Whose {
    /// The one that follows.
    #[must_use]
    pub const fn next(self) -> Self {
        match self {
            Self::Others => Self::All,
            Self::All => Self::Others,
        }
    }
}

impl Entry {
    fn waits(&self, whose: Whose, now: Instant) -> bool {
        whose == Whose::Others || now < self.until
    }
}

impl Postponed {
    /// Leaves event `id`, and its lane if it has one, alone for a while. Returns how often that has been so, when it is worth a line in the log.
    pub fn postpone(&self, id: i64, lane: Option<i64>, problem: &str) -> Option<u64> {
        let now = Instant::now();
        let mut entries = self.lock();
        entries.retain(|_, entry| now < entry.until + FORGOTTEN_AFTER);
        let alone = entries.keys().all(|other| *other == id);
        let entry = entries.entry(id).or_insert_with(|| Entry {
            lane,
            until: now,
            backoff: Backoff::new(FIRST, LONGEST),
            repeats: Repeats::new(),
        });
        entry.lane = lane;
        entry.until = now + entry.backoff.next();
        let times = entry.repeats.observe(problem);
        times.filter(|times| alone || *times > 1)
    }

    /// Event `id` got through.
    pub fn over(&self, id: i64) {
        self.lock().remove(&id);
    }

    /// The events that a look for `whose` leaves out.
    #[must_use]
    pub fn events(&self, whose: Whose) -> Vec<i64> {
        let now = Instant::now();
        let entries = self.lock();
        let left_out = entries.iter().filter(|(_, entry)| entry.waits(whose, now));
        left_out.map(|(id, _)| *id).collect()
    }

    /// Whether a look for `whose` leaves out `lane`.
    #[must_use]
    pub fn holds_lane(&self, lane: i64, whose: Whose) -> bool {
        let now = Instant::now();
        let entries = self.lock();
        entries
            .values()
            .any(|entry| entry.lane == Some(lane) && entry.waits(whose, now))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<i64, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::{Postponed, Whose};
    use std::time::Instant;

    #[test]
    fn an_event_and_its_lane_are_left_alone_until_it_gets_through() {
        let postponed = Postponed::default();
        postponed.postpone(7, Some(70), "a lock");
        postponed.postpone(8, None, "a lock");
        for whose in [Whose::Others, Whose::All] {
            let mut events = postponed.events(whose);
            events.sort_unstable();
            assert_eq!(events, [7, 8]);
            assert!(postponed.holds_lane(70, whose));
            assert!(!postponed.holds_lane(80, whose), "another lane goes on");
        }
        postponed.over(7);
        assert_eq!(postponed.events(Whose::All), [8]);
        assert!(!postponed.holds_lane(70, Whose::All));
    }

    #[test]
    fn one_whose_pause_is_over_has_every_other_turn() {
        let postponed = Postponed::default();
        postponed.postpone(7, Some(70), "a lock");
        postponed.lock().get_mut(&7).expect("it waits").until = Instant::now();
        assert_eq!(postponed.events(Whose::All), [0_i64; 0]);
        assert!(!postponed.holds_lane(70, Whose::All));
        assert_eq!(postponed.events(Whose::All.next()), [7]);
        assert!(postponed.holds_lane(70, Whose::Others));
        assert_eq!(Whose::Others.next(), Whose::All);
    }

    #[test]
    fn the_first_of_a_trouble_is_told_and_each_event_at_its_tenth_time() {
        let postponed = Postponed::default();
        assert_eq!(postponed.postpone(7, None, "a lock"), Some(1));
        assert_eq!(
            postponed.postpone(8, None, "a lock"),
            None,
            "the same trouble"
        );
        for id in [7, 8] {
            let told: Vec<u64> = (2..=100)
                .filter_map(|_| postponed.postpone(id, None, "a lock"))
                .collect();
            assert_eq!(told, [10, 100], "event {id}");
        }
        postponed.over(7);
        postponed.over(8);
        assert_eq!(
            postponed.postpone(9, None, "a lock"),
            Some(1),
            "a new trouble"
        );
        assert_eq!(
            postponed.postpone(9, None, "a limit"),
            Some(1),
            "another one"
        );
    }
}
