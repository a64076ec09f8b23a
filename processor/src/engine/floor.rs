//! Where claims start.
//!
//! Finished events stay in the pending indexes until vacuum may remove them, and somebody's long transaction can
//! forbid that for hours. A claim that started at the beginning would walk over all of them every time. So claims
//! start at the *floor*: the place behind the last event this Processor claimed.
//!
//! Events do appear below the floor: `run_at` is the start of the transaction that enqueued them, another Processor may let go of one,
//! and a claim may fail. Hence two rules: whatever is let go here lowers the floor, and *full looks*, which start at the beginning,
//! happen whenever a claim comes back short, and from time to time even when none does. Full looks are one at a time and take at most a tenth
//! of the time, so that they cannot become the walk they are there to avoid.

use super::wire::{Key, Timestamp};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Share of the time that full looks may take: one part in this many.
const FULL_LOOK_SHARE: u32 = 10;

/// Even while every claim is full, events below the floor are looked for this often.
const FULL_LOOK_EVERY: Duration = Duration::from_millis(100);

/// The floor of one pool.
#[derive(Debug)]
pub struct Floor {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    start: Key,
    looking: bool,
    next_full: Instant,
    last_full: Instant,
}

/// Permission for one full look; how long it took decides when the next may follow.
#[derive(Debug)]
pub struct FullLook<'a> {
    floor: &'a Floor,
    began: Instant,
}

impl Default for Floor {
    fn default() -> Self {
        Self::new()
    }
}

impl Floor {
    /// A floor below everything.
    #[must_use]
    pub fn new() -> Self {
        let now = Instant::now();
        Self {
            state: Mutex::new(State {
                start: Key::MIN,
                looking: false,
                next_full: now,
                last_full: now,
            }),
        }
    }

    /// Where the next claim starts.
    pub fn start(&self) -> Key {
        self.lock().start
    }

    /// A claim that started at `from` took events up to `last`. When the floor was lowered meanwhile, the claim has not seen what lies between.
    pub fn passed(&self, from: Key, last: Key) {
        let mut state = self.lock();
        if from <= state.start {
            state.start = state.start.max(last.next());
        }
    }

    /// A claim from the floor found nothing that is due up to `now`. What is up to a second old may still be uncommitted, and full looks
    /// should be left to what is older.
    pub fn found_nothing(&self, now: Timestamp) {
        const SLACK_MICROSECONDS: i64 = 1_000_000;
        let run_at = Timestamp(now.0.saturating_sub(SLACK_MICROSECONDS));
        let mut state = self.lock();
        state.start = state.start.max(Key {
            run_at,
            id: i64::MIN,
        });
    }

    /// A full look came back full, with `last` as its last event: what is behind it may be live.
    pub fn full_look_was_full(&self, last: Key) {
        self.lock().start = last.next();
    }

    /// An event at `key` was let go.
    pub fn lower(&self, key: Key) {
        let mut state = self.lock();
        state.start = state.start.min(key);
    }

    /// Forget what is known (new session, another node).
    pub fn clear(&self) {
        self.lock().start = Key::MIN;
    }

    /// Whether a full look is due although claims are full.
    pub fn full_look_overdue(&self) -> bool {
        let state = self.lock();
        state.start != Key::MIN && state.last_full.elapsed() >= FULL_LOOK_EVERY
    }

    /// Leave for a full look, unless one is going on or the last one was too recent for its cost.
    pub fn try_full_look(&self) -> Option<FullLook<'_>> {
        let mut state = self.lock();
        let now = Instant::now();
        if state.looking || now < state.next_full {
            return None;
        }
        state.looking = true;
        Some(FullLook {
            floor: self,
            began: now,
        })
    }

    /// How long until a full look is allowed.
    pub fn until_full_look(&self) -> Duration {
        self.lock()
            .next_full
            .saturating_duration_since(Instant::now())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for FullLook<'_> {
    fn drop(&mut self) {
        let now = Instant::now();
        let mut state = self.floor.lock();
        state.looking = false;
        state.last_full = now;
        state.next_full = now + (now - self.began) * (FULL_LOOK_SHARE - 1);
    }
}

#[cfg(test)]
mod tests {
    use super::super::wire::{Key, Timestamp};
    use super::Floor;

    fn key(at: i64, id: i64) -> Key {
        Key {
            run_at: Timestamp(at),
            id,
        }
    }

    #[test]
    fn claims_raise_it_and_letting_go_lowers_it() {
        let floor = Floor::new();
        floor.passed(Key::MIN, key(10, 5));
        assert_eq!(floor.start(), key(10, 6));
        floor.passed(Key::MIN, key(9, 1));
        assert_eq!(
            floor.start(),
            key(10, 6),
            "a slower claim does not lower it"
        );
        floor.lower(key(9, 1));
        assert_eq!(floor.start(), key(9, 1));
    }

    #[test]
    fn a_full_look_that_came_back_full_moves_it_back() {
        let floor = Floor::new();
        floor.passed(Key::MIN, key(100, 1));
        floor.full_look_was_full(key(50, 1));
        assert_eq!(floor.start(), key(50, 2));
        floor.passed(key(100, 2), key(200, 1));
        assert_eq!(
            floor.start(),
            key(50, 2),
            "a claim from above has not seen it"
        );
    }

    #[test]
    fn full_looks_are_one_at_a_time_and_pay_for_their_cost() {
        let floor = Floor::new();
        let look = floor.try_full_look().expect("the first is free");
        assert!(floor.try_full_look().is_none(), "one at a time");
        std::thread::sleep(std::time::Duration::from_millis(5));
        drop(look);
        assert!(
            floor.try_full_look().is_none(),
            "not before nine times its cost"
        );
        assert!(floor.until_full_look() > std::time::Duration::from_millis(20));
    }
}
