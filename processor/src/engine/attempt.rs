//! One attempt at one event, in the transaction that claimed it.
//!
//! The action runs under a savepoint. Whatever it does, the transaction goes on to the settlement, so the claim is never let go
//! between a failure and its verdict.

use super::claim::Claimed;
use super::event::Event;
use super::session::WorkerSession;
use super::settle::{Failure, Success, When};
use super::settlement::{self, Attempts, Unsettled};
use super::step::{ANSWER_LIMIT, StepError, within};
use super::verdict::{Verdict, after_failure};
use super::{Engine, report};
use crate::action::check_first_keyword;
use shared::db::sqlstate::{Judgement, Origin, judge};
use std::time::{Duration, Instant};
use tokio_postgres::SimpleQueryMessage;
use tokio_postgres::error::SqlState;

/// Grace over the action's own statement_timeout before the connection is held to be dead.
const GRACE: Duration = Duration::from_secs(10);

/// How the transaction of an attempt ended.
#[derive(Debug)]
pub enum Attempted {
    /// Settled and committed.
    Settled {
        /// The action succeeded.
        well: bool,
    },
    /// COMMIT itself failed, for a reason that is a verdict on the event, which has to be claimed once more to record it.
    CommitFailed(Failure, Judgement),
}

/// Result of the action.
enum Ran {
    Well,
    /// The savepoint is still there.
    Badly(Failure, Judgement),
    /// Its verdict was known before it could run; there is no savepoint.
    NotAtAll(Failure, Judgement),
}

impl Ran {
    /// Text that ends the savepoint and leaves the settings of the action.
    fn leave(&self, session: &WorkerSession) -> Option<String> {
        match self {
            Self::Well => Some(format!(
                "RELEASE SAVEPOINT attempt; {}",
                session.after_action()
            )),
            Self::Badly(..) => Some(back_to_savepoint(session)),
            Self::NotAtAll(..) => None,
        }
    }

    const fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Well => None,
            Self::Badly(failure, _) | Self::NotAtAll(failure, _) => Some(failure),
        }
    }
}

/// Makes the one attempt of `claimed`, settles it with whatever else the claim took, and commits.
pub async fn run(
    engine: &Engine,
    session: &mut WorkerSession,
    claimed: &Claimed,
    claimed_at: Instant,
) -> Result<Attempted, StepError> {
    let event = &claimed.attempts[0];
    let began = Instant::now();
    let ran = run_action(session, event).await?;
    let took = began.elapsed();
    let when = When {
        claimed_at: event.claimed_at,
        started: began - claimed_at,
        took,
    };
    let settled = settle(
        engine,
        session,
        claimed,
        ran.leave(session).as_deref(),
        &ran,
        when,
    )
    .await;
    match settled {
        Ok(verdict) => {
            report::attempt(engine, event, verdict, ran.failure(), took);
            report::endings(engine, &claimed.endings);
            let well = matches!(ran, Ran::Well);
            // Failures are measured too: a channel that always fails, or times out, must not be thought to be unknown.
            engine
                .sql
                .paces
                .measured(&event.channel, took, event.action.batch);
            Ok(Attempted::Settled { well })
        }
        Err(unsettled) if unsettled.at_commit => commit_failure(unsettled.error),
        Err(unsettled) => Err(unsettled.error),
    }
}

/// A failed COMMIT with an SQLSTATE is the action's doing (a deferred constraint): the caller records the verdict.
fn commit_failure(error: StepError) -> Result<Attempted, StepError> {
    if error.ends_session() {
        return Err(error);
    }
    let judgement = judge(Origin::Commit, error.sqlstate());
    match Failure::of(&error) {
        Some(failure) if judgement != Judgement::NotJudged => {
            Ok(Attempted::CommitFailed(failure, judgement))
        }
        Some(_) | None => Err(error),
    }
}

/// Settles an event whose action dropped the prepared statements of the session it ran in, on a fresh session.
pub async fn settle_spoiler(
    engine: &Engine,
    session: &WorkerSession,
    claimed: &Claimed,
) -> Result<(), StepError> {
    let failure = Failure::refused("the action dropped the prepared statements of its session");
    settle_again(engine, session, claimed, failure, Judgement::Permanent).await
}

/// Settles a verdict that is known already, on an event that had to be claimed once more.
pub async fn settle_again(
    engine: &Engine,
    session: &WorkerSession,
    claimed: &Claimed,
    failure: Failure,
    judgement: Judgement,
) -> Result<(), StepError> {
    let event = &claimed.attempts[0];
    let when = When {
        claimed_at: event.claimed_at,
        started: Duration::ZERO,
        took: Duration::ZERO,
    };
    let ran = Ran::NotAtAll(failure, judgement);
    let verdict = settle(engine, session, claimed, None, &ran, when)
        .await
        .map_err(|unsettled| unsettled.error)?;
    report::attempt(engine, event, verdict, ran.failure(), Duration::ZERO);
    Ok(())
}

