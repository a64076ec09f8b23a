//! Several attempts in one transaction, without savepoints: the optimistic batch.
//!
//! If anything fails, that was no attempt. The transaction is rolled back and the events are run singly, each with the real limits of its channel.

use super::claim::Claimed;
use super::event::Event;
use super::pipeline::Pipeline;
use super::session::WorkerSession;
use super::settle::Success;
use super::settlement::{self, Attempts};
use super::step::{ANSWER_LIMIT, StepError, within};
use super::{Engine, report};
use crate::action::check_first_keyword;
use std::time::{Duration, Instant};
use tokio_postgres::{Error, Statement};

/// How a batch ended.
#[derive(Debug)]
pub enum Batched {
    /// Settled and committed.
    Settled {
        /// How long the actions took.
        actions: Duration,
    },
    /// Nothing happened. The channel to blame is known when an action failed, not when COMMIT did.
    Failed {
        /// The channel whose action failed.
        culprit: Option<String>,
        /// What failed, for the debug log.
        error: String,
    },
}

/// Runs the actions of `claimed` one after the other, settles everything the claim took, and commits.
pub async fn run(
    engine: &Engine,
    session: &mut WorkerSession,
    claimed: &Claimed,
    claimed_at: Instant,
) -> Result<Batched, StepError> {
    // A channel may have been given another action since it was found to be fast. Its single run says what is wrong with it.
    let unfit = |event: &&Event| check_first_keyword(&event.action.sql).is_err();
    if let Some(event) = claimed.attempts.iter().find(unfit) {
        return Ok(unfit_action(event));
    }
    let actions = match prepare_actions(session, &claimed.attempts).await {
        Ok(actions) => actions,
        Err(failed) => return as_failed(failed),
    };
    let mut pairs = claimed.attempts.iter().zip(&actions);
    if let Some((event, _)) = pairs.find(|(_, action)| action.params().len() > 1) {
        return Ok(unfit_action(event));
    }
    let successes = match run_actions(session, claimed, &actions, claimed_at).await {
        Ok(successes) => successes,
        Err(failed) => return as_failed(failed),
    };
    let attempts = Attempts::Succeeded(&successes);
    if let Err(unsettled) = settlement::settle(engine, session, claimed, None, attempts).await {
        return as_failed((None, unsettled.error));
    }
    for success in &successes {
        let channel = &success.event.channel;
        engine.sql.paces.measured_in_batch(channel, success.took);
        engine.sql.paces.batch_ended(channel, false);
        report::attempt(
            engine,
            success.event,
            super::verdict::Verdict::Done,
            None,
            success.took,
        );
    }
    report::endings(engine, &claimed.endings);
    let actions = successes.iter().map(|success| success.took).sum();
    Ok(Batched::Settled { actions })
}

fn as_failed((culprit, error): (Option<String>, StepError)) -> Result<Batched, StepError> {
    if error.ends_session() {
        return Err(error);
    }
    // Not the server's words: an action's error may quote the payload.
    let error = match error.sqlstate() {
        Some(state) => format!("SQLSTATE {}", state.code()),
        None => "no SQLSTATE".to_owned(),
    };
    Ok(Batched::Failed { culprit, error })
}

fn unfit_action(event: &Event) -> Batched {
    Batched::Failed {
        culprit: Some(event.channel.clone()),
        error: "an action that is not allowed".to_owned(),
    }
}

/// Prepares, under the settings they will run with, the actions this session has not met yet.
async fn prepare_actions(
    session: &mut WorkerSession,
    events: &[Event],
) -> Result<Vec<Statement>, (Option<String>, StepError)> {
    let mut ready = false;
    let mut actions = Vec::with_capacity(events.len());
    for event in events {
        let sql = &event.action.sql;
        if let Some(action) = session.action(sql) {
            actions.push(action.clone());
            continue;
        }
        let blame = |error| (Some(event.channel.clone()), error);
        if !ready {
            let before = session.before_action(event.id);
            within(ANSWER_LIMIT, session.client().batch_execute(&before))
                .await
                .map_err(blame)?;
            ready = true;
        }
        let action = within(ANSWER_LIMIT, session.prepare_action(sql))
            .await
            .map_err(blame)?;
        actions.push(action);
    }
    Ok(actions)
}

/// All actions in one flight, each behind the reset that hides its predecessor from it.
async fn run_actions<'a>(
    session: &WorkerSession,
    claimed: &'a Claimed,
    actions: &[Statement],
    claimed_at: Instant,
) -> Result<Vec<Success<'a>>, (Option<String>, StepError)> {
    let resets: Vec<String> = claimed
        .attempts
        .iter()
        .map(|event| session.before_action(event.id))
        .collect();
    let constraints = session.check_constraints();
    let after = session.after_action();
    let client = session.client();
    let mut pipeline: Pipeline<'_, Result<(), Error>> =
        Pipeline::with_capacity(resets.len() * 2 + 2);
    for ((event, action), reset) in claimed.attempts.iter().zip(actions).zip(&resets) {
        pipeline.push(client.batch_execute(reset));
        pipeline.push(session.run_action(action, event.payload.as_deref()));
    }
    pipeline.push(client.batch_execute(&constraints));
    pipeline.push(client.batch_execute(&after));
    pipeline.send().await;

    let deadline = Instant::now() + ANSWER_LIMIT;
    let mut successes = Vec::with_capacity(claimed.attempts.len());
    let mut last = Instant::now();
    for event in &claimed.attempts {
        // The reset before it, then the action.
        for _ in 0..2 {
            answer(&mut pipeline, deadline)
                .await
                .map_err(|error| (Some(event.channel.clone()), error))?;
        }
        let now = Instant::now();
        successes.push(Success {
            event,
            started: last - claimed_at,
            took: now - last,
        });
        last = now;
    }
    // The deferred constraints of all of them, then our own settings.
    for _ in 0..2 {
        answer(&mut pipeline, deadline)
            .await
            .map_err(|error| (None, error))?;
    }
    even_out(&mut successes);
    Ok(successes)
}

/// Answers arrive in lumps, so the length of one action of a batch cannot be told from its neighbours': each gets the mean.
fn even_out(successes: &mut [Success<'_>]) {
    let total: Duration = successes.iter().map(|success| success.took).sum();
    let Some(mean) = total.checked_div(u32::try_from(successes.len()).unwrap_or(u32::MAX)) else {
        return;
    };
    let mut started = successes
        .first()
        .map_or(Duration::ZERO, |first| first.started);
    for success in successes {
        success.started = started;
        success.took = mean;
        started += mean;
    }
}

async fn answer(
    pipeline: &mut Pipeline<'_, Result<(), Error>>,
    deadline: Instant,
) -> Result<(), StepError> {
    let next = async { pipeline.next().await.unwrap_or(Ok(())) };
    within(deadline.saturating_duration_since(Instant::now()), next).await
}
