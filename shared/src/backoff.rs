//! How long to wait before trying again.

use rand::Rng;
use std::time::Duration;

/// Waits that double from `first` up to `max`, each shortened at random by up to a half so that a
/// fleet which lost its database together does not come back together.
#[derive(Debug, Clone)]
pub struct Backoff {
    first: Duration,
    max: Duration,
    ceiling: Duration,
}

impl Backoff {
    /// The first wait lies in `[first / 2, first]`; no wait is longer than `max`. A `first` above
    /// `max` is taken as `max`.
    #[must_use]
    pub fn new(first: Duration, max: Duration) -> Self {
        let first = first.min(max);
        Self {
            first,
            max,
            ceiling: first,
        }
    }

    /// The next wait; the one after it has twice the ceiling.
    #[expect(
        clippy::should_implement_trait,
        reason = "an endless iterator of waits would invite collect() and for loops"
    )]
    pub fn next(&mut self) -> Duration {
        let ceiling = self.ceiling;
        self.ceiling = ceiling.saturating_mul(2).min(self.max);
        rand::rng().random_range(ceiling / 2..=ceiling)
    }

    /// Starts over; to be called only when the thing waited for has really worked.
    pub fn reset(&mut self) {
        self.ceiling = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::Backoff;
    use proptest::prelude::*;
    use std::time::Duration;

    proptest! {
        #[test]
        fn waits_stay_within_the_doubling_ceiling(first in 1u64..5_000, max in 1u64..60_000, tries in 1u32..40) {
            let (first, max) = (Duration::from_millis(first), Duration::from_millis(max));
            let mut backoff = Backoff::new(first, max);
            let mut ceiling = first.min(max);
            for _ in 0..tries {
                let wait = backoff.next();
                prop_assert!(wait >= ceiling / 2 && wait <= ceiling, "{wait:?} outside [{:?}, {ceiling:?}]", ceiling / 2);
                ceiling = (ceiling * 2).min(max);
            }
            backoff.reset();
            prop_assert!(backoff.next() <= first.min(max));
        }
    }

    #[test]
    fn a_zero_first_wait_does_not_panic() {
        let mut backoff = Backoff::new(Duration::ZERO, Duration::from_secs(1));
        assert_eq!(backoff.next(), Duration::ZERO);
    }
}
