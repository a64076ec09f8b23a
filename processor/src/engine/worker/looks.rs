//! Looking for events: in lanes, in a stream from its floor, and from the beginning.

use super::{Todo, Turn, Worker};
use crate::engine::claim::{self, Claimed, Stream};
use crate::engine::floor::{Floor, FullLook};
use crate::engine::lanes::{self, Seat};
use crate::engine::session::WorkerSession;
use crate::engine::step::StepError;
use crate::engine::wire::Key;
use std::sync::Arc;
use tokio::sync::SemaphorePermit;

/// Events taken from one lane before other work is looked at.
const LANE_RUN: u32 = 64;

impl Worker {
    pub(super) async fn turn_lanes(
        &mut self,
        session: &mut WorkerSession,
    ) -> Result<Turn, StepError> {
        let engine = Arc::clone(&self.engine);
        let Some((seat, claimed)) = lanes::claim_some(&engine, session).await? else {
            return Ok(Turn::Idle);
        };
        engine.sql.found_backlog().await;
        self.run_lane(session, &seat, claimed).await?;
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

    pub(super) async fn turn_stream(
        &mut self,
        session: &mut WorkerSession,
        stream: Stream<'_>,
    ) -> Result<Turn, StepError> {
        let engine = Arc::clone(&self.engine);
        let drain = &engine.shutdown.token;
        // What the express worker leaves to its siblings it must not put below their floor: it has one of its own, below everything.
        let below_everything = Floor::new();
        let (floor, limit) = match stream {
            Stream::Without(_) => (&engine.sql.floor, engine.sql.size().get()),
            Stream::Only(_) if self.express => (&below_everything, 1),
            Stream::Only(_) => (&engine.sql.floor_apart, 1),
        };
        let permit = if limit == 1 {
            None
        } else {
            tokio::select! {
                () = drain.cancelled() => None,
                permit = engine.sql.batching.acquire() => permit.ok(),
            }
        };
        if floor.full_look_overdue()
            && let Some(look) = floor.try_full_look()
        {
            return self
                .full_look(session, stream, (floor, look), limit, permit)
                .await;
        }
        let claiming = engine.sql.claiming.lock().await;
        if drain.is_cancelled() {
            return Ok(Turn::Idle);
        }
        let from = floor.start();
        let claimed = claim::ready(&engine, session, stream, limit, from).await?;
        if let Some((_, last)) = claimed.span {
            floor.passed(from, last);
            drop(claiming);
            return self.run_ready(session, claimed, limit, permit).await;
        }
        drop(claiming);
        floor.found_nothing(session.rollback_empty_at().await?);
        if self.express && matches!(stream, Stream::Only(_)) {
            // That claim began below everything already.
            return Ok(Turn::Idle);
        }
        match floor.try_full_look() {
            Some(look) => {
                self.full_look(session, stream, (floor, look), limit, permit)
                    .await
            }
            None => Ok(Turn::Idle),
        }
    }

    /// The events that crashes marked, and a claim that starts at the beginning. The marked ones come first: no backlog may keep them waiting.
    async fn full_look(
        &mut self,
        session: &mut WorkerSession,
        stream: Stream<'_>,
        (floor, look): (&Floor, FullLook<'_>),
        limit: usize,
        permit: Option<SemaphorePermit<'_>>,
    ) -> Result<Turn, StepError> {
        let engine = Arc::clone(&self.engine);
        let suspects = claim::suspects(&engine, session).await?;
        if engine.shutdown.token.is_cancelled() {
            return Ok(Turn::Idle);
        }
        self.todo.extend(suspects.into_iter().map(Todo::single));
        let claimed = claim::ready(&engine, session, stream, limit, Key::MIN).await?;
        drop(look);
        if let Some((_, last)) = claimed.span {
            if claimed.taken >= limit {
                floor.full_look_was_full(last);
            } else {
                floor.passed(Key::MIN, last);
            }
            return self.run_ready(session, claimed, limit, permit).await;
        }
        session.rollback_empty().await?;
        Ok(if self.todo.is_empty() {
            Turn::Idle
        } else {
            Turn::Worked
        })
    }

    /// Runs what a claim took. The permit is for a batch: a single attempt may take minutes.
    async fn run_ready(
        &mut self,
        session: &mut WorkerSession,
        claimed: Claimed,
        limit: usize,
        permit: Option<SemaphorePermit<'_>>,
    ) -> Result<Turn, StepError> {
        let _permit = permit.filter(|_| claimed.attempts.len() > 1);
        if claimed.taken >= limit {
            self.engine.sql.found_backlog().await;
        } else {
            self.engine.sql.found_work().await;
        }
        self.run_claimed(session, claimed).await?;
        Ok(Turn::Worked)
    }
}
