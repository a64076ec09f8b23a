//! What an attempt comes to. Pure: evidence in, verdict out.

use shared::db::sqlstate::Judgement;
use shared::failure::Class;
use std::time::Duration;
use tokio_postgres::error::SqlState;

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

    /// The word for the notifier's `set_status` (pg_relay_notifier: Status lifecycle).
    #[must_use]
    pub const fn notification_status(self) -> &'static str {
        match self {
            Self::Done => "sent",
            Self::Retry(_) => "retry",
            Self::RetriesExhausted | Self::Failed => "failed",
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

/// The verdict on a failed attempt at a notification; `delay` is what its profile makes of the schedule.
#[must_use]
pub const fn after_failed_send(
    class: Class,
    retry_count: i32,
    max_retries: i32,
    delay: Duration,
) -> Verdict {
    match class {
        Class::Transient if retry_count < max_retries => Verdict::Retry(delay),
        Class::Transient => Verdict::RetriesExhausted,
        Class::Permanent => Verdict::Failed,
    }
}

/// What an error that a companion's function raised says: a conflict (40), a lack of resources (53), a lock not had (55P03) or an
/// intervention, time limits included (57), may be over the next time. Nobody can tell an error that the function raised itself from the server's, so
/// it is taken at its word.
#[must_use]
pub fn of_companion(state: Option<&SqlState>) -> Class {
    let passes = |state: &SqlState| {
        ["40", "53", "55P03", "57"]
            .iter()
            .any(|passing| state.code().starts_with(passing))
    };
    if state.is_some_and(passes) {
        Class::Transient
    } else {
        Class::Permanent
    }
}

#[cfg(test)]
mod tests {
    use super::{Verdict, after_failed_send, after_failure, of_companion, retry_delay};
    use shared::db::sqlstate::Judgement;
    use shared::failure::Class;
    use std::time::Duration;
    use tokio_postgres::error::SqlState;

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

    #[test]
    fn a_failed_send_is_retried_after_the_delay_of_its_profile() {
        let delay = Duration::from_mins(5);
        let verdict = |class, count, max| after_failed_send(class, count, max, delay);
        assert_eq!(verdict(Class::Transient, 1, 2), Verdict::Retry(delay));
        assert_eq!(verdict(Class::Transient, 2, 2), Verdict::RetriesExhausted);
        assert_eq!(verdict(Class::Permanent, 0, 2), Verdict::Failed);
    }

    #[test]
    fn errors_of_a_companion_pass_or_do_not() {
        for (code, class) in [
            ("40001", Class::Transient),
            ("53200", Class::Transient),
            ("55P03", Class::Transient),
            ("57014", Class::Transient),
            ("55000", Class::Permanent),
            ("42883", Class::Permanent),
            ("25006", Class::Permanent),
            ("P0001", Class::Permanent),
        ] {
            let state = SqlState::from_code(code);
            assert_eq!(of_companion(Some(&state)), class, "{code}");
        }
        assert_eq!(of_companion(None), Class::Permanent);
    }
}
