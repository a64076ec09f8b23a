//! The control task: reaches the database, registers this Processor, keeps the heartbeat and obeys the fleet's controls.
//!
//! It waits on: its next look (a second, or a wake-up on the control topic), and its own end. It alone opens and closes the gate of
//! [`Availability`](super::availability::Availability), so that a database that is down, demoted or shutting down is met by one task and logged once.

use super::session::{StepError, within};
use super::wire::Timestamp;
use super::{Engine, TOPIC_CONTROL, TOPIC_NOTIFY, TOPIC_SQL};
use crate::preflight;
use postgres_types::ToSql;
use shared::backoff::Backoff;
use shared::db::connect::{ConnectError, Connector, Session};
use shared::db::listener::{Listener, WakeUp};
use shared::systemd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

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
/// Whoever gets this transaction lock does the upkeep of this second.
const UPKEEP: i64 = 5_283_404;

/// Start-up settings of sessions that run nothing but our own short statements.
#[must_use]
pub fn settings() -> Vec<(&'static str, String)> {
    [
        ("search_path", "pg_catalog, pg_temp"),
        ("statement_timeout", "30000"),
        ("lock_timeout", "5000"),
        ("idle_in_transaction_session_timeout", "60000"),
        ("idle_session_timeout", "0"),
        ("default_transaction_isolation", "read committed"),
        ("default_transaction_read_only", "off"),
    ]
    .map(|(name, value)| (name, value.to_owned()))
    .to_vec()
}

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
    /// Ends listener and forwarder of the present access.
    access: Option<CancellationToken>,
    /// When this Processor registered, by the database's clock.
    registered: Option<Timestamp>,
    reload_generation: Option<i64>,
    paused: bool,
    said: String,
}

impl Control {
    /// A control task that ends with `finish`.
    #[must_use]
    pub fn new(engine: Arc<Engine>, finish: CancellationToken) -> Self {
        Self {
            engine,
            finish,
            look: Arc::new(Notify::new()),
            access: None,
            registered: None,
            reload_generation: None,
            paused: false,
            said: String::new(),
        }
    }

