//! The settlement of a notify event: row lock, the notifier's `set_status`, queue and log, COMMIT, all in one flight.
//!
//! A notification that was sent is never sent again because the bookkeeping failed (pg_relay_notifier: The Interface Contract). So whatever fails here is rolled
//! back to a savepoint behind the claim and done again, a report that failed for good without it; deferred constraints of the notifier speak before COMMIT does,
//! and only the end of the session, or of a long patience, lets go of the claim.

use super::conclusion::Conclusion;
use super::flight::{Answer, Part, answers, back_to_savepoint, claim_again, locking};
use super::interface::Servable;
use crate::engine::Engine;
use crate::engine::event::Event;
use crate::engine::pipeline::Pipeline;
use crate::engine::report;
use crate::engine::session::WorkerSession;
use crate::engine::settle::{self, Ending, Failure, Success, When};
use crate::engine::step::{ANSWER_LIMIT, StepError};
use crate::engine::verdict::{Verdict, of_companion};
use postgres_types::{ToSql, Type};
use shared::backoff::Backoff;
use shared::failure::Class;
use std::time::{Duration, Instant};
use tokio_postgres::Error;

/// How long a settlement is tried before the claim is let go.
const PATIENCE: Duration = Duration::from_mins(10);
/// Pause between two tries.
const PAUSE: Duration = Duration::from_millis(200);
/// How often a report is tried whose failure may pass: for about a minute if each waits for a lock, since what was sent would be `queued` for ever without it.
const REPORTS: u32 = 8;
/// First and longest pause between two reports.
const REPORT_PAUSES: (Duration, Duration) = (Duration::from_millis(400), Duration::from_secs(4));

/// Who is told of the verdict.
#[derive(Debug, Clone, Copy)]
pub struct Addressee<'a> {
    /// The notifier.
    pub notifier: &'a Servable,
    /// The notification.
    pub id: i64,
}

/// What became of a settlement.
#[derive(Debug, PartialEq, Eq)]
pub enum Settled {
    /// Committed.
    Recorded,
    /// Committed, but the event had been ended by somebody who does not ask for claims, and keeps the status he gave it.
    EndedElsewhere,
    /// COMMIT failed, and somebody else has the event by now.
    Dropped,
}

/// One settlement.
pub struct Record<'a> {
    engine: &'a Engine,
    event: &'a Event,
    conclusion: &'a mut Conclusion,
    addressee: Option<Addressee<'a>>,
    call: String,
    /// Reports that failed.
    reports: u32,
    backoff: Backoff,
}

impl<'a> Record<'a> {
    /// Of what became of `event`, which the open transaction has claimed.
    pub fn new(
        engine: &'a Engine,
        event: &'a Event,
        conclusion: &'a mut Conclusion,
        addressee: Option<Addressee<'a>>,
    ) -> Self {
        let schema = addressee.map_or("", |addressee| addressee.notifier.schema.as_str());
        Self {
            engine,
            event,
            conclusion,
            addressee,
            call: format!("SELECT {schema}.set_status($1, $2, $3, $4, $5, $6)"),
            reports: 0,
            backoff: Backoff::new(REPORT_PAUSES.0, REPORT_PAUSES.1),
        }
    }

    /// Whether the notifier's code runs in the settlement.
    #[must_use]
    pub const fn calls_notifier(&self) -> bool {
        self.addressee.is_some()
    }

    /// Records and commits. `Err`: nothing is recorded.
    pub async fn settle(&mut self, session: &mut WorkerSession) -> Result<Settled, StepError> {
        let patience_ends = Instant::now() + PATIENCE;
        loop {
            let (part, error) = match self.try_settle(session).await {
                Ok(true) => return Ok(Settled::Recorded),
                Ok(false) => return Ok(Settled::EndedElsewhere),
                Err(failed) => failed,
            };
            if error.ends_session() || session.is_closed() || Instant::now() > patience_ends {
                return Err(error);
            }
            match part {
                Part::Report => {
                    back_to_savepoint(session).await?;
                    self.report_failed(&error).await;
                }
                Part::Row | Part::Verdict => {
                    report::settlement_failed(self.event, &error);
                    back_to_savepoint(session).await?;
                    if error.misses_statement() {
                        session.prepare_again().await?;
                    }
                    tokio::time::sleep(PAUSE).await;
                }
                Part::Commit => {
                    report::settlement_failed(self.event, &error);
                    // Its reason may lie with what the notifier did.
                    self.addressee = None;
                    if !claim_again(session, self.event.id).await? {
                        return Ok(Settled::Dropped);
                    }
                }
            }
        }
    }

