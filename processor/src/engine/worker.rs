//! One worker of the sql pool: one connection, one held transaction at a time.
//!
//! It waits on: leave to work, its own statements, and the pool's wake-ups. Where it looks is in [`looks`], what it does with a claim in [`runs`].

mod looks;
mod runs;

use super::claim::Stream;
use super::crash::Lost;
use super::pool::Source;
use super::session::WorkerSession;
use super::step::StepError;
use super::{Engine, availability::Access, report};
use shared::backoff::Backoff;
use shared::logging::repeat::Repeats;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tracing::{debug, warn};

/// Longest silence of a Processor inside a transaction before the server takes its events away.
const LONGEST_HOLD: Duration = Duration::from_secs(30);

/// What is left to do after a claim was let go.
#[derive(Debug)]
enum Todo {
    Batch(Vec<i64>),
    Single {
        id: i64,
        /// It was in a batch that failed with nobody to blame: it is to blame if it fails now.
        suspected: bool,
    },
}

impl Todo {
    const fn single(id: i64) -> Self {
        Self::Single {
            id,
            suspected: false,
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Turn {
    Worked,
    Idle,
}

/// A worker.
pub struct Worker {
    engine: Arc<Engine>,
    todo: VecDeque<Todo>,
    /// Events whose actions are running, for the marks after a crash.
    running: Vec<i64>,
    /// Where it looks first, an index of [`Source::ALL`].
    next_source: usize,
    /// See [`Todo::Single`].
    suspected: bool,
    /// The event whose action dropped the statements of the last session.
    spoiler: Option<i64>,
    /// It leaves channels with very long actions to its siblings, so that they cannot take the whole pool.
    express: bool,
}

impl Worker {
    /// A worker of `engine`; an `express` one is kept free of channels with very long actions.
    #[must_use]
    pub fn new(engine: Arc<Engine>, express: bool) -> Self {
        Self {
            engine,
            todo: VecDeque::new(),
            running: Vec::new(),
            next_source: 0,
            suspected: false,
            spoiler: None,
            express,
        }
    }

    /// Works until the drain: connects when the database can be worked with, and again whenever the session is lost.
    pub async fn run(mut self) {
        let engine = Arc::clone(&self.engine);
        let mut lost: Option<Lost> = None;
        let mut backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(1));
        let mut refused = Repeats::new();
        while let Some(access) = engine.availability.granted(&engine.shutdown.token).await {
            let opened =
                WorkerSession::open(&engine.connector, "pg-relay-processor sql", LONGEST_HOLD);
            let mut session = match opened.await {
                Ok(session) => session,
                Err(error) => {
                    report::cannot_connect(&mut refused, "worker", &error);
                    engine.pause(backoff.next()).await;
                    continue;
                }
            };
            if let Some(before) = &lost
                && let Err(error) = before.mark(&engine, &session).await
            {
                debug!("the marks of a crash cannot be written: {error}");
                engine.pause(backoff.next()).await;
                continue;
            }
            if let Some(marked) = lost.take() {
                engine.sql.quarantine.release(marked.ids());
            }
            if let Some(id) = self.spoiler
                && let Err(error) = self.settle_spoiler(&session, id).await
            {
                debug!("the event that spoiled a session cannot be settled: {error}");
                engine.pause(backoff.next()).await;
                continue;
            }
            self.spoiler = None;
            backoff.reset();
            engine.sql.clear_floors();
            if let Err(error) = self.serve(&mut session, &access).await {
                session.note(&error);
                debug!("a worker lost its session: {error}");
                if matches!(error, StepError::Spoiled) {
                    self.todo.clear();
                    session.close().await;
                    continue;
                }
                let running = std::mem::take(&mut self.running);
                let mark_soon = !running.is_empty();
                lost = Some(Lost::of(&session, running).await);
                self.todo.clear();
                // Until the mark is written, every other worker may run the same event into the same end.
                if !mark_soon {
                    engine.pause(backoff.next()).await;
                }
            } else {
                session.close().await;
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
                Ok(Turn::Idle) => {
                    let next_due = &session.statements.next_due;
                    engine.sql.ask_next_due(session, next_due).await?;
                    let listener = engine.listener();
                    engine
                        .sql
                        .wait(listener.as_ref(), &engine.shutdown.token)
                        .await;
                }
                Err(error) if error.ends_session() || session.is_closed() => {
                    engine.sql.quarantine.keep(&self.running);
                    return Err(error);
                }
                Err(error) if error.misses_statement() => {
                    self.running.clear();
                    return Err(StepError::Spoiled);
                }
                Err(error) => {
                    // An error of our own statements judges nothing: the events are claimed again.
                    warn!(
                        db.sqlstate = error.sqlstate().map(tokio_postgres::error::SqlState::code),
                        "a step of the queue failed and is repeated: {}",
                        shared::db::error_chain::ErrorChain(&error)
                    );
                    self.running.clear();
                    session.rollback().await?;
                    engine.sql.clear_floors();
                    engine.pause(backoff.next()).await;
                }
            }
        }
        Ok(())
    }

    async fn turn(&mut self, session: &mut WorkerSession) -> Result<Turn, StepError> {
        if let Some(todo) = self.todo.pop_front() {
            self.run_todo(session, todo).await?;
            return Ok(Turn::Worked);
        }
        // Round the sources in turn, so that none starves another.
        let engine = Arc::clone(&self.engine);
        for step in 0..Source::ALL.len() {
            // Nothing that is committed after the drain has begun is claimed: a look that begins now would see it.
            if engine.shutdown.token.is_cancelled() {
                break;
            }
            let place = (self.next_source + step) % Source::ALL.len();
            let source = Source::ALL[place];
            if engine.sql.is_empty(source) {
                continue;
            }
            let turn = self.turn_source(session, source).await?;
            // What the express worker leaves to its siblings is not for it to call empty.
            if !(self.express && source == Source::Alone) {
                engine.sql.found(source, turn == Turn::Idle);
            }
            if turn == Turn::Worked {
                self.next_source = place + 1;
                return Ok(Turn::Worked);
            }
        }
        Ok(Turn::Idle)
    }

    async fn turn_source(
        &mut self,
        session: &mut WorkerSession,
        source: Source,
    ) -> Result<Turn, StepError> {
        let engine = Arc::clone(&self.engine);
        let (apart, changed) = engine.sql.paces.apart();
        if changed {
            engine.sql.clear_floors();
        }
        let alone = if self.express {
            &apart.without_hogs
        } else {
            &apart.all
        };
        match source {
            Source::Lanes => self.turn_lanes(session).await,
            Source::Batches => self.turn_stream(session, Stream::Without(&apart.all)).await,
            Source::Alone if alone.is_empty() => Ok(Turn::Idle),
            Source::Alone => self.turn_stream(session, Stream::Only(alone)).await,
        }
    }
}
