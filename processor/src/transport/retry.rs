//! When a retry follows a transient failure: the schedule of the queue, unless the profile has one of its own.

use super::document::{Fields, Malformed};
use crate::engine::verdict::retry_delay;
use std::time::Duration;

/// Longest pause that a server's `Retry-After` can ask for.
const LONGEST_RETRY_AFTER: Duration = Duration::from_mins(5);
/// Most entries of `backoff_seconds`, and its longest pause in seconds.
const ENTRIES_MAX: usize = 20;
const SECONDS_MAX: u64 = 86_400;

/// `backoff_seconds` and `honour_retry_after` of a profile.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Pauses before the first, second, … retry; the last one repeats. Empty: the queue's own.
    backoff: Vec<Duration>,
    honour_retry_after: bool,
}

impl RetryPolicy {
    /// Reads a profile.
    pub fn read(profile: &Fields<'_>) -> Result<Self, Malformed> {
        let backoff = match profile.get("backoff_seconds") {
            None => Vec::new(),
            Some(given) if given.is_array() => {
                let entries = given.array()?;
                if entries.is_empty() || entries.len() > ENTRIES_MAX {
                    return Err(given.malformed(format!(
                        "expected one whole number of seconds, or 1 to {ENTRIES_MAX} of them"
                    )));
                }
                let seconds: Result<Vec<u64>, Malformed> = entries
                    .iter()
                    .map(|entry| entry.integer(1, SECONDS_MAX))
                    .collect();
                seconds?.into_iter().map(Duration::from_secs).collect()
            }
            Some(given) => vec![Duration::from_secs(given.integer(1, SECONDS_MAX)?)],
        };
        Ok(Self {
            backoff,
            honour_retry_after: profile.boolean("honour_retry_after")?.unwrap_or(false),
        })
    }

    /// Pause before the retry whose `retry_count` will be `retry_count`, after a server asked for `retry_after`.
    #[must_use]
    pub fn delay(&self, retry_count: i32, retry_after: Option<Duration>) -> Duration {
        let place = usize::try_from(retry_count.saturating_sub(1)).unwrap_or(0);
        let own = self
            .backoff
            .get(place)
            .or(self.backoff.last())
            .copied()
            .unwrap_or_else(|| retry_delay(retry_count));
        let asked = retry_after.filter(|_| self.honour_retry_after);
        own.max(asked.unwrap_or_default().min(LONGEST_RETRY_AFTER))
    }
}

#[cfg(test)]
mod tests {
    use super::RetryPolicy;
    use crate::transport::document::Fields;
    use crate::transport::secrets::Resolved;
    use serde_json::{Value, json};
    use std::time::Duration;

    fn policy(profile: &Value) -> Result<RetryPolicy, String> {
        let secrets = Resolved::default();
        let fields = Fields::of_profile(profile, &secrets).unwrap();
        RetryPolicy::read(&fields).map_err(|malformed| malformed.detail())
    }

    fn delays(profile: &Value, retry_after: Option<u64>) -> Vec<u64> {
        let policy = policy(profile).unwrap();
        let retry_after = retry_after.map(Duration::from_secs);
        (1..=5)
            .map(|retry| policy.delay(retry, retry_after).as_secs())
            .collect()
    }

    #[test]
    fn without_keys_the_schedule_is_the_queues_whatever_the_server_asks() {
        assert_eq!(delays(&json!({}), None), [3, 5, 10, 10, 10]);
        assert_eq!(delays(&json!({}), Some(60)), [3, 5, 10, 10, 10]);
    }

    #[test]
    fn backoff_seconds_replaces_it_and_its_last_entry_repeats() {
        let one = json!({"backoff_seconds": 300});
        assert_eq!(delays(&one, None), [300; 5]);
        let list = json!({"backoff_seconds": [1, 60, 600]});
        assert_eq!(delays(&list, None), [1, 60, 600, 600, 600]);
    }

    #[test]
    fn retry_after_only_lengthens_a_pause_and_is_capped() {
        let honours = json!({"honour_retry_after": true});
        assert_eq!(delays(&honours, Some(7)), [7, 7, 10, 10, 10]);
        assert_eq!(delays(&honours, Some(86_400)), [300; 5]);
        let both = json!({"honour_retry_after": true, "backoff_seconds": 600});
        assert_eq!(delays(&both, Some(86_400)), [600; 5]);
    }

    #[test]
    fn malformed_keys_are_named() {
        for (value, expected) in [
            (json!({"backoff_seconds": 0}), "backoff_seconds"),
            (json!({"backoff_seconds": []}), "backoff_seconds"),
            (json!({"backoff_seconds": [3, "5"]}), "backoff_seconds[1]"),
            (json!({"backoff_seconds": [3, 86_401]}), "1 to 86400"),
            (json!({"honour_retry_after": "yes"}), "honour_retry_after"),
        ] {
            let problem = policy(&value).expect_err(&value.to_string());
            assert!(problem.contains(expected), "{problem}");
        }
    }
}
