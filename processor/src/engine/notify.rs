//! The notify pool: events whose action is a notification, sent by the notifier's companion package.
//!
//! A send may last two minutes, and a row lock held that long stops vacuum in the whole database. So the claim of a notify event is a transaction-level
//! advisory lock, which holds no transaction id; its row is locked only for the settlement.
//!
//! Before an event is judged by the absence of the notifier, the registry of companions is read again: installing it is never a window
//! in which events are lost (pg_relay_notifier: Unservable states and recovery).

use super::claim::{self, Claimed};
use super::event::Event;
use super::session::WorkerSession;
use super::settle::Ending;
use super::settlement::{self, Attempts};
use super::step::{ANSWER_LIMIT, StepError, within};
use super::verdict::Verdict;
use super::wire::Key;
use super::{Engine, availability::Access, report};
use postgres_types::ToSql;
use shared::backoff::Backoff;
use shared::logging::repeat::Repeats;
use std::sync::Arc;
use std::time::Duration;
use tracing::{debug, warn};

/// Longest silence inside a transaction: longer than the longest send, 120 s.
const LONGEST_HOLD: Duration = Duration::from_mins(3);
/// Candidates of one look.
const CANDIDATES: i64 = 20;
/// The companion that sends notifications.
const NOTIFIER: &str = "pg_relay_notifier";

/// What a fresh look at the registry says about the notifier.
#[derive(Debug, PartialEq, Eq)]
enum Notifier {
    Absent,
    Installed { version: String },
}

/// A worker of the notify pool.
pub struct NotifyWorker {
    engine: Arc<Engine>,
}

impl NotifyWorker {
    /// A worker of `engine`.
    #[must_use]
    pub fn new(engine: Arc<Engine>) -> Self {
        Self { engine }
    }

    /// Works until the drain.
    pub async fn run(self) {
        let engine = &self.engine;
        let mut backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(1));
        let mut refused = Repeats::new();
        while let Some(access) = engine.availability.granted(&engine.shutdown.token).await {
            let name = "pg-relay-processor notify";
            match WorkerSession::open(&engine.connector, name, LONGEST_HOLD).await {
                Ok(session) => {
                    engine.notify.floor.clear();
                    match self.serve(&session, &access).await {
                        Ok(()) => session.close().await,
                        Err(error) => {
                            debug!("a notify worker lost its session: {error}");
                            engine.pause(backoff.next()).await;
                        }
                    }
                }
                Err(error) => {
                    report::cannot_connect(&mut refused, "notify worker", &error);
                    engine.pause(backoff.next()).await;
                }
            }
        }
    }

    async fn serve(&self, session: &WorkerSession, access: &Access) -> Result<(), StepError> {
        let engine = &self.engine;
        let mut backoff = Backoff::new(Duration::from_millis(10), Duration::from_secs(1));
        while !engine.shutdown.token.is_cancelled() && !access.has_ended() {
            match self.turn(session).await {
                Ok(true) => {
                    backoff.reset();
                    engine.notify.found_work().await;
                }
                Ok(false) => {
                    let listener = engine.listener();
                    engine
                        .notify
                        .wait(listener.as_ref(), &engine.shutdown.token)
                        .await;
                }
                Err(error) if error.ends_session() || session.is_closed() => return Err(error),
                Err(error) => {
                    warn!(
                        db.sqlstate = error.sqlstate().map(tokio_postgres::error::SqlState::code),
                        // Not the server's words: a companion's error may quote what is sent.
                        "a step of the notify pool failed and is repeated"
                    );
                    session.rollback().await?;
                    engine.pause(backoff.next()).await;
                }
            }
        }
        Ok(())
    }

    /// Whether an event was resolved.
    async fn turn(&self, session: &WorkerSession) -> Result<bool, StepError> {
        for (id, lane) in self.candidates(session).await? {
            if let Some(mut claimed) = claim_one(session, id, lane).await? {
                return self.resolve(session, &mut claimed).await;
            }
        }
        Ok(false)
    }

    /// Due events, from the beginning: the backlog of this pool is short, since sends are slow and few.
    async fn candidates(
        &self,
        session: &WorkerSession,
    ) -> Result<Vec<(i64, Option<i64>)>, StepError> {
        let start = Key::MIN;
        let served = &self.engine.served;
        let parameters: [&(dyn ToSql + Sync); 6] = [
            &CANDIDATES,
            &start.run_at,
            &start.id,
            &session.node,
            &served.include,
            &served.exclude,
        ];
        let rows = session
            .look(&session.statements.due_notify, &parameters)
            .await?;
        Ok(rows
            .iter()
            .map(|row| (row.get("id"), row.get("lane")))
            .collect())
    }

    /// Resolves a claimed event: as the claim says, or by the state of the notifier. Whether anything was written.
    async fn resolve(
        &self,
        session: &WorkerSession,
        claimed: &mut Claimed,
    ) -> Result<bool, StepError> {
        let engine = &self.engine;
        for event in std::mem::take(&mut claimed.attempts) {
            let reason = unservable(&notifier(session).await?);
            claimed.endings.push(failed(event, &reason));
        }
        let ending = claimed.endings.first().map(|ending| ending.id);
        let Some(id) = ending.or_else(|| claimed.wrong_lane.first().copied()) else {
            session.rollback().await?;
            return Ok(false);
        };
        let parameters: [&(dyn ToSql + Sync); 1] = [&id];
        let lock = session
            .client()
            .query_opt(&session.statements.lock_notify, &parameters);
        if within(ANSWER_LIMIT, lock).await?.is_none() {
            // Resolved by somebody who did not ask for its claim lock (a person at psql): nothing is left to record.
            session.rollback().await?;
            return Ok(false);
        }
        settlement::settle(engine, session, claimed, None, Attempts::None)
            .await
            .map_err(|unsettled| unsettled.error)?;
        report::endings(engine, &claimed.endings);
        Ok(true)
    }
}

