//! Taking events for exactly one worker.

use super::event::{Event, Refusal};
use super::session::WorkerSession;
use super::settle::Ending;
use super::step::{ANSWER_LIMIT, StepError, within};
use super::verdict::Verdict;
use super::wire::{Key, Timestamp};
use super::{Engine, error_text};
use postgres_types::ToSql;
use tokio_postgres::{Row, Statement};

/// What one claim took, sorted by what becomes of it.
#[derive(Debug, Default)]
pub struct Claimed {
    /// To be attempted, in the order of their keys.
    pub attempts: Vec<Event>,
    /// To be resolved without an attempt.
    pub endings: Vec<Ending>,
    /// To be moved to the lane of their channel.
    pub wrong_lane: Vec<i64>,
    /// How many rows the claim took.
    pub taken: usize,
    /// The database's time of the claim.
    pub claimed_at: Option<Timestamp>,
    /// The first and the last place it took.
    pub span: Option<(Key, Key)>,
}

impl Claimed {
    fn from_rows(rows: &[Row]) -> Self {
        let mut claimed = Self {
            taken: rows.len(),
            ..Self::default()
        };
        for row in rows {
            let event = Event::from_row(row);
            let key = event.key();
            claimed.claimed_at = Some(event.claimed_at);
            claimed.span = Some(claimed.span.map_or((key, key), |(first, _)| (first, key)));
            match &event.refusal {
                None => claimed.attempts.push(event),
                Some(Refusal::WrongLane) => claimed.wrong_lane.push(event.id),
                Some(Refusal::Resolve { verdict, reason }) => {
                    let (verdict, reason) = (*verdict, error_text::storable(reason));
                    claimed.endings.push(ending(event, verdict, reason));
                }
            }
        }
        claimed
    }
}

fn ending(event: Event, verdict: Verdict, reason: String) -> Ending {
    Ending {
        id: event.id,
        attempt: event.attempt(),
        channel: event.channel,
        verdict,
        sqlstate: None,
        error: Some(reason),
        served_by: None,
    }
}

/// Opens the held transaction and runs one claim in it, in a single round trip.
async fn begin_and_claim(
    session: &WorkerSession,
    statement: &Statement,
    parameters: &[&(dyn ToSql + Sync)],
) -> Result<Claimed, StepError> {
    let both = async {
        // Polled in order, so the BEGIN is on the wire first; an error of it fails the claim too.
        let ((), rows) = futures_util::future::try_join(
            session.begin(),
            session.client().query(statement, parameters),
        )
        .await?;
        Ok(rows)
    };
    Ok(Claimed::from_rows(&within(ANSWER_LIMIT, both).await?))
}

/// Which parallel channels a claim is about.
#[derive(Debug, Clone, Copy)]
pub enum Stream<'a> {
    /// All but these, which run alone.
    Without(&'a [String]),
    /// Only these.
    Only(&'a [String]),
}

/// Claims up to `limit` due events of parallel channels, from `start` on.
pub async fn ready(
    engine: &Engine,
    session: &WorkerSession,
    stream: Stream<'_>,
    limit: usize,
    start: Key,
) -> Result<Claimed, StepError> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let (without, only) = match stream {
        Stream::Without([]) => (None, None),
        Stream::Without(channels) => (Some(channels), None),
        Stream::Only(channels) => (None, Some(channels)),
    };
    let parameters: [&(dyn ToSql + Sync); 8] = [
        &limit,
        &start.run_at,
        &start.id,
        &session.node,
        &engine.served.include,
        &engine.served.exclude,
        &without,
        &only,
    ];
    let claimed = begin_and_claim(session, &session.statements.claim_ready, &parameters).await?;
    for event in &claimed.attempts {
        engine.sql.paces.met(&event.channel, event.action.batch);
    }
    Ok(claimed)
}

/// Claims those of `ids` that can still be had and have no lane.
pub async fn by_ids(session: &WorkerSession, ids: &[i64]) -> Result<Claimed, StepError> {
    begin_and_claim(session, &session.statements.claim_ids, &[&ids, &false]).await
}

/// Claims event `id` again, in a lane or not, to record a verdict that is known already.
pub async fn again(session: &WorkerSession, id: i64) -> Result<Claimed, StepError> {
    let ids = [id];
    begin_and_claim(
        session,
        &session.statements.claim_ids,
        &[&ids.as_slice(), &true],
    )
    .await
}

