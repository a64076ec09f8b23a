//! What a notify worker takes next: an event of a parallel channel, or the head of a lane.
//!
//! The claim is an advisory lock that holds no transaction id. Looking, locking and reading the event are one flight: the look hands the first event
//! nobody has claimed to the claim behind it, which sees it as the last holder of the lock left it.
//!
//! A send takes seconds, so the first due events are as a rule claimed already, here or elsewhere. Those of our own workers are left out by name, and so are
//! the [postponed](super::postponed) ones; a look in which all are claimed goes on behind its last event until it finds one or there are no more.

use super::postponed::Whose;
use crate::engine::claim::{self, Tried};
use crate::engine::event::Event;
use crate::engine::lanes::{self, Seat};
use crate::engine::pool::Source;
use crate::engine::session::WorkerSession;
use crate::engine::step::StepError;
use crate::engine::wire::Key;
use crate::engine::{Engine, floor::FullLook};
use postgres_types::ToSql;

/// Events of one look.
const PAGE: i64 = 100;

/// A claimed event, and its seat where it has a lane.
#[derive(Debug)]
pub struct Held<'a> {
    /// The event; the transaction that holds its claim lock is open.
    pub event: Event,
    /// Kept from the siblings until this is dropped.
    pub seat: Option<Seat<'a>>,
}

/// Claims some event. `None`: no transaction is open, and nothing is due that could be had.
pub async fn next<'a>(
    engine: &'a Engine,
    session: &WorkerSession,
    first: Source,
    whose: Whose,
) -> Result<Option<Held<'a>>, StepError> {
    let second = match first {
        Source::Lanes => Source::Alone,
        Source::Batches | Source::Alone => Source::Lanes,
    };
    for source in [first, second] {
        if engine.notify.is_empty(source) {
            continue;
        }
        let held = match source {
            Source::Lanes => in_a_lane(engine, session, whose).await?,
            Source::Batches | Source::Alone => parallel(engine, session, whose).await?,
        };
        engine.notify.found(source, held.is_none());
        if held.is_some() {
            return Ok(held);
        }
    }
    Ok(None)
}

/// From the floor, and from the beginning when that finds nothing or has not been looked at for a while.
async fn parallel<'a>(
    engine: &'a Engine,
    session: &WorkerSession,
    whose: Whose,
) -> Result<Option<Held<'a>>, StepError> {
    let floor = &engine.notify.floor;
    if floor.full_look_overdue()
        && let Some(look) = floor.try_full_look()
    {
        return from(engine, session, whose, Key::MIN, Some(look)).await;
    }
    let start = floor.start();
    if let Some(held) = from(engine, session, whose, start, None).await? {
        return Ok(Some(held));
    }
    match floor.try_full_look() {
        Some(look) if start > Key::MIN => from(engine, session, whose, Key::MIN, Some(look)).await,
        Some(_) | None => Ok(None),
    }
}

/// The first event from `start` on that can be had.
async fn from<'a>(
    engine: &'a Engine,
    session: &WorkerSession,
    whose: Whose,
    start: Key,
    full: Option<FullLook<'_>>,
) -> Result<Option<Held<'a>>, StepError> {
    let mut from = start;
    // Nothing that is committed after the drain has begun is claimed.
    while !engine.shutdown.token.is_cancelled() {
        let mut left_alone = engine.notify.quarantine.all();
        left_alone.extend(engine.postponed.events(whose));
        let parameters: [&(dyn ToSql + Sync); 7] = [
            &PAGE,
            &from.run_at,
            &from.id,
            &session.node,
            &engine.served.include,
            &engine.served.exclude,
            &left_alone,
        ];
        let tried = claim::notify(session, &session.statements.lock_notify_next, &parameters);
        let Tried { row, event } = tried.await?;
        let Some(row) = row else {
            session.rollback_empty().await?;
            return Ok(None);
        };
        let looked_at: i64 = row.get("looked_at");
        let locked = place(&row, "run_at", "id");
        if let (Some(event), Some(at)) = (event, locked) {
            match full {
                // One event was asked for, and there may be more: later claims go on from here.
                Some(_) => engine.notify.floor.full_look_was_full(at),
                None => engine.notify.floor.passed(start, at),
            }
            found(engine, looked_at > 1).await;
            return Ok(Some(Held { event, seat: None }));
        }
        session.rollback_empty().await?;
        // One that changed hands between look and lock, or a page whose events are all claimed.
        let last = locked.or_else(|| place(&row, "last_run_at", "last_id"));
        match last {
            Some(last) if locked.is_some() || looked_at == PAGE => from = last.next(),
            Some(_) | None => return Ok(None),
        }
    }
    Ok(None)
}

fn place(row: &tokio_postgres::Row, run_at: &str, id: &str) -> Option<Key> {
    let run_at = row.get::<_, Option<_>>(run_at)?;
    let id = row.get::<_, Option<_>>(id)?;
    Some(Key { run_at, id })
}

async fn in_a_lane<'a>(
    engine: &'a Engine,
    session: &WorkerSession,
    whose: Whose,
) -> Result<Option<Held<'a>>, StepError> {
    let statements = &session.statements;
    let first = lanes::first_due(engine, session, &statements.due_lanes_notify).await?;
    if first.is_empty() {
        return Ok(None);
    }
    if let Some(held) = some_head(engine, session, whose, &first).await? {
        return Ok(Some(held));
    }
    let lanes = &engine.notify.lanes;
    let further = lanes::further(lanes, session, &statements.next_lanes_notify).await?;
    some_head(engine, session, whose, &further).await
}

async fn some_head<'a>(
    engine: &'a Engine,
    session: &WorkerSession,
    whose: Whose,
    lanes: &[i64],
) -> Result<Option<Held<'a>>, StepError> {
    let lanes: Vec<i64> = lanes
        .iter()
        .copied()
        .filter(|lane| !engine.postponed.holds_lane(*lane, whose))
        .collect();
    for seat in lanes::free_seats(&engine.notify.lanes, &lanes) {
        if engine.shutdown.token.is_cancelled() {
            break;
        }
        let lane = seat.lane();
        let parameters: [&(dyn ToSql + Sync); 3] =
            [&lane, &engine.served.include, &engine.served.exclude];
        let tried = claim::notify(session, &session.statements.lock_notify_head, &parameters);
        if let Some(event) = tried.await?.event {
            if engine.notify.quarantine.holds(event.id) {
                // It took its session down, and the mark that says so is not written yet.
                session.rollback().await?;
                continue;
            }
            found(engine, lanes.len() > 1).await;
            let seat = Some(seat);
            return Ok(Some(Held { event, seat }));
        }
        session.rollback_empty().await?;
    }
    Ok(None)
}

/// Tells the pool; where more is due, a sibling is woken at once.
async fn found(engine: &Engine, more: bool) {
    if more {
        engine.notify.found_backlog().await;
    } else {
        engine.notify.found_work().await;
    }
}