/// Claims one event. `None`, with no transaction open: it is claimed, finished or not due.
async fn claim_one(
    session: &WorkerSession,
    id: i64,
    lane: Option<i64>,
) -> Result<Option<Claimed>, StepError> {
    // The lane first: whoever has it may then take its head. A row without a lane takes its claim lock only.
    const LOCK: &str = "SELECT CASE WHEN $2::bigint IS NULL OR pg_try_advisory_xact_lock($2) \
         THEN pg_try_advisory_xact_lock(pgrelay._claim_key($1)) ELSE false END";
    let parameters: [&(dyn ToSql + Sync); 2] = [&id, &lane];
    let lock = async {
        let ((), row) = futures_util::future::try_join(
            session.begin(),
            session.client().query_one(LOCK, &parameters),
        )
        .await?;
        Ok(row.get(0))
    };
    if within(ANSWER_LIMIT, lock).await? {
        // A statement of its own, so that it sees the row as the last holder of the lock left it.
        let claimed = claim::notify(session, id).await?;
        if claimed.taken > 0 {
            return Ok(Some(claimed));
        }
    }
    session.rollback_empty().await?;
    Ok(None)
}

/// A fresh look at the registry of companions.
async fn notifier(session: &WorkerSession) -> Result<Notifier, StepError> {
    const LOOK: &str = "SELECT c.version FROM pgrelay.companions AS c WHERE c.name = $1";
    let row = within(ANSWER_LIMIT, session.client().query_opt(LOOK, &[&NOTIFIER])).await?;
    Ok(row.map_or(Notifier::Absent, |row| Notifier::Installed {
        version: row.get(0),
    }))
}

/// Why an event cannot be sent, confirmed by a fresh look.
fn unservable(notifier: &Notifier) -> String {
    match notifier {
        Notifier::Absent => {
            format!("the notifier is not installed: pgrelay.companions has no row named {NOTIFIER}")
        }
        Notifier::Installed { version } => format!(
            "the installed notifier {version} needs a Processor that sends notifications; this one, version {}, does not",
            env!("CARGO_PKG_VERSION")
        ),
    }
}

fn failed(event: Event, reason: &str) -> Ending {
    Ending {
        id: event.id,
        attempt: event.attempt(),
        channel: event.channel,
        verdict: Verdict::Failed,
        sqlstate: None,
        error: Some(super::error_text::storable(reason)),
        served_by: None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Notifier, unservable};

    #[test]
    fn the_reason_names_what_is_missing() {
        assert_eq!(
            unservable(&Notifier::Absent),
            "the notifier is not installed: pgrelay.companions has no row named pg_relay_notifier"
        );
        let version = "1.0".to_owned();
        let reason = unservable(&Notifier::Installed { version });
        assert!(reason.contains("1.0") && reason.contains(env!("CARGO_PKG_VERSION")));
    }
}
