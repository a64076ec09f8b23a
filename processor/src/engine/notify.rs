//! The notify pool: events whose action is a notification, sent by transports of this program with what the notifier, a companion package, hands out.
//!
//! Invariants:
//! * a claim is a transaction-level advisory lock, and nothing before the settlement takes a transaction id: a send may last two minutes, and an id held
//!   that long stops vacuum in the whole database;
//! * an event ends because of the notifier only after a look at it that began after the claim (see [`snapshot`]);
//! * an event that cannot be asked for just now is left alone for a while, and neither ended nor charged for it (see [`postponed`]);
//! * every attempt has one `set_status` and one log row, and neither an error in the one nor in the other sends a notification again (see [`record`]);
//! * code of the notifier runs within limits and under savepoints; what it raises is shown by its SQLSTATE alone, since its words may quote what is sent.

pub mod claims;
pub mod conclusion;
pub mod debug;
pub mod delivery;
pub mod fetch;
pub mod flight;
pub mod interface;
pub mod postponed;
pub mod record;
pub mod send;
pub mod snapshot;

use super::crash::Lost;
use super::lanes::Seat;
use super::pool::Source;
use super::session::WorkerSession;
use super::step::StepError;
use super::{Engine, availability::Access, report};
use claims::Held;
use debug::DebugLog;
use delivery::Delivery;
use postponed::Whose;
use shared::backoff::Backoff;
use shared::logging::repeat::Repeats;
use std::sync::Arc;
use std::time::Duration;
use tracing::{debug, warn};

/// Longest silence inside a transaction: longer than the longest send, 120 s, and what comes before it.
const LONGEST_HOLD: Duration = Duration::from_mins(3);

/// What a turn came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// An event was resolved, or let go until the Processor knows its notifier anew.
    Worked,
    /// An event was claimed that cannot be asked for just now.
    Postponed,
    /// There was none to claim.
    Idle,
}

/// A worker of the notify pool.
pub struct NotifyWorker {
    engine: Arc<Engine>,
    debug: DebugLog,
    /// Where it looks next.
    source: Source,
    /// For which events.
    whose: Whose,
    /// The event that was in the hands of the notifier's code when the session was lost.
    at_risk: Option<i64>,
}

impl NotifyWorker {
    /// A worker of `engine`.
    #[must_use]
    pub fn new(engine: Arc<Engine>) -> Self {
        Self {
            debug: DebugLog::spawn(&engine),
            engine,
            source: Source::Lanes,
            whose: Whose::All,
            at_risk: None,
        }
    }

    /// Works until the drain.
    pub async fn run(mut self) {
        let engine = Arc::clone(&self.engine);
        let mut lost: Option<Lost> = None;
        let mut backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(1));
        let mut refused = Repeats::new();
        while let Some(access) = engine.availability.granted(&engine.shutdown.token).await {
            let name = "pg-relay-processor notify";
            let mut session = match WorkerSession::open(&engine.connector, name, LONGEST_HOLD).await
            {
                Ok(session) => session,
                Err(error) => {
                    report::cannot_connect(&mut refused, "notify worker", &error);
                    engine.pause(backoff.next()).await;
                    continue;
                }
            };
            if let Some(before) = &lost
                && let Err(error) = before.mark(&engine, &session).await
            {
                debug!("the mark of a crash cannot be written: {error}");
                engine.pause(backoff.next()).await;
                continue;
            }
            if let Some(marked) = lost.take() {
                engine.notify.quarantine.release(marked.ids());
            }
            backoff.reset();
            engine.notify.floor.clear();
            match self.serve(&mut session, &access).await {
                Ok(()) => session.close().await,
                Err(error) => {
                    session.note(&error);
                    debug!("a notify worker lost its session: {error}");
                    let at_risk: Vec<i64> = self.at_risk.take().into_iter().collect();
                    lost = Some(Lost::of(&session, at_risk).await);
                    engine.pause(backoff.next()).await;
                }
            }
        }
    }

    /// Takes turns on one session until the drain, or until access to this database ends. `Err`: the session is of no more use.
    async fn serve(
        &mut self,
        session: &mut WorkerSession,
        access: &Access,
    ) -> Result<(), StepError> {
        let engine = Arc::clone(&self.engine);
        let mut backoff = Backoff::new(Duration::from_millis(10), Duration::from_secs(1));
        while !engine.shutdown.token.is_cancelled() && !access.has_ended() {
            match self.turn(session).await {
                Ok(Turn::Worked) => backoff.reset(),
                // When one after the other is postponed, it is the notifier that is in trouble: then the worker slows down as well.
                Ok(Turn::Postponed) => engine.pause(backoff.next()).await,
                Ok(Turn::Idle) => {
                    let next_due = &session.statements.next_due_notify;
                    engine.notify.ask_next_due(session, next_due).await?;
                    let listener = engine.listener();
                    engine
                        .notify
                        .wait(listener.as_ref(), &engine.shutdown.token)
                        .await;
                }
                Err(error) if error.ends_session() || session.is_closed() => return Err(error),
                Err(error) if error.misses_statement() => return Err(StepError::Spoiled),
                Err(error) => {
                    warn!(
                        db.sqlstate = error.sqlstate().map(tokio_postgres::error::SqlState::code),
                        // Not the server's words: a companion's error may quote what is sent.
                        "a step of the notify pool failed and is repeated"
                    );
                    session.rollback().await?;
                    engine.notify.floor.clear();
                    engine.pause(backoff.next()).await;
                }
            }
        }
        Ok(())
    }

    async fn turn(&mut self, session: &mut WorkerSession) -> Result<Turn, StepError> {
        let engine = Arc::clone(&self.engine);
        self.whose = self.whose.next();
        let Some(held) = claims::next(&engine, session, self.source, self.whose).await? else {
            return Ok(Turn::Idle);
        };
        // Round the sources in turn, so that none starves the other.
        self.source = match self.source {
            Source::Lanes => Source::Alone,
            Source::Batches | Source::Alone => Source::Lanes,
        };
        self.deliver(session, &held).await
    }

    async fn deliver(
        &mut self,
        session: &mut WorkerSession,
        held: &Held<'_>,
    ) -> Result<Turn, StepError> {
        let engine = &self.engine;
        let id = held.event.id;
        engine.notify.quarantine.keep(&[id]);
        let mut delivery = Delivery {
            engine,
            session,
            debug: &self.debug,
            lane: held.seat.as_ref().map(Seat::lane),
            at_risk: false,
        };
        let result = delivery.run(&held.event).await;
        let at_risk = delivery.at_risk;
        let is_lost = match &result {
            Ok(_) => false,
            Err(error) => error.ends_session() || session.is_closed(),
        };
        if at_risk && is_lost {
            // Kept from the siblings until its mark is written.
            self.at_risk = Some(id);
        } else {
            engine.notify.quarantine.release(&[id]);
        }
        result
    }
}
