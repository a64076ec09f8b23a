//! Lanes: channels whose events run one at a time (`serial`), or one at a time for each payload (`per_payload`), over the whole fleet.
//!
//! The slot is a transaction-level advisory lock on the lane's key: it cannot outlive its holder and cannot be counted wrong. Its holder reads the head
//! under a snapshot taken after the lock and claims exactly that event.

use super::claim::Claimed;
use super::session::WorkerSession;
use super::step::{ANSWER_LIMIT, StepError, within};
use super::{Engine, claim};
use postgres_types::ToSql;
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use tokio_postgres::Statement;

/// Lanes tried for one claim.
const TRIED: usize = 16;

/// What this Processor knows about lanes.
#[derive(Debug)]
pub struct Lanes {
    /// Lanes its own workers are in, which are not worth a try.
    busy: Mutex<HashSet<i64>>,
    /// Where the next visit of further lanes begins.
    cursor: Mutex<i64>,
}

/// Occupation of a lane by one of our workers.
#[derive(Debug)]
pub struct Seat<'a> {
    lanes: &'a Lanes,
    lane: i64,
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.lanes.busy().remove(&self.lane);
    }
}

impl Default for Lanes {
    fn default() -> Self {
        Self::new()
    }
}

impl Lanes {
    /// Nothing known.
    #[must_use]
    pub fn new() -> Self {
        Self {
            busy: Mutex::new(HashSet::new()),
            cursor: Mutex::new(i64::MIN),
        }
    }

    /// Takes the seat of `lane`, unless a sibling has it.
    pub fn sit(&self, lane: i64) -> Option<Seat<'_>> {
        // Made only once it is taken: a Seat that is dropped frees the lane.
        let taken = self.busy().insert(lane);
        taken.then(|| Seat { lanes: self, lane })
    }

    fn busy(&self) -> std::sync::MutexGuard<'_, HashSet<i64>> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat<'_> {
    /// The lane.
    #[must_use]
    pub const fn lane(&self) -> i64 {
        self.lane
    }
}

/// Claims the head of some lane that is due and free. On success the transaction is open and holds lane and event.
pub async fn claim_some<'a>(
    engine: &'a Engine,
    session: &WorkerSession,
) -> Result<Option<(Seat<'a>, Claimed)>, StepError> {
    let first = first_due(engine, session, &session.statements.due_lanes).await?;
    if first.is_empty() {
        return Ok(None);
    }
    if let Some(found) = try_lanes(engine, session, &first).await? {
        return Ok(Some(found));
    }
    let further = further(&engine.sql.lanes, session, &session.statements.next_lanes).await?;
    try_lanes(engine, session, &further).await
}

/// Lanes of the first due events.
pub async fn first_due(
    engine: &Engine,
    session: &WorkerSession,
    statement: &Statement,
) -> Result<Vec<i64>, StepError> {
    let parameters: [&(dyn ToSql + Sync); 3] = [
        &session.node,
        &engine.served.include,
        &engine.served.exclude,
    ];
    let rows = session.look(statement, &parameters).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Due lanes beyond the first due events, some further along at every call.
pub async fn further(
    lanes: &Lanes,
    session: &WorkerSession,
    statement: &Statement,
) -> Result<Vec<i64>, StepError> {
    let from = *lanes.cursor.lock().unwrap_or_else(PoisonError::into_inner);
    let parameters: [&(dyn ToSql + Sync); 2] = [&from, &session.node];
    let rows = session.look(statement, &parameters).await?;
    // Past the last lane it starts again at the first.
    let next = rows.last().map_or(i64::MIN, |row| row.get(0));
    *lanes.cursor.lock().unwrap_or_else(PoisonError::into_inner) = next;
    Ok(rows
        .iter()
        .filter(|row| row.get("due"))
        .map(|row| row.get("lane"))
        .collect())
}

/// Seats in those of `of` that no sibling sits in, as many as are worth a try; those that are taken cost nothing, and so do not count.
pub fn free_seats<'a>(lanes: &'a Lanes, of: &[i64]) -> impl Iterator<Item = Seat<'a>> {
    of.iter().filter_map(|lane| lanes.sit(*lane)).take(TRIED)
}

async fn try_lanes<'a>(
    engine: &'a Engine,
    session: &WorkerSession,
    lanes: &[i64],
) -> Result<Option<(Seat<'a>, Claimed)>, StepError> {
    for seat in free_seats(&engine.sql.lanes, lanes) {
        if engine.shutdown.token.is_cancelled() {
            break;
        }
        if let Some(claimed) = claim_head(engine, session, &seat).await? {
            return Ok(Some((seat, claimed)));
        }
    }
    Ok(None)
}

/// Claims the head of one lane. `None`, with no transaction open: somebody else is in the lane, its head cannot be locked,
/// or nothing is due.
pub async fn claim_head(
    engine: &Engine,
    session: &WorkerSession,
    seat: &Seat<'_>,
) -> Result<Option<Claimed>, StepError> {
    let lock = async {
        let ((), row) = futures_util::future::try_join(
            session.begin(),
            session
                .client()
                .query_one(&session.statements.lock_lane, &[&seat.lane]),
        )
        .await?;
        Ok(row.get(0))
    };
    if within(ANSWER_LIMIT, lock).await? {
        // A statement of its own: its snapshot is taken after the lock, so it sees what the last holder committed.
        let parameters: [&(dyn ToSql + Sync); 3] =
            [&seat.lane, &engine.served.include, &engine.served.exclude];
        let claimed = claim::head(session, &parameters).await?;
        if claimed.taken > 0 {
            return Ok(Some(claimed));
        }
    }
    session.rollback().await?;
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::Lanes;

    #[test]
    fn a_seat_is_had_once_and_again_when_it_is_free() {
        let lanes = Lanes::new();
        let seat = lanes.sit(1).expect("the lane is free");
        assert!(lanes.sit(1).is_none(), "a sibling has it");
        assert!(lanes.sit(1).is_none(), "asking does not free it");
        assert!(lanes.sit(2).is_some(), "another lane is free");
        drop(seat);
        assert!(lanes.sit(1).is_some());
    }
}
