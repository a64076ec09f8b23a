//! The control task: reaches the database, registers this Processor, keeps the heartbeat and obeys the fleet's controls.
//!
//! It waits on: its next look (a second, or a wake-up on the control topic), and its own end. It alone opens and closes the gate of
//! [`Availability`](super::availability::Availability), so that a database that is down, demoted or shutting down is met by one task and logged once.

mod reload;

use super::Engine;
use super::gate::Gate;
use super::registry;
use super::step::{StepError, within};
use super::wire::Timestamp;
use shared::backoff::Backoff;
use shared::db::connect::{ConnectError, Connector, Session};
use shared::systemd;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::info;

/// Pause between two looks at the controls.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Pause between two heartbeats.
const BEAT_EVERY: Duration = Duration::from_secs(5);
/// A new connection is tried this often: one that is refused with 57P03 is the only sign of a smart shutdown, which waits for our sessions.
const PROBE_EVERY: Duration = Duration::from_secs(10);
/// Longest answer to one of its statements.
const LIMIT: Duration = Duration::from_secs(10);
/// The same during a drain: a dead database must not hold up the exit.
const DRAIN_LIMIT: Duration = Duration::from_millis(1500);
/// Upkeep takes at most one part in this many of the time.
const UPKEEP_SHARE: u32 = 20;

/// Why the control task ended the Processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It was told to.
    Told,
    /// A preflight finding blocks.
    Blocked,
}

/// Why one session of the control task ended.
enum Left {
    For(Ended),
    Lost(StepError),
    /// The server is to be left alone: it is in recovery, or shutting down.
    Unwelcome(&'static str),
}

/// The control task.
pub struct Control {
    engine: Arc<Engine>,
    /// Cancelled once the workers are gone; until then the heartbeat goes on.
    finish: CancellationToken,
    look: Arc<Notify>,
    gate: Gate,
    /// When this Processor registered, by the database's clock.
    registered: Option<Timestamp>,
    reload_generation: Option<i64>,
    /// When it last reloaded because the notifier had changed.
    followed_notifier: Option<Instant>,
    paused: bool,
}

impl Control {
    /// A control task that ends with `finish`.
    #[must_use]
    pub fn new(engine: Arc<Engine>, finish: CancellationToken) -> Self {
        let look = Arc::new(Notify::new());
        Self {
            gate: Gate::new(Arc::clone(&engine), Arc::clone(&look)),
            engine,
            finish,
            look,
            registered: None,
            reload_generation: None,
            followed_notifier: None,
            paused: false,
        }
    }

    /// Goes on until it is told to end, or something tells it that this Processor should.
    pub async fn run(mut self) -> Ended {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(1));
        loop {
            let connect = connect(&self.engine.connector);
            let connected = tokio::select! {
                () = self.finish.cancelled() => return Ended::Told,
                () = self.drain_waited() => {
                    self.engine.shutdown.force.cancel();
                    continue;
                }
                connected = connect => connected,
            };
            let left = match connected {
                Ok(session) => {
                    backoff.reset();
                    self.serve(session).await
                }
                Err(problem) => {
                    self.gate.close(&problem.to_string());
                    None
                }
            };
            match left {
                Some(Left::For(ended)) => return ended,
                Some(Left::Lost(error)) => {
                    tracing::debug!("the control session was lost: {error}");
                    if self.engine.shutdown.token.is_cancelled() {
                        // A drain must not wait for a database that is gone.
                        self.engine.shutdown.force.cancel();
                    }
                }
                Some(Left::Unwelcome(reason)) => self.gate.close(reason),
                None => {}
            }
            tokio::select! {
                () = self.finish.cancelled() => return Ended::Told,
                () = tokio::time::sleep(backoff.next()) => {}
            }
        }
    }