/// Claims the head of a lane, in the transaction that holds the lane.
pub async fn head(
    session: &WorkerSession,
    parameters: &[&(dyn ToSql + Sync)],
) -> Result<Claimed, StepError> {
    let query = session
        .client()
        .query(&session.statements.claim_head, parameters);
    Ok(Claimed::from_rows(&within(ANSWER_LIMIT, query).await?))
}

/// What a try for the claim lock of a notify event gave.
#[derive(Debug)]
pub struct Tried {
    /// The row of the locking statement, if there was one.
    pub row: Option<Row>,
    /// The event it locked, unless it has changed hands in between.
    pub event: Option<Event>,
}

/// Opens the held transaction, has `lock` take the claim lock of a notify event and name it, and reads that event, in a single round trip.
pub async fn notify(
    session: &WorkerSession,
    lock: &Statement,
    parameters: &[&(dyn ToSql + Sync)],
) -> Result<Tried, StepError> {
    let all = async {
        let ((), row, claimed) = futures_util::future::try_join3(
            session.begin(),
            session.client().query_opt(lock, parameters),
            session
                .client()
                .query_opt(&session.statements.claim_notify, &[]),
        )
        .await?;
        Ok((row, claimed))
    };
    let (row, claimed) = within(ANSWER_LIMIT, all).await?;
    let locked: Option<i64> = row.as_ref().and_then(|row| row.get("id"));
    let event = claimed.as_ref().map(Event::from_row);
    Ok(Tried {
        row,
        // Without a lock the setting that names the event may be anybody's.
        event: event.filter(|event| Some(event.id) == locked),
    })
}

/// Due events that a crash marked; they are claimed one by one, by id.
pub async fn suspects(engine: &Engine, session: &WorkerSession) -> Result<Vec<i64>, StepError> {
    let parameters: [&(dyn ToSql + Sync); 3] = [
        &session.node,
        &engine.served.include,
        &engine.served.exclude,
    ];
    let rows = session
        .look(&session.statements.suspects, &parameters)
        .await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Folds the due twins of the events about to run into them: the twins end with the run that serves them.
pub async fn fold_twins(session: &WorkerSession, claimed: &mut Claimed) -> Result<(), StepError> {
    if !claimed.attempts.iter().any(may_fold) {
        return Ok(());
    }
    fold_held_twins(claimed);
    let (ids, keys): (Vec<i64>, Vec<i64>) = claimed
        .attempts
        .iter()
        .filter(|event| may_fold(event))
        .map(|event| (event.id, event.twin_key))
        .unzip();
    let held: Vec<i64> = claimed
        .attempts
        .iter()
        .map(|event| event.id)
        .chain(claimed.endings.iter().map(|ending| ending.id))
        .collect();
    let parameters: [&(dyn ToSql + Sync); 3] = [&ids, &keys, &held];
    let query = session
        .client()
        .query(&session.statements.fold_twins, &parameters);
    for row in within(ANSWER_LIMIT, query).await? {
        let retry_count: i32 = row.get("retry_count");
        claimed.endings.push(Ending {
            id: row.get("id"),
            channel: row.get("channel"),
            attempt: retry_count.saturating_add(1),
            verdict: Verdict::Done,
            sqlstate: None,
            error: None,
            served_by: Some(row.get("served_by")),
        });
    }
    Ok(())
}

fn may_fold(event: &Event) -> bool {
    event.deduplicate && event.retry_count == 0
}

/// Twins that the same claim took: the first of them runs.
fn fold_held_twins(claimed: &mut Claimed) {
    let mut kept: Vec<Event> = Vec::with_capacity(claimed.attempts.len());
    for event in std::mem::take(&mut claimed.attempts) {
        let twin = kept.iter().find(|first| {
            may_fold(first)
                && may_fold(&event)
                && first.twin_key == event.twin_key
                && first.channel == event.channel
                && !event.payload_is_large
                && first.payload == event.payload
        });
        if let Some(first) = twin {
            let served_by = Some(first.id);
            claimed.endings.push(Ending {
                id: event.id,
                attempt: event.attempt(),
                channel: event.channel,
                verdict: Verdict::Done,
                sqlstate: None,
                error: None,
                served_by,
            });
        } else {
            kept.push(event);
        }
    }
    claimed.attempts = kept;
}

/// Lets go of a claim's transaction, and tells the floor.
pub async fn let_go(
    engine: &Engine,
    session: &WorkerSession,
    claimed: &Claimed,
) -> Result<(), StepError> {
    if let Some((first, _)) = claimed.span {
        engine.sql.floor.lower(first);
        engine.sql.floor_apart.lower(first);
    }
    session.rollback().await
}
