//! The statements of a settlement on their way: all on the wire at once, answered in order, and none run behind one that failed, COMMIT included.

use crate::engine::Engine;
use crate::engine::pipeline::Pipeline;
use crate::engine::session::WorkerSession;
use crate::engine::step::{ANSWER_LIMIT, StepError, within};
use std::time::{Duration, Instant};
use tokio_postgres::Error;

/// Longest answer to one statement up to `set_status`, with what it waits for.
const LIMIT: Duration = Duration::from_secs(10);

/// The part of a settlement that a statement belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Savepoint or row lock.
    Row,
    /// The notifier's `set_status`, and what it deferred.
    Report,
    /// Queue and log.
    Verdict,
    /// COMMIT.
    Commit,
}

/// The answer to one statement: of which part, and whether it was what was hoped for.
pub type Answer = (Part, Result<bool, Error>);

/// Savepoint, the limit of `set_status`, and row lock; the answer tells whether the event is still pending.
#[must_use]
pub fn locking<'a>(engine: &Engine, session: &'a WorkerSession, id: i64) -> Pipeline<'a, Answer> {
    // A drain finds one report under way and has time for one more and the settlement without it.
    let limit = LIMIT.min(engine.config.shutdown_timeout.duration() / 3);
    let savepoint = format!(
        "SAVEPOINT settlement; SET LOCAL statement_timeout = {}",
        limit.as_millis()
    );
    let mut pipeline: Pipeline<'_, Answer> = Pipeline::with_capacity(6);
    pipeline.push(async move {
        let set = session.client().batch_execute(&savepoint).await;
        (Part::Row, set.map(|()| true))
    });
    pipeline.push(async move {
        let lock = &session.statements.lock_notify;
        let row = session.client().query_opt(lock, &[&id]).await;
        (Part::Row, row.map(|row| row.is_some()))
    });
    pipeline
}

/// Sends a flight and takes its answers: whether all of them were yes, or the first that failed.
pub async fn answers(
    mut pipeline: Pipeline<'_, Answer>,
    deadline: Instant,
) -> Result<bool, (Part, StepError)> {
    pipeline.send().await;
    let mut all = true;
    let mut part = Part::Row;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let next = async {
            match pipeline.next().await {
                None => Ok(None),
                Some((of, answer)) => {
                    part = of;
                    answer.map(Some)
                }
            }
        };
        match within(left, next).await {
            Ok(Some(yes)) => all &= yes,
            Ok(None) => return Ok(all),
            Err(error) => return Err((part, error)),
        }
    }
}

/// Back to where the claim is held and nothing is recorded, with our own settings.
pub async fn back_to_savepoint(session: &WorkerSession) -> Result<(), StepError> {
    let back = format!(
        "ROLLBACK TO SAVEPOINT settlement; RELEASE SAVEPOINT settlement; {}",
        session.after_action()
    );
    within(ANSWER_LIMIT, session.client().batch_execute(&back)).await
}

/// Opens a transaction and takes the claim lock of event `id`; `false`, with none open, when somebody else has it.
pub async fn claim_again(session: &WorkerSession, id: i64) -> Result<bool, StepError> {
    const LOCK: &str = "SELECT pg_try_advisory_xact_lock(pgrelay._claim_key($1))";
    session.rollback().await?;
    let claim = async {
        let ((), row) = futures_util::future::try_join(
            session.begin(),
            session.client().query_one(LOCK, &[&id]),
        )
        .await?;
        Ok(row.get(0))
    };
    let claimed: bool = within(ANSWER_LIMIT, claim).await?;
    if !claimed {
        session.rollback_empty().await?;
    }
    Ok(claimed)
}
