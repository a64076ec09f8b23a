//! The last flight of a held transaction: leave the action's settings, write every verdict, commit.
//!
//! All of it is on the wire at once. When a statement fails, the server refuses those behind it, COMMIT included, so either everything is
//! recorded or nothing is.

use super::Engine;
use super::claim::Claimed;
use super::event::Event;
use super::pipeline::Pipeline;
use super::session::WorkerSession;
use super::settle::{self, Ending, Failure, Success, When};
use super::step::{ANSWER_LIMIT, StepError, within};
use super::verdict::Verdict;
use std::time::{Duration, Instant};
use tokio_postgres::Error;

/// What became of the attempts of a claim.
#[derive(Debug, Clone, Copy)]
pub enum Attempts<'a> {
    /// There were none.
    None,
    /// They succeeded.
    Succeeded(&'a [Success<'a>]),
    /// The only one failed.
    Failed {
        /// The event.
        event: &'a Event,
        /// Why.
        failure: &'a Failure,
        /// What that comes to.
        verdict: Verdict,
        /// When.
        when: When,
    },
}

/// A settlement that did not succeed: nothing is recorded.
#[derive(Debug)]
pub struct Unsettled {
    /// It was COMMIT that failed, so the reason may lie with the action.
    pub at_commit: bool,
    /// What failed.
    pub error: StepError,
}

/// Settles everything `claimed` took and commits. `leave` is sent first.
pub async fn settle(
    engine: &Engine,
    session: &WorkerSession,
    claimed: &Claimed,
    leave: Option<&str>,
    attempts: Attempts<'_>,
) -> Result<(), Unsettled> {
    let mut pipeline: Pipeline<'_, Result<(), Error>> = Pipeline::with_capacity(5);
    if let Some(leave) = leave {
        pipeline.push(session.client().batch_execute(leave));
    }
    push_unattempted(&mut pipeline, engine, session, claimed);
    push_attempts(&mut pipeline, engine, session, claimed, attempts);
    pipeline.push(session.commit());
    let steps = pipeline.unanswered();
    pipeline.send().await;
    let deadline = Instant::now() + ANSWER_LIMIT;
    for step in 1..=steps {
        let answer = async { pipeline.next().await.unwrap_or(Ok(())) };
        within(deadline.saturating_duration_since(Instant::now()), answer)
            .await
            .map_err(|error| Unsettled {
                at_commit: step == steps,
                error,
            })?;
    }
    Ok(())
}

/// Events that end, or move to another lane, without an attempt.
fn push_unattempted<'a>(
    pipeline: &mut Pipeline<'a, Result<(), Error>>,
    engine: &'a Engine,
    session: &'a WorkerSession,
    claimed: &'a Claimed,
) {
    if let (false, Some(claimed_at)) = (claimed.endings.is_empty(), claimed.claimed_at) {
        let when = When {
            claimed_at,
            started: Duration::ZERO,
            took: Duration::ZERO,
        };
        pipeline.push(settle::endings(engine, session, when, &claimed.endings));
    }
    if !claimed.wrong_lane.is_empty() {
        pipeline.push(settle::move_lane(session, &claimed.wrong_lane));
    }
}

fn push_attempts<'a>(
    pipeline: &mut Pipeline<'a, Result<(), Error>>,
    engine: &'a Engine,
    session: &'a WorkerSession,
    claimed: &'a Claimed,
    attempts: Attempts<'a>,
) {
    match attempts {
        Attempts::None => {}
        Attempts::Succeeded(successes) => {
            if let Some(claimed_at) = claimed.claimed_at {
                pipeline.push(settle::done(engine, session, claimed_at, successes));
            }
        }
        Attempts::Failed {
            event,
            failure,
            verdict: Verdict::Retry(delay),
            when,
        } => pipeline.push(settle::retry(engine, session, event, delay, failure, when)),
        Attempts::Failed {
            event,
            failure,
            verdict,
            when,
        } => pipeline.push(async move {
            let ending = Ending {
                id: event.id,
                channel: event.channel.clone(),
                attempt: event.attempt(),
                verdict,
                sqlstate: failure.sqlstate.clone(),
                error: Some(failure.error.clone()),
                served_by: None,
            };
            settle::endings(engine, session, when, &[ending]).await
        }),
    }
}