async fn settle(
    engine: &Engine,
    session: &WorkerSession,
    claimed: &Claimed,
    leave: Option<&str>,
    ran: &Ran,
    when: When,
) -> Result<Verdict, Unsettled> {
    let event = &claimed.attempts[0];
    match ran {
        Ran::Well => {
            let success = [Success {
                event,
                started: when.started,
                took: when.took,
            }];
            let attempts = Attempts::Succeeded(&success);
            settlement::settle(engine, session, claimed, leave, attempts).await?;
            Ok(Verdict::Done)
        }
        Ran::Badly(failure, judgement) | Ran::NotAtAll(failure, judgement) => {
            let verdict = after_failure(*judgement, event.retry_count, event.action.max_retries)
                .expect("a failure of the action is always judged");
            let attempts = Attempts::Failed {
                event,
                failure,
                verdict,
                when,
            };
            settlement::settle(engine, session, claimed, leave, attempts).await?;
            Ok(verdict)
        }
    }
}

/// Runs the action under a savepoint, which the settlement ends. `Err`: the session is of no more use.
async fn run_action(session: &mut WorkerSession, event: &Event) -> Result<Ran, StepError> {
    if let Err(problem) = check_first_keyword(&event.action.sql) {
        return Ok(Ran::NotAtAll(
            Failure::refused(&problem.to_string()),
            Judgement::Permanent,
        ));
    }
    let payload = match (event.payload_is_large, &event.payload) {
        (true, _) => Some(fetch_payload(session, event.id).await?),
        (false, payload) => payload.clone(),
    };
    let from_cache = session.action(&event.action.sql).is_some();
    let mut result = try_action(session, event, payload.as_deref()).await;
    // A prepared action may have outlived a change of the catalog, or an action's own DEALLOCATE. Then the error is ours, and
    // says so only by coming from a statement that was not prepared just now.
    if let Err(error) = &result
        && from_cache
        && matches!(
            error.sqlstate().map(SqlState::code),
            Some("0A000" | "26000")
        )
    {
        session.forget_action(&event.action.sql);
        let back = back_to_savepoint(session);
        within(ANSWER_LIMIT, session.client().batch_execute(&back)).await?;
        result = try_action(session, event, payload.as_deref()).await;
    }
    // Another action of this session left a prepared statement of that name behind.
    if let Err(error) = &result
        && error.sqlstate().map(SqlState::code) == Some("42P05")
    {
        let back = back_to_savepoint(session);
        within(ANSWER_LIMIT, session.client().batch_execute(&back)).await?;
        session.deallocate_left_over().await?;
        result = try_action(session, event, payload.as_deref()).await;
    }
    match result {
        Ok(None) => Ok(Ran::Well),
        Ok(Some(refusal)) => Ok(Ran::Badly(refusal, Judgement::Permanent)),
        Err(error) if error.ends_session() => Err(error),
        Err(error) => match Failure::of(&error) {
            Some(failure) => Ok(Ran::Badly(failure, judge(Origin::Action, error.sqlstate()))),
            None => Err(error),
        },
    }
}

/// One try at the action. `Ok(Some(failure))`: it ran, and did what it must not.
async fn try_action(
    session: &mut WorkerSession,
    event: &Event,
    payload: Option<&str>,
) -> Result<Option<Failure>, StepError> {
    let before = format!(
        "SAVEPOINT attempt; {}; SET LOCAL statement_timeout = {}; SET LOCAL lock_timeout = 0",
        session.before_action(event.id),
        event.action.timeout_ms
    );
    let cached = session.action(&event.action.sql).cloned();
    let action = if let Some(action) = &cached {
        action.clone()
    } else {
        within(ANSWER_LIMIT, session.client().batch_execute(&before)).await?;
        within(ANSWER_LIMIT, session.prepare_action(&event.action.sql)).await?
    };
    if action.params().len() > 1 {
        // Not to be met prepared: the savepoint is set before a prepared action runs, not before it is found out.
        session.forget_action(&event.action.sql);
        return Ok(Some(Failure::refused(&format!(
            "the action has {} parameters; it may have one, $1, the payload",
            action.params().len()
        ))));
    }
    let timeout = Duration::from_millis(u64::try_from(event.action.timeout_ms).unwrap_or(0));
    let client = session.client();
    let steps = async {
        let before = async {
            match &cached {
                Some(_) => client.batch_execute(&before).await,
                None => Ok(()),
            }
        };
        // One flight; its answers come in this order, and after a failure nothing runs.
        let ((), (), (), read_only) = futures_util::future::try_join4(
            before,
            session.run_action(&action, payload),
            // Deferred constraints and triggers speak now, under the savepoint, and not at COMMIT.
            client.batch_execute("SET CONSTRAINTS ALL IMMEDIATE"),
            client.simple_query("SHOW transaction_read_only"),
        )
        .await?;
        Ok(read_only)
    };
    let read_only = within(timeout * 2 + GRACE, steps).await?;
    let is_read_only = read_only
        .iter()
        .any(|message| matches!(message, SimpleQueryMessage::Row(row) if row.get(0) == Some("on")));
    Ok(is_read_only.then(|| Failure::refused("the action changed its transaction to read only")))
}

fn back_to_savepoint(session: &WorkerSession) -> String {
    format!(
        "ROLLBACK TO SAVEPOINT attempt; RELEASE SAVEPOINT attempt; {}",
        session.after_action()
    )
}

async fn fetch_payload(session: &WorkerSession, id: i64) -> Result<String, StepError> {
    const FETCH: &str = "SELECT q.payload FROM pgrelay.queue AS q WHERE q.id = $1";
    let row = within(ANSWER_LIMIT, session.client().query_one(FETCH, &[&id])).await?;
    Ok(row.get(0))
}
