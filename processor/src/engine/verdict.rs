//! What an attempt comes to. Pure: evidence in, verdict out.

use shared::db::sqlstate::Judgement;
use std::time::Duration;

/// The end of an event, or of one attempt at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The action succeeded.
    Done,
    /// A transient failure, and a retry is left: a new event follows after the delay.
    Retry(Duration),
    /// A transient failure, and no retry is left.
    RetriesExhausted,
    /// A permanent failure.
    Failed,
    /// `expire_at` passed before an attempt, or the event was killed.
    Expired,
    /// The channel is disabled or not registered.
    Invalid,
}

impl Verdict {
    /// The word in `pgrelay.log.status`.
    #[must_use]
    pub const fn log_status(self) -> &'static str {
        match self {
            Self::Done => "ok",
            Self::Retry(_) => "retry_scheduled",
            Self::RetriesExhausted => "max_retries_exceeded",
            Self::Failed => "error",
            Self::Expired => "expired",
            Self::Invalid => "invalid",
        }
    }

    /// The word in `pgrelay.queue.status`.
    #[must_use]
    pub const fn queue_status(self) -> &'static str {
        match self {
            Self::Done | Self::Retry(_) => "done",
            Self::RetriesExhausted | Self::Failed => "error",
            Self::Expired => "expired",
            Self::Invalid => "invalid",
        }
    }
}

/// Pause before the retry whose `retry_count` will be `retry_count` (pg_relay: Retry Policy).
#[must_use]
pub const fn retry_delay(retry_count: i32) -> Duration {
    Duration::from_secs(match retry_count {
        i32::MIN..=1 => 3,
        2 => 5,
        3..=i32::MAX => 10,
    })
}

/// The verdict on a failed attempt at an event that has been retried `retry_count` times, on a channel that
/// allows `max_retries`. `None`: the failure says nothing about the event, which is claimed again.
#[must_use]
pub fn after_failure(judgement: Judgement, retry_count: i32, max_retries: i32) -> Option<Verdict> {
    match judgement {
        Judgement::Transient if retry_count < max_retries => {
            Some(Verdict::Retry(retry_delay(retry_count.saturating_add(1))))
        }
        Judgement::Transient => Some(Verdict::RetriesExhausted),
        Judgement::Permanent => Some(Verdict::Failed),
        Judgement::NotJudged => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Verdict, after_failure, retry_delay};
    use shared::db::sqlstate::Judgement;
    use std::time::Duration;

    #[test]
    fn the_schedule_is_three_five_then_ten_seconds() {
        let seconds: Vec<u64> = (1..=5).map(|n| retry_delay(n).as_secs()).collect();
        assert_eq!(seconds, [3, 5, 10, 10, 10]);
    }

    #[test]
    fn a_transient_failure_is_retried_until_the_limit() {
        let verdict = |count, max| after_failure(Judgement::Transient, count, max);
        assert_eq!(verdict(0, 0), Some(Verdict::RetriesExhausted));
        assert_eq!(verdict(0, 2), Some(Verdict::Retry(Duration::from_secs(3))));
        assert_eq!(verdict(1, 2), Some(Verdict::Retry(Duration::from_secs(5))));
        assert_eq!(verdict(2, 2), Some(Verdict::RetriesExhausted));
    }

    #[test]
    fn a_permanent_failure_burns_no_retry_and_an_unjudged_one_says_nothing() {
        assert_eq!(
            after_failure(Judgement::Permanent, 0, 1000),
            Some(Verdict::Failed)
        );
        assert_eq!(after_failure(Judgement::NotJudged, 0, 1000), None);
    }
}