    /// One session: preflight if the gate is closed, then looks until something ends it.
    async fn serve(&mut self, session: Session) -> Option<Left> {
        if !self.gate.is_open() {
            self.note_generation(&session).await;
            match self.preflight().await {
                Ok(false) => {}
                Ok(true) => return Some(Left::For(Ended::Blocked)),
                Err(()) => return None,
            }
        }
        // What the registry shows of us; a change is shown at once.
        let mut shown = self.state();
        if let Err(error) = self.beat(&session).await {
            return Some(Left::Lost(error));
        }
        self.gate.open();
        let mut beaten = Instant::now();
        let mut probed = Instant::now();
        let mut upkeep_due = Instant::now();
        loop {
            let left = match self.look_once(&session).await {
                Ok(left) => left,
                Err(error) => return Some(Left::Lost(error)),
            };
            if left.is_some() {
                return left;
            }
            if beaten.elapsed() >= BEAT_EVERY || self.state() != shown {
                beaten = Instant::now();
                shown = self.state();
                if let Err(error) = self.beat(&session).await {
                    return Some(Left::Lost(error));
                }
            }
            if upkeep_due <= Instant::now() {
                let began = Instant::now();
                if let Err(error) = self.unless_draining(registry::upkeep(&session)).await {
                    return Some(Left::Lost(error));
                }
                upkeep_due = Instant::now() + LOOK_EVERY.max(began.elapsed() * UPKEEP_SHARE);
            }
            if probed.elapsed() >= PROBE_EVERY {
                probed = Instant::now();
                if self.is_shut_out().await {
                    return Some(Left::Unwelcome("the server is shutting down"));
                }
            }
            tokio::select! {
                () = self.finish.cancelled() => return Some(self.unregister(session).await),
                () = self.look.notified() => {}
                () = self.engine.notifier.reload_wanted() => {}
                () = tokio::time::sleep(LOOK_EVERY) => {}
                () = self.draining(), if shown != "draining" => {}
            }
        }
    }

    async fn draining(&self) {
        self.engine.shutdown.token.cancelled().await;
    }

    fn state(&self) -> &'static str {
        if self.engine.shutdown.token.is_cancelled() {
            "draining"
        } else if self.paused {
            "paused"
        } else {
            "running"
        }
    }

    /// Returns once a drain has waited as long as it may for a database that does not answer.
    async fn drain_waited(&self) {
        self.draining().await;
        tokio::time::sleep(DRAIN_LIMIT).await;
    }

    /// A step, whether it began before the drain or in it, given up when the drain has waited for it.
    async fn unless_draining<T>(
        &self,
        step: impl Future<Output = Result<T, StepError>>,
    ) -> Result<T, StepError> {
        tokio::select! {
            result = step => result,
            () = self.drain_waited() => Err(StepError::Silent(DRAIN_LIMIT)),
        }
    }

    /// Whether a new connection is refused because the server shuts down.
    async fn is_shut_out(&self) -> bool {
        tokio::select! {
            probe = connect(&self.engine.connector) => matches!(probe, Err(ConnectError::NotAccepting { .. })),
            () = self.draining() => false,
        }
    }

    async fn beat(&mut self, session: &Session) -> Result<(), StepError> {
        let beat = registry::beat(&self.engine, session, self.state(), self.registered);
        self.registered = Some(self.unless_draining(within(LIMIT, beat)).await?);
        Ok(())
    }

    /// Reads the controls and obeys them.
    async fn look_once(&mut self, session: &Session) -> Result<Option<Left>, StepError> {
        let look = registry::controls(session, self.engine.id, self.registered);
        let controls = self.unless_draining(within(LIMIT, look)).await?;
        if controls.standby {
            return Ok(Some(Left::Unwelcome("the server became a standby")));
        }
        if controls.stop && !self.engine.shutdown.token.is_cancelled() {
            info!("stopped by pgrelay.stop(): draining");
            self.engine.shutdown.token.cancel();
        }
        let paused = controls.paused;
        if paused != self.paused {
            self.paused = paused;
            info!("claims are {}", if paused { "paused" } else { "resumed" });
            systemd::status(self.state());
            self.engine.sql.set_paused(paused);
            self.engine.notify.set_paused(paused);
        }
        Ok(if self.has_to_reload(controls.reload_generation) {
            self.reload().await
        } else {
            None
        })
    }

    /// The last statement: the registry forgets us.
    async fn unregister(&self, session: Session) -> Left {
        let forget = registry::forget(&session, self.engine.id);
        if let Err(error) = within(DRAIN_LIMIT, forget).await {
            tracing::debug!("the registry keeps our row until it is pruned: {error}");
        }
        session.close().await;
        Left::For(Ended::Told)
    }
}

async fn connect(connector: &Connector) -> Result<Session, ConnectError> {
    connector
        .connect("pg-relay-processor control", &registry::settings())
        .await
}
