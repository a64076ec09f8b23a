//! A claimed event, as the claims return it.

use super::verdict::Verdict;
use super::wire::{Key, Timestamp};
use tokio_postgres::Row;

/// Claims that ended in an unexplained lost connection before an event is given up.
pub const CRASHES_MAX: i64 = 3;

/// An event whose row this transaction has locked.
#[derive(Debug)]
pub struct Event {
    /// Identity.
    pub id: i64,
    /// When it may run.
    pub run_at: Timestamp,
    /// Its channel.
    pub channel: String,
    /// Retries so far.
    pub retry_count: i32,
    /// It may be folded into the run of a twin.
    pub deduplicate: bool,
    /// What twins share.
    pub twin_key: i64,
    /// The payload, unless it is large.
    pub payload: Option<String>,
    /// The payload has to be fetched.
    pub payload_is_large: bool,
    /// What to do, read from the registry at the claim.
    pub action: Action,
    /// Claims that ended in an unexplained lost connection.
    pub crashes: i64,
    /// Set when there must be no attempt.
    pub refusal: Option<Refusal>,
    /// The database's time of the claim.
    pub claimed_at: Timestamp,
}

/// The channel's side of an event.
#[derive(Debug)]
pub struct Action {
    /// The statement.
    pub sql: String,
    /// Retries allowed.
    pub max_retries: i32,
    /// Limit of one attempt, in milliseconds.
    pub timeout_ms: i64,
    /// It may share a transaction.
    pub batch: bool,
}

/// Why a claimed event is not attempted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// It is resolved at once.
    Resolve {
        /// As what.
        verdict: Verdict,
        /// Why, for the log.
        reason: String,
    },
    /// The concurrency mode of its channel changed since it was enqueued: it goes to another lane.
    WrongLane,
}

impl Event {
    /// Reads a row of a claim.
    #[must_use]
    pub fn from_row(row: &Row) -> Self {
        let action_sql: Option<String> = row.get("action_sql");
        Self {
            id: row.get("id"),
            run_at: row.get("run_at"),
            channel: row.get("channel"),
            retry_count: row.get("retry_count"),
            deduplicate: row.get("deduplicate"),
            twin_key: row.get("twin_key"),
            payload: row.get("payload"),
            payload_is_large: row.get("payload_is_large"),
            action: Action {
                sql: action_sql.unwrap_or_default(),
                max_retries: row.get("max_retries"),
                timeout_ms: row.get("timeout_ms"),
                batch: row.get("batch"),
            },
            crashes: row.get("crashes"),
            refusal: refusal(row),
            claimed_at: row.get("claimed_at"),
        }
    }

    /// Number of the attempt, from 1.
    #[must_use]
    pub const fn attempt(&self) -> i32 {
        self.retry_count.saturating_add(1)
    }

    /// Its place in the index.
    #[must_use]
    pub const fn key(&self) -> Key {
        Key {
            run_at: self.run_at,
            id: self.id,
        }
    }
}

/// Reasons against an attempt, the first that holds. Expiry comes before the channel: what nobody wants any more is not
/// invalid, whatever became of its channel.
fn refusal(row: &Row) -> Option<Refusal> {
    let resolve = |verdict, reason: String| Some(Refusal::Resolve { verdict, reason });
    let crashes: i64 = row.get("crashes");
    if row.get("killed") {
        return resolve(Verdict::Expired, "killed by pgrelay.kill()".to_owned());
    }
    if row.get("expired") {
        return resolve(
            Verdict::Expired,
            "expire_at passed before an attempt".to_owned(),
        );
    }
    if !row.get::<_, bool>("registered") {
        return resolve(Verdict::Invalid, "the channel is not registered".to_owned());
    }
    if !row.get::<_, bool>("enabled") {
        return resolve(Verdict::Invalid, "the channel is disabled".to_owned());
    }
    if crashes >= CRASHES_MAX {
        let reason =
            format!("the database session was lost {crashes} times while this event's action ran");
        return resolve(Verdict::Failed, reason);
    }
    (!row.get::<_, bool>("in_lane")).then_some(Refusal::WrongLane)
}
