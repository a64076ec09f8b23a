//! One worker of the sql pool: one connection, one held transaction at a time.
//!
//! It waits on: leave to work, its own statements, and the pool's wake-ups. What it does with a claim is in [`runs`].

mod runs;

use super::claim::{self, Claimed};
use super::crash::Lost;
use super::floor::FullLook;
use super::lanes::{self, Seat};
use super::pace::BatchSize;
use super::session::WorkerSession;
use super::step::StepError;
use super::wire::Key;
use super::{Engine, availability::Access, report};
use shared::backoff::Backoff;
use shared::logging::repeat::Repeats;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tracing::{debug, warn};

/// Longest silence of a Processor inside a transaction before the server takes its events away.
const LONGEST_HOLD: Duration = Duration::from_secs(30);

/// Events taken from one lane before other work is looked at.
const LANE_RUN: u32 = 64;

/// How often lanes are looked at while parallel channels have a backlog.
const LANES_EVERY: Duration = Duration::from_millis(5);

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
    size: BatchSize,
    todo: VecDeque<Todo>,
    /// Events whose actions are running, for the marks after a crash.
    running: Vec<i64>,
    lanes_seen: Instant,
    /// See [`Todo::Single`].
    suspected: bool,
    /// The event whose action dropped the statements of the last session.
    spoiler: Option<i64>,
}

impl Worker {
    /// A worker of `engine`.
    #[must_use]
    pub fn new(engine: Arc<Engine>) -> Self {
        Self {
            engine,
            size: BatchSize::new(),
            todo: VecDeque::new(),
            running: Vec::new(),
            lanes_seen: Instant::now(),
            suspected: false,
            spoiler: None,
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
            lost = None;
            if let Some(id) = self.spoiler
                && let Err(error) = self.settle_spoiler(&session, id).await
            {
                debug!("the event that spoiled a session cannot be settled: {error}");
                engine.pause(backoff.next()).await;
                continue;
            }
            self.spoiler = None;
            backoff.reset();
            engine.sql.floor.clear();
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
                    let listener = engine.listener();
                    engine
                        .sql
                        .wait(listener.as_ref(), &engine.shutdown.token)
                        .await;
                }
                Err(error) if error.ends_session() || session.is_closed() => return Err(error),
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
                    engine.sql.floor.clear();
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
        // Both kinds of work are looked at in turn, so that neither starves the other.
        let lanes_first = self.lanes_seen.elapsed() >= LANES_EVERY;
        if lanes_first && self.turn_lanes(session).await? == Turn::Worked {
            return Ok(Turn::Worked);
        }
        if self.turn_ready(session).await? == Turn::Worked {
            return Ok(Turn::Worked);
        }
        if lanes_first {
            return Ok(Turn::Idle);
        }
        self.turn_lanes(session).await
    }

    async fn turn_lanes(&mut self, session: &mut WorkerSession) -> Result<Turn, StepError> {
        self.lanes_seen = Instant::now();
        let engine = Arc::clone(&self.engine);
        let Some((seat, claimed)) = lanes::claim_some(&engine, session).await? else {
            return Ok(Turn::Idle);
        };
        engine.sql.found_backlog();
        self.run_lane(session, &seat, claimed).await?;
        self.lanes_seen = Instant::now();
        Ok(Turn::Worked)
    }

    /// Serves a lane for a while: its next head is most often due too.
    async fn run_lane(
        &mut self,
        session: &mut WorkerSession,
        seat: &Seat<'_>,
        first: Claimed,
    ) -> Result<(), StepError> {
        let engine = Arc::clone(&self.engine);
        let mut next = Some(first);
        for _ in 0..LANE_RUN {
            let Some(claimed) = next.take() else { break };
            self.run_claimed(session, claimed).await?;
            if engine.shutdown.token.is_cancelled() {
                break;
            }
            next = lanes::claim_head(&engine, session, seat).await?;
        }
        match next {
            Some(_) => session.rollback().await,
            None => Ok(()),
        }
    }

    async fn turn_ready(&mut self, session: &mut WorkerSession) -> Result<Turn, StepError> {
        let engine = Arc::clone(&self.engine);
        let floor = &engine.sql.floor;
        if floor.full_look_overdue()
            && let Some(look) = floor.try_full_look()
        {
            return self.full_look(session, look).await;
        }
        let limit = self.size.get();
        let claimed = claim::ready(&engine, session, limit, floor.start()).await?;
        if let Some((_, last)) = claimed.span {
            floor.passed(last);
            return self.run_ready(session, claimed, limit).await;
        }
        session.rollback_empty().await?;
        match floor.try_full_look() {
            Some(look) => self.full_look(session, look).await,
            None => Ok(Turn::Idle),
        }
    }

    /// The events that crashes marked, and a claim that starts at the beginning. The marked ones come first: no backlog may keep them waiting.
    async fn full_look(
        &mut self,
        session: &mut WorkerSession,
        look: FullLook<'_>,
    ) -> Result<Turn, StepError> {
        let engine = Arc::clone(&self.engine);
        let limit = self.size.get();
        let suspects = claim::suspects(&engine, session).await?;
        self.todo.extend(suspects.into_iter().map(Todo::single));
        let claimed = claim::ready(&engine, session, limit, Key::MIN).await?;
        drop(look);
        if let Some((_, last)) = claimed.span {
            if claimed.taken >= limit {
                engine.sql.floor.full_look_was_full(last);
            } else {
                engine.sql.floor.passed(last);
            }
            return self.run_ready(session, claimed, limit).await;
        }
        session.rollback_empty().await?;
        Ok(if self.todo.is_empty() {
            Turn::Idle
        } else {
            Turn::Worked
        })
    }

    async fn run_ready(
        &mut self,
        session: &mut WorkerSession,
        claimed: Claimed,
        limit: usize,
    ) -> Result<Turn, StepError> {
        if claimed.taken >= limit {
            self.engine.sql.found_backlog();
        } else {
            self.engine.sql.found_work();
        }
        self.run_claimed(session, claimed).await?;
        Ok(Turn::Worked)
    }
}