    /// Goes on until it is told to end, or something tells it that this Processor should.
    pub async fn run(mut self) -> Ended {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(1));
        loop {
            let connect = connect(&self.engine.connector);
            let connected = tokio::select! {
                () = self.finish.cancelled() => return Ended::Told,
                connected = connect => connected,
            };
            let left = match connected {
                Ok(session) => {
                    backoff.reset();
                    self.serve(session).await
                }
                Err(problem) => {
                    self.close_gate(&problem.to_string());
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
                Some(Left::Unwelcome(reason)) => self.close_gate(reason),
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
        if self.access.is_none() {
            match self.preflight().await {
                Ok(false) => {}
                Ok(true) => return Some(Left::For(Ended::Blocked)),
                Err(()) => return None,
            }
        }
        if let Err(error) = self.beat(&session).await {
            return Some(Left::Lost(error));
        }
        self.open_gate();
        let mut beaten = Instant::now();
        let mut probed = Instant::now();
        let mut upkeep_due = Instant::now();
        loop {
            let state_before = self.state();
            let left = match self.look_once(&session).await {
                Ok(left) => left,
                Err(error) => return Some(Left::Lost(error)),
            };
            if left.is_some() {
                return left;
            }
            if beaten.elapsed() >= BEAT_EVERY || self.state() != state_before {
                beaten = Instant::now();
                if let Err(error) = self.beat(&session).await {
                    return Some(Left::Lost(error));
                }
            }
            if upkeep_due <= Instant::now() {
                let began = Instant::now();
                if let Err(error) = upkeep(&session).await {
                    return Some(Left::Lost(error));
                }
                upkeep_due = Instant::now() + LOOK_EVERY.max(began.elapsed() * UPKEEP_SHARE);
            }
            if probed.elapsed() >= PROBE_EVERY {
                probed = Instant::now();
                if let Err(ConnectError::NotAccepting { .. }) =
                    connect(&self.engine.connector).await
                {
                    return Some(Left::Unwelcome("the server is shutting down"));
                }
            }
            tokio::select! {
                () = self.finish.cancelled() => return Some(self.unregister(session).await),
                () = self.look.notified() => {}
                () = tokio::time::sleep(LOOK_EVERY) => {}
                () = self.draining(), if state_before != "draining" => {}
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

    fn limit(&self) -> Duration {
        if self.engine.shutdown.token.is_cancelled() {
            DRAIN_LIMIT
        } else {
            LIMIT
        }
    }

    /// Whether a finding blocks; `Err` when the database could not be asked.
    async fn preflight(&mut self) -> Result<bool, ()> {
        let findings = match preflight::run(&self.engine.connector).await {
            Ok(findings) => findings,
            Err(problem) => {
                self.close_gate(&problem.to_string());
                return Err(());
            }
        };
        for finding in &findings {
            match finding.severity {
                preflight::Severity::Blocking => error!(
                    finding = finding.code,
                    "{}: {}", finding.code, finding.message
                ),
                preflight::Severity::Warning => warn!(
                    finding = finding.code,
                    "{}: {}", finding.code, finding.message
                ),
            }
        }
        Ok(preflight::any_blocks(&findings))
    }

    /// Lets the workers in, with a listener of their own.
    fn open_gate(&mut self) {
        if self.access.is_some() {
            return;
        }
        let engine = &self.engine;
        let token = engine.shutdown.token.child_token();
        let topics = [TOPIC_SQL, TOPIC_NOTIFY, TOPIC_CONTROL];
        let listener = Listener::spawn(
            engine.connector.clone(),
            "pg-relay-processor listener",
            topics.map(str::to_owned).to_vec(),
            token.clone(),
            &engine.shutdown.tracker,
        );
        engine.set_listener(Some(listener.handle()));
        engine.shutdown.tracker.spawn(forward(
            Arc::clone(engine),
            listener,
            Arc::clone(&self.look),
        ));
        engine.availability.open();
        self.access = Some(token);
        self.said.clear();
        info!(processor.id = %engine.id, "processor {} works with {}", engine.id, engine.connector.target());
        systemd::status("running");
    }

    /// Keeps the workers out and says why, once for each reason.
    fn close_gate(&mut self, reason: &str) {
        self.engine.availability.close();
        self.engine.set_listener(None);
        if let Some(access) = self.access.take() {
            access.cancel();
        }
        if self.engine.shutdown.token.is_cancelled() {
            self.engine.shutdown.force.cancel();
        }
        if self.said != reason {
            reason.clone_into(&mut self.said);
            warn!("no work for now, looking again every second: {reason}");
            systemd::status(&format!("waiting: {reason}"));
        }
    }

    async fn beat(&mut self, session: &Session) -> Result<(), StepError> {
        const BEAT: &str = "INSERT INTO pgrelay.processors AS p \
                (id, host, pid, version, node, state, sql_workers, notify_workers, started_at, events_ok, events_failed, events_retried) \
             VALUES ($1, $2, $3, $4, pgrelay.node_name(), $5, $6, $7, coalesce($8, clock_timestamp()), $9, $10, $11) \
             ON CONFLICT (id) DO UPDATE SET last_seen = clock_timestamp(), state = excluded.state, node = excluded.node, \
                events_ok = excluded.events_ok, events_failed = excluded.events_failed, events_retried = excluded.events_retried \
             RETURNING p.started_at";
        let engine = &self.engine;
        let counters = &engine.counters;
        let beat = async {
            let row = session
                .client
                .query_one(
                    BEAT,
                    &[
                        &engine.id,
                        &engine.host,
                        &i32::try_from(std::process::id()).unwrap_or(i32::MAX),
                        &env!("CARGO_PKG_VERSION"),
                        &self.state(),
                        &i32::from(engine.config.sql_workers),
                        &i32::from(engine.config.notify_workers),
                        &self.registered,
                        &counters.ok.load(Ordering::Relaxed),
                        &counters.failed.load(Ordering::Relaxed),
                        &counters.retried.load(Ordering::Relaxed),
                    ],
                )
                .await?;
            Ok(row.get(0))
        };
        self.registered = Some(within(self.limit(), beat).await?);
        Ok(())
    }

    /// Reads the controls and obeys them.
    async fn look_once(&mut self, session: &Session) -> Result<Option<Left>, StepError> {
        const LOOK: &str = "SELECT coalesce(f.paused_until > clock_timestamp(), false) AS paused, f.reload_generation, \
                pg_is_in_recovery() AS standby, \
                coalesce(f.stop_started_before > $2, false) \
                OR EXISTS (SELECT FROM pgrelay.processors AS p WHERE p.id = $1 AND p.stop_requested_at IS NOT NULL) AS stop \
             FROM pgrelay.fleet AS f";
        let parameters: [&(dyn ToSql + Sync); 2] = [&self.engine.id, &self.registered];
        let query = session.client.query_one(LOOK, &parameters);
        let row = within(self.limit(), query).await?;
        if row.get("standby") {
            return Ok(Some(Left::Unwelcome("the server became a standby")));
        }
        if row.get("stop") && !self.engine.shutdown.token.is_cancelled() {
            info!("stopped by pgrelay.stop(): draining");
            self.engine.shutdown.token.cancel();
        }
        let paused: bool = row.get("paused");
        if paused != self.paused {
            self.paused = paused;
            info!("claims are {}", if paused { "paused" } else { "resumed" });
            systemd::status(self.state());
            self.wake_pools();
        }
        let generation: i64 = row.get("reload_generation");
        if self
            .reload_generation
            .replace(generation)
            .is_some_and(|before| before != generation)
        {
            info!("reload requested: preflight and new sessions");
            if let Ok(true) = self.preflight().await {
                return Ok(Some(Left::For(Ended::Blocked)));
            }
            self.engine.availability.open();
            self.wake_pools();
        }
        Ok(None)
    }

    fn wake_pools(&self) {
        self.engine.sql.wake();
        self.engine.notify.wake();
    }

    /// The last statement: the registry forgets us.
    async fn unregister(&self, session: Session) -> Left {
        const FORGET: &str = "DELETE FROM pgrelay.processors AS p WHERE p.id = $1";
        let parameters: [&(dyn ToSql + Sync); 1] = [&self.engine.id];
        let forget = session.client.execute(FORGET, &parameters);
        if let Err(error) = within(DRAIN_LIMIT, forget).await {
            tracing::debug!("the registry keeps our row until it is pruned: {error}");
        }
        session.close().await;
        Left::For(Ended::Told)
    }
}

async fn connect(connector: &Connector) -> Result<Session, ConnectError> {
    connector
        .connect("pg-relay-processor control", &settings())
        .await
}

/// Closes events that were shared too long and publishes the floor of the twin look-up; one Processor of the fleet at a time.
async fn upkeep(session: &Session) -> Result<(), StepError> {
    const STEPS: [&str; 2] = [
        "SELECT CASE WHEN pg_try_advisory_xact_lock($1) THEN pgrelay._close_shared() END",
        "SELECT CASE WHEN pg_try_advisory_xact_lock($1) THEN pgrelay._publish_twin_floor() END",
    ];
    for step in STEPS {
        within(
            super::session::ANSWER_LIMIT,
            session.client.execute(step, &[&UPKEEP]),
        )
        .await?;
    }
    Ok(())
}

/// Hands wake-ups to whom they concern.
async fn forward(engine: Arc<Engine>, mut listener: Listener, look: Arc<Notify>) {
    while let Some(wake_up) = listener.wake_ups.recv().await {
        match wake_up {
            WakeUp::Topic { topic, .. } => match topic.as_str() {
                TOPIC_SQL => engine.sql.wake(),
                TOPIC_NOTIFY => engine.notify.wake(),
                _ => look.notify_one(),
            },
            // Anything may have been missed meanwhile.
            WakeUp::Connected => {
                engine.sql.wake();
                engine.notify.wake();
                look.notify_one();
            }
        }
    }
}
