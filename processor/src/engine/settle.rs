//! Recording verdicts inside the held transaction.
//!
//! The status of the event and its log row are written by one statement, in the transaction that also holds the action's effect.
//! Nothing here commits.

use super::event::Event;
use super::verdict::Verdict;
use super::wire::Timestamp;
use super::{Engine, error_text, session::WorkerSession, step::StepError};
use std::time::Duration;

/// An attempt that succeeded.
#[derive(Debug)]
pub struct Success<'a> {
    /// The event.
    pub event: &'a Event,
    /// Start of the attempt after the claim.
    pub started: Duration,
    /// Its length.
    pub took: Duration,
}

/// An event that ended otherwise.
#[derive(Debug)]
pub struct Ending {
    /// The event.
    pub id: i64,
    /// Its channel.
    pub channel: String,
    /// Number of the attempt.
    pub attempt: i32,
    /// What it came to; not a retry, which has a statement of its own.
    pub verdict: Verdict,
    /// SQLSTATE of the failure.
    pub sqlstate: Option<String>,
    /// What went wrong, fit for the log.
    pub error: Option<String>,
    /// The twin whose run served it.
    pub served_by: Option<i64>,
}

/// When an attempt was made.
#[derive(Debug, Clone, Copy)]
pub struct When {
    /// The database's time of the claim.
    pub claimed_at: Timestamp,
    /// Start of the attempt after it.
    pub started: Duration,
    /// Length of the attempt.
    pub took: Duration,
}

/// A failure as the log shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The server's SQLSTATE, if it gave one.
    pub sqlstate: Option<String>,
    /// What went wrong, fit for the log.
    pub error: String,
}

impl Failure {
    /// What the server reported, if it was the server that spoke.
    #[must_use]
    pub fn of(error: &StepError) -> Option<Self> {
        match error {
            StepError::Reported(error) => Some(Self {
                sqlstate: error.code().map(|state| state.code().to_owned()),
                error: error_text::of_server_error(error),
            }),
            StepError::Silent(_) | StepError::Spoiled | StepError::LostDuringSend => None,
        }
    }

    /// What we hold against the action ourselves.
    #[must_use]
    pub fn refused(problem: &str) -> Self {
        Self {
            sqlstate: None,
            error: error_text::storable(problem),
        }
    }
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// `done` for all of these; `claimed_at` is the claim their attempts are counted from.
pub async fn done(
    engine: &Engine,
    session: &WorkerSession,
    claimed_at: Timestamp,
    successes: &[Success<'_>],
) -> Result<(), tokio_postgres::Error> {
    let ids: Vec<i64> = successes.iter().map(|s| s.event.id).collect();
    let channels: Vec<&str> = successes.iter().map(|s| s.event.channel.as_str()).collect();
    let attempts: Vec<i32> = successes.iter().map(|s| s.event.attempt()).collect();
    let started: Vec<f64> = successes.iter().map(|s| milliseconds(s.started)).collect();
    let took: Vec<f64> = successes.iter().map(|s| milliseconds(s.took)).collect();
    session
        .client()
        .execute(
            &session.statements.settle_done,
            &[
                &ids,
                &channels,
                &attempts,
                &started,
                &took,
                &claimed_at,
                &engine.id,
                &engine.host,
                &session.node,
            ],
        )
        .await?;
    Ok(())
}

/// Any other ends.
pub async fn endings(
    engine: &Engine,
    session: &WorkerSession,
    when: When,
    endings: &[Ending],
) -> Result<(), tokio_postgres::Error> {
    let ids: Vec<i64> = endings.iter().map(|e| e.id).collect();
    let channels: Vec<&str> = endings.iter().map(|e| e.channel.as_str()).collect();
    let attempts: Vec<i32> = endings.iter().map(|e| e.attempt).collect();
    let queue: Vec<&str> = endings.iter().map(|e| e.verdict.queue_status()).collect();
    let log: Vec<&str> = endings.iter().map(|e| e.verdict.log_status()).collect();
    let states: Vec<Option<&str>> = endings.iter().map(|e| e.sqlstate.as_deref()).collect();
    let errors: Vec<Option<&str>> = endings.iter().map(|e| e.error.as_deref()).collect();
    let served_by: Vec<Option<i64>> = endings.iter().map(|e| e.served_by).collect();
    session
        .client()
        .execute(
            &session.statements.settle_other,
            &[
                &ids,
                &channels,
                &attempts,
                &queue,
                &log,
                &states,
                &errors,
                &served_by,
                &when.claimed_at,
                &milliseconds(when.took),
                &engine.id,
                &engine.host,
                &session.node,
            ],
        )
        .await?;
    Ok(())
}

/// Lanes as the channels have them now.
pub async fn move_lane(session: &WorkerSession, ids: &[i64]) -> Result<(), tokio_postgres::Error> {
    let statement = &session.statements.move_lane;
    session.client().execute(statement, &[&ids]).await?;
    Ok(())
}

/// A retry after `delay`.
pub async fn retry(
    engine: &Engine,
    session: &WorkerSession,
    event: &Event,
    delay: Duration,
    failure: &Failure,
    when: When,
) -> Result<(), tokio_postgres::Error> {
    session
        .client()
        .execute(
            &session.statements.settle_retry,
            &[
                &event.id,
                &delay.as_secs_f64(),
                &failure.sqlstate,
                &failure.error,
                &when.claimed_at,
                &milliseconds(when.took),
                &engine.id,
                &engine.host,
                &session.node,
            ],
        )
        .await?;
    Ok(())
}
