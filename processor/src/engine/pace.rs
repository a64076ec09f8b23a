//! How fast each channel is, and so how many of its events may share a transaction.
//!
//! A batch should take about ten milliseconds: long enough to share the cost of a commit, short enough to hold nobody up.
//! A channel is batched once a single attempt has shown that its action is fast, and stays single for a minute when more than
//! one in a hundred of its batches failed, since a failed batch is work thrown away.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What a batch should take.
const BATCH_TARGET: Duration = Duration::from_millis(10);
/// Actions slower than this run alone: a batch of two would already miss the target.
const SLOW: Duration = Duration::from_millis(5);
/// Largest batch.
pub const BATCH_MAX: usize = 100;
/// How long a channel whose batches fail stays single.
const COOLING: Duration = Duration::from_mins(1);
/// Counts are halved here, so that old news fades.
const WINDOW: u32 = 2_000;

/// Pace of every channel this Processor has met.
#[derive(Debug, Default)]
pub struct Paces(Mutex<HashMap<String, Pace>>);

#[derive(Debug, Default)]
struct Pace {
    /// Smoothed length of one action.
    action: Option<Duration>,
    batches: u32,
    failures: u32,
    single_until: Option<Instant>,
}

impl Paces {
    /// Whether events of `channel` may be batched.
    pub fn batchable(&self, channel: &str) -> bool {
        let mut paces = self.lock();
        let Some(pace) = paces.get_mut(channel) else {
            return false;
        };
        if pace
            .single_until
            .is_some_and(|until| until > Instant::now())
        {
            return false;
        }
        pace.single_until = None;
        pace.action.is_some_and(|action| action < SLOW)
    }

    /// An action of `channel` succeeded and took `took`.
    pub fn succeeded(&self, channel: &str, took: Duration) {
        let mut paces = self.lock();
        if let Some(pace) = paces.get_mut(channel) {
            pace.action = Some(match pace.action {
                Some(old) => (old * 7 + took) / 8,
                None => took,
            });
        } else {
            let pace = Pace {
                action: Some(took),
                ..Pace::default()
            };
            paces.insert(channel.to_owned(), pace);
        }
    }

    /// A batch with events of `channel` ended.
    pub fn batch_ended(&self, channel: &str, failed: bool) {
        let mut paces = self.lock();
        let Some(pace) = paces.get_mut(channel) else {
            return;
        };
        pace.batches += 1;
        pace.failures += u32::from(failed);
        // One failure may be anybody's; the second of less than two hundred batches is the channel's.
        if failed && pace.failures >= 2 && pace.failures * 100 > pace.batches {
            pace.single_until = Some(Instant::now() + COOLING);
            pace.batches = 0;
            pace.failures = 0;
        }
        if pace.batches > WINDOW {
            pace.batches /= 2;
            pace.failures /= 2;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, Pace>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many events one worker claims at once. It starts at one.
#[derive(Debug)]
pub struct BatchSize(usize);

impl Default for BatchSize {
    fn default() -> Self {
        Self::new()
    }
}

impl BatchSize {
    /// One.
    #[must_use]
    pub const fn new() -> Self {
        Self(1)
    }

    /// The number to claim.
    #[must_use]
    pub const fn get(&self) -> usize {
        self.0
    }

    /// A batch of `events` took `took`: aim at ten milliseconds, at most doubling.
    pub fn succeeded(&mut self, events: usize, took: Duration) {
        let each =
            took.max(Duration::from_micros(1)) / u32::try_from(events.max(1)).unwrap_or(u32::MAX);
        let fitting = BATCH_TARGET.as_nanos() / each.as_nanos().max(1);
        let fitting = usize::try_from(fitting).unwrap_or(BATCH_MAX);
        self.0 = fitting.clamp(1, BATCH_MAX).min(self.0.saturating_mul(2));
    }

    /// The events at hand do not go together.
    pub fn restart(&mut self) {
        self.0 = 1;
    }
}

#[cfg(test)]
mod tests {
    use super::{BATCH_MAX, BatchSize, Paces};
    use std::time::Duration;

    const FAST: Duration = Duration::from_micros(50);

    #[test]
    fn an_unknown_channel_starts_single_and_a_slow_one_stays_so() {
        let paces = Paces::default();
        assert!(!paces.batchable("a"));
        paces.succeeded("a", FAST);
        assert!(paces.batchable("a"));
        paces.succeeded("b", Duration::from_millis(20));
        assert!(!paces.batchable("b"));
    }

    #[test]
    fn a_channel_with_failing_batches_goes_single() {
        let paces = Paces::default();
        paces.succeeded("a", FAST);
        paces.batch_ended("a", true);
        assert!(paces.batchable("a"), "one failure may be a neighbour's");
        paces.batch_ended("a", true);
        assert!(!paces.batchable("a"));
    }

    #[test]
    fn one_failure_in_a_hundred_is_tolerated() {
        let paces = Paces::default();
        paces.succeeded("a", FAST);
        for batch in 0..5_000 {
            paces.batch_ended("a", batch % 150 == 149);
            assert!(paces.batchable("a"), "after batch {batch}");
        }
    }

    #[test]
    fn the_size_doubles_towards_ten_milliseconds() {
        let mut size = BatchSize::new();
        let mut sizes = Vec::new();
        for _ in 0..8 {
            size.succeeded(size.get(), FAST * u32::try_from(size.get()).expect("small"));
            sizes.push(size.get());
        }
        assert_eq!(sizes, [2, 4, 8, 16, 32, 64, BATCH_MAX, BATCH_MAX]);
        size.succeeded(100, Duration::from_millis(50));
        assert_eq!(size.get(), 20);
    }
}