    /// Pauses before the next report, or gives reports up. A drain has no time for more than one: what was sent must be settled before it is over.
    async fn report_failed(&mut self, error: &StepError) {
        let Some(Addressee { id, .. }) = self.addressee else {
            return;
        };
        self.reports += 1;
        let passes = of_companion(error.sqlstate()) == Class::Transient;
        let draining = self.engine.shutdown.token.is_cancelled();
        if passes && self.reports < REPORTS && !draining {
            if self.reports == 1 {
                report::report_repeated(self.event, id, error);
            }
            self.engine.pause(self.backoff.next()).await;
        } else {
            self.addressee = None;
            report::report_lost(self.event, id, error);
        }
    }

    /// Whether the event was still pending. After an error the transaction stands at the failed part.
    async fn try_settle(&mut self, session: &WorkerSession) -> Result<bool, (Part, StepError)> {
        let deadline = Instant::now() + ANSWER_LIMIT;
        // No word of a retry, and no new event, before it is known that the old one is still there.
        if matches!(self.conclusion.verdict, Verdict::Retry(_)) {
            let pending = answers(locking(self.engine, session, self.event.id), deadline).await?;
            if !pending {
                self.conclusion.was_ended_elsewhere();
            }
            answers(
                self.recording(session, Pipeline::with_capacity(4)),
                deadline,
            )
            .await?;
            return Ok(pending);
        }
        answers(
            self.recording(session, locking(self.engine, session, self.event.id)),
            deadline,
        )
        .await
    }

    /// Adds report, verdict and COMMIT to `pipeline`.
    fn recording<'b>(
        &'b self,
        session: &'b WorkerSession,
        mut pipeline: Pipeline<'b, Answer>,
    ) -> Pipeline<'b, Answer> {
        if let Some(addressee) = self.addressee {
            pipeline.push(async move {
                (
                    Part::Report,
                    self.report(session, addressee.id).await.map(|()| true),
                )
            });
            pipeline.push(async move {
                // What the notifier deferred speaks now, and what it set in the session goes.
                let leave = format!("SET CONSTRAINTS ALL IMMEDIATE; {}", session.after_action());
                let left = session.client().batch_execute(&leave).await;
                (Part::Report, left.map(|()| true))
            });
        }
        pipeline.push(async move { (Part::Verdict, self.verdict(session).await.map(|()| true)) });
        pipeline.push(async move { (Part::Commit, session.commit().await.map(|()| true)) });
        pipeline
    }

    async fn report(&self, session: &WorkerSession, id: i64) -> Result<(), Error> {
        let Conclusion {
            verdict,
            detail,
            provider_ref,
            took,
            ..
        } = &self.conclusion;
        let status = verdict.notification_status();
        let elapsed_ms = i32::try_from(took.as_millis()).unwrap_or(i32::MAX);
        let attempt = self.event.attempt();
        let parameters: [(&(dyn ToSql + Sync), Type); 6] = [
            (&id, Type::INT8),
            (&status, Type::TEXT),
            (detail, Type::TEXT),
            (provider_ref, Type::TEXT),
            (&elapsed_ms, Type::INT4),
            (&attempt, Type::INT4),
        ];
        session
            .client()
            .query_typed(&self.call, &parameters)
            .await?;
        Ok(())
    }

    async fn verdict(&self, session: &WorkerSession) -> Result<(), Error> {
        let (engine, event) = (self.engine, self.event);
        let Conclusion {
            verdict,
            failure,
            took,
            ..
        } = &self.conclusion;
        let when = When {
            claimed_at: event.claimed_at,
            started: Duration::ZERO,
            took: *took,
        };
        match (verdict, failure) {
            (Verdict::Done, _) => {
                let success = Success {
                    event,
                    started: when.started,
                    took: when.took,
                };
                settle::done(engine, session, event.claimed_at, &[success]).await
            }
            (Verdict::Retry(delay), Some(failure)) => {
                settle::retry(engine, session, event, *delay, failure, when).await
            }
            (verdict, failure) => {
                let ending = self.ending(*verdict, failure.as_ref());
                settle::endings(engine, session, when, &[ending]).await
            }
        }
    }

    fn ending(&self, verdict: Verdict, failure: Option<&Failure>) -> Ending {
        Ending {
            id: self.event.id,
            channel: self.event.channel.clone(),
            attempt: self.event.attempt(),
            verdict,
            sqlstate: failure.and_then(|failure| failure.sqlstate.clone()),
            error: failure.map(|failure| failure.error.clone()),
            served_by: None,
        }
    }
}

/// Moves an event to the lane that its channel has now.
pub async fn move_lane(engine: &Engine, session: &WorkerSession, id: i64) -> Result<(), StepError> {
    let mut pipeline: Pipeline<'_, Answer> = locking(engine, session, id);
    pipeline.push(async move {
        let moved = settle::move_lane(session, &[id]).await;
        (Part::Verdict, moved.map(|()| true))
    });
    pipeline.push(async move { (Part::Commit, session.commit().await.map(|()| true)) });
    let deadline = Instant::now() + ANSWER_LIMIT;
    let moved = answers(pipeline, deadline).await;
    moved.map(drop).map_err(|(_, error)| error)
}
