//! What becomes of a claim: one attempt, a batch, or parts of it one after the other.

use super::{Todo, Worker};
use crate::engine::attempt::{self, Attempted};
use crate::engine::batch::{self, Batched};
use crate::engine::claim::{self, Claimed};
use crate::engine::event::Event;
use crate::engine::report;
use crate::engine::session::WorkerSession;
use crate::engine::settlement::{self, Attempts};
use crate::engine::step::StepError;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tracing::debug;

impl Worker {
    /// Records the end of an event whose action spoiled the session before this one.
    pub(super) async fn settle_spoiler(
        &self,
        session: &WorkerSession,
        id: i64,
    ) -> Result<(), StepError> {
        let claimed = claim::again(session, id).await?;
        if claimed.attempts.is_empty() {
            return claim::let_go(&self.engine, session, &claimed).await;
        }
        attempt::settle_spoiler(&self.engine, session, &claimed).await
    }

    pub(super) async fn run_todo(
        &mut self,
        session: &mut WorkerSession,
        todo: Todo,
    ) -> Result<(), StepError> {
        let claimed = match &todo {
            Todo::Batch(ids) => claim::by_ids(session, ids).await?,
            Todo::Single { id, .. } => claim::by_ids(session, &[*id]).await?,
        };
        if claimed.taken == 0 {
            return session.rollback_empty().await;
        }
        self.suspected = matches!(
            todo,
            Todo::Single {
                suspected: true,
                ..
            }
        );
        let run = self.run_claimed(session, claimed).await;
        self.suspected = false;
        run
    }

    /// Runs what a claim took: alone, as a batch, or, when it does not go together, in parts.
    pub(super) async fn run_claimed(
        &mut self,
        session: &mut WorkerSession,
        mut claimed: Claimed,
    ) -> Result<(), StepError> {
        let claimed_at = Instant::now();
        let engine = Arc::clone(&self.engine);
        let kept = |event: &Event| engine.sql.quarantine.holds(event.id);
        if claimed.attempts.iter().any(kept) {
            return self.leave_kept(session, &claimed).await;
        }
        claim::fold_twins(session, &mut claimed).await?;
        match claimed.attempts.len() {
            0 => {
                settlement::settle(&engine, session, &claimed, None, Attempts::None)
                    .await
                    .map_err(|unsettled| unsettled.error)?;
                report::endings(&engine, &claimed.endings);
                Ok(())
            }
            1 => self.run_single(session, &claimed, claimed_at).await,
            _ => {
                let (together, apart): (Vec<_>, Vec<_>) = claimed
                    .attempts
                    .iter()
                    .partition(|event| self.may_batch(event));
                if apart.is_empty() {
                    return self.run_batch(session, &claimed, claimed_at).await;
                }
                self.todo
                    .extend(apart.iter().map(|event| Todo::single(event.id)));
                if !together.is_empty() {
                    let ids = together.iter().map(|event| event.id).collect();
                    self.todo.push_front(Todo::Batch(ids));
                }
                engine.sql.size().restart();
                claim::let_go(&engine, session, &claimed).await
            }
        }
    }

    /// Lets go of a claim with events in quarantine, and goes on with the others.
    async fn leave_kept(
        &mut self,
        session: &mut WorkerSession,
        claimed: &Claimed,
    ) -> Result<(), StepError> {
        /// A mark takes about as long.
        const A_MARK: Duration = Duration::from_millis(5);
        let engine = Arc::clone(&self.engine);
        let ids = claimed.attempts.iter().map(|event| event.id);
        let free: Vec<i64> = ids.filter(|id| !engine.sql.quarantine.holds(*id)).collect();
        if !free.is_empty() {
            self.todo.push_front(Todo::Batch(free));
        }
        claim::let_go(&engine, session, claimed).await?;
        engine.pause(A_MARK).await;
        Ok(())
    }

    fn may_batch(&self, event: &Event) -> bool {
        event.action.batch
            && !event.payload_is_large
            && self.engine.sql.paces.batchable(&event.channel)
    }

    async fn run_single(
        &mut self,
        session: &mut WorkerSession,
        claimed: &Claimed,
        claimed_at: Instant,
    ) -> Result<(), StepError> {
        let engine = Arc::clone(&self.engine);
        let event = &claimed.attempts[0];
        self.running = vec![event.id];
        let attempted = match attempt::run(&engine, session, claimed, claimed_at).await {
            Err(error) if error.misses_statement() => {
                // The statements were there for the claim. The verdict is recorded on a fresh session.
                self.spoiler = Some(event.id);
                return Err(error);
            }
            attempted => attempted?,
        };
        self.running.clear();
        if self.may_batch(event) {
            engine.sql.size().succeeded(1, claimed_at.elapsed());
        }
        let well = match attempted {
            Attempted::Settled { well } => well,
            Attempted::CommitFailed(failure, judgement) => {
                session.rollback().await?;
                let again = claim::again(session, event.id).await?;
                if again.attempts.is_empty() {
                    // Another worker has it by now: the verdict is theirs to find.
                    return claim::let_go(&engine, session, &again).await;
                }
                attempt::settle_again(&engine, session, &again, failure, judgement).await?;
                false
            }
        };
        if self.suspected && !well {
            engine.sql.paces.batch_ended(&event.channel, true);
        }
        Ok(())
    }

    async fn run_batch(
        &mut self,
        session: &mut WorkerSession,
        claimed: &Claimed,
        claimed_at: Instant,
    ) -> Result<(), StepError> {
        let engine = Arc::clone(&self.engine);
        self.running = claimed.attempts.iter().map(|event| event.id).collect();
        let batched = batch::run(&engine, session, claimed, claimed_at).await?;
        self.running.clear();
        match batched {
            Batched::Settled { actions } => {
                let count = claimed.attempts.len();
                engine.sql.size().succeeded(count, actions);
            }
            Batched::Failed { culprit, error } => {
                let count = claimed.attempts.len();
                debug!("a batch of {count} failed and its events run singly: {error}");
                if let Some(culprit) = &culprit {
                    engine.sql.paces.batch_ended(culprit, true);
                }
                let suspected = culprit.is_none();
                let ids = claimed.attempts.iter().map(|event| event.id);
                self.todo
                    .extend(ids.map(|id| Todo::Single { id, suspected }));
                engine.sql.size().restart();
                claim::let_go(&engine, session, claimed).await?;
            }
        }
        Ok(())
    }
}
