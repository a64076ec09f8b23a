//! How fast each channel is, and so how many of its events may share a transaction.
//!
//! A batch should take about ten milliseconds: long enough to share the cost of a commit, short enough to hold nobody up.
//! A channel is batched once a single attempt has shown that its action is fast, and stays single for a minute when more than
//! one in a hundred of its batches failed, since a failed batch is work thrown away.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
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

/// From here on an action is a hog: one worker of a pool is kept free of them.
const HOG: Duration = Duration::from_millis(100);

/// Pace of every channel this Processor has met.
#[derive(Debug, Default)]
pub struct Paces(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    paces: HashMap<String, Pace>,
    apart: Arc<Apart>,
    /// The lists have to be made anew.
    stale: bool,
    /// Or will have to be then, because a channel has cooled down.
    stale_from: Option<Instant>,
}

#[derive(Debug, Default)]
struct Pace {
    /// Smoothed length of one action.
    action: Option<Duration>,
    /// It was slow when last judged. It has to become clearly faster to be called fast again.
    slow: bool,
    /// `update(p_batch := false)`.
    forbidden: bool,
    batches: u32,
    failures: u32,
    single_until: Option<Instant>,
}

/// Channels whose events run alone. They are claimed in a stream of their own, so that neither stream has to walk over the other's backlog or to
/// let go of what does not go together.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Apart {
    /// All of them.
    pub all: Vec<String>,
    /// Without those whose actions take very long.
    pub without_hogs: Vec<String>,
}

impl Pace {
    fn is_cooling(&self) -> bool {
        self.single_until
            .is_some_and(|until| until > Instant::now())
    }

    fn is_batchable(&self) -> bool {
        self.action.is_some() && !self.slow && !self.forbidden && !self.is_cooling()
    }
}

impl Paces {
    /// Whether events of `channel` may be batched. A channel nobody has measured yet may not.
    pub fn batchable(&self, channel: &str) -> bool {
        self.lock()
            .paces
            .get(channel)
            .is_some_and(Pace::is_batchable)
    }

    /// The channels known to run alone, and whether that has changed since the last call.
    pub fn apart(&self) -> (Arc<Apart>, bool) {
        let mut known = self.lock();
        let due = known.stale_from.is_some_and(|from| from <= Instant::now());
        if !known.stale && !due {
            return (Arc::clone(&known.apart), false);
        }
        let mut apart = Apart::default();
        for (channel, pace) in &known.paces {
            if pace.action.is_none() || pace.is_batchable() {
                continue;
            }
            apart.all.push(channel.clone());
            if pace.action.is_some_and(|action| action < HOG) {
                apart.without_hogs.push(channel.clone());
            }
        }
        apart.all.sort_unstable();
        apart.without_hogs.sort_unstable();
        let cooling = known.paces.values().filter(|pace| pace.is_cooling());
        known.stale_from = cooling.filter_map(|pace| pace.single_until).min();
        known.stale = false;
        let changed = *known.apart != apart;
        known.apart = Arc::new(apart);
        (Arc::clone(&known.apart), changed)
    }

    /// A claim met `channel`, which allows batches or not.
    pub fn met(&self, channel: &str, batch: bool) {
        let mut known = self.lock();
        if let Some(pace) = known.paces.get_mut(channel)
            && pace.forbidden == batch
        {
            pace.forbidden = !batch;
            known.stale = true;
        }
    }

    /// A single attempt at an event of `channel` ended, well or not.
    pub fn measured(&self, channel: &str, took: Duration, batch: bool) {
        let mut known = self.lock();
        let pace = known.paces.entry(channel.to_owned()).or_default();
        let before = (pace.is_batchable(), pace.action);
        pace.forbidden = !batch;
        pace.smooth(took);
        let was_hog = before.1.is_some_and(|action| action >= HOG);
        let is_hog = pace.action.is_some_and(|action| action >= HOG);
        if before.1.is_none() || before.0 != pace.is_batchable() || was_hog != is_hog {
            known.stale = true;
        }
    }

    /// Actions of `channel` took `took` each in a batch.
    pub fn measured_in_batch(&self, channel: &str, took: Duration) {
        let mut known = self.lock();
        if let Some(pace) = known.paces.get_mut(channel) {
            let before = pace.slow;
            pace.smooth(took);
            if pace.slow != before {
                known.stale = true;
            }
        }
    }

    /// A batch with events of `channel` ended.
    pub fn batch_ended(&self, channel: &str, failed: bool) {
        let mut known = self.lock();
        let Some(pace) = known.paces.get_mut(channel) else {
            return;
        };
        pace.batches += 1;
        pace.failures += u32::from(failed);
        let mut goes_single = false;
        // One failure may be anybody's; the second of less than two hundred batches is the channel's.
        if failed && pace.failures >= 2 && pace.failures * 100 > pace.batches {
            pace.single_until = Some(Instant::now() + COOLING);
            pace.batches = 0;
            pace.failures = 0;
            goes_single = true;
        }
        if pace.batches > WINDOW {
            pace.batches /= 2;
            pace.failures /= 2;
        }
        known.stale |= goes_single;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pace {
    fn smooth(&mut self, took: Duration) {
        let action = self.action.map_or(took, |old| (old * 7 + took) / 8);
        self.action = Some(action);
        self.slow = if self.slow {
            action >= SLOW * 4 / 5
        } else {
            action >= SLOW
        };
    }
}

/// How many events a batch claims. It starts at one.
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

    /// The actions of a batch of `events` took `took`: aim at ten milliseconds, at most doubling.
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
        paces.measured("a", FAST, true);
        assert!(paces.batchable("a"));
        paces.measured("b", Duration::from_millis(20), true);
        assert!(!paces.batchable("b"));
    }

    #[test]
    fn channels_that_run_alone_are_listed_and_hogs_apart() {
        let paces = Paces::default();
        paces.measured("fast", FAST, true);
        paces.measured("slow", Duration::from_millis(20), true);
        paces.measured("hog", Duration::from_secs(1), true);
        paces.measured("forbidden", FAST, false);
        let (apart, changed) = paces.apart();
        assert!(changed);
        assert_eq!(apart.all, ["forbidden", "hog", "slow"]);
        assert_eq!(apart.without_hogs, ["forbidden", "slow"]);
        assert!(!paces.apart().1, "nothing new");
        paces.met("forbidden", true);
        let (apart, changed) = paces.apart();
        assert!(changed);
        assert_eq!(apart.all, ["hog", "slow"]);
    }

    #[test]
    fn a_channel_with_failing_batches_goes_single() {
        let paces = Paces::default();
        paces.measured("a", FAST, true);
        paces.batch_ended("a", true);
        assert!(paces.batchable("a"), "one failure may be a neighbour's");
        paces.batch_ended("a", true);
        assert!(!paces.batchable("a"));
    }

    #[test]
    fn one_failure_in_a_hundred_is_tolerated() {
        let paces = Paces::default();
        paces.measured("a", FAST, true);
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
