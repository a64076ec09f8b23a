//! The service: listens, sweeps, and bounces as wake-ups arrive, through every loss of the database.
//!
//! Two sessions: one that only listens (`shared::db::listener`), one that works. LISTEN comes first and a sweep follows it, at the start and
//! whenever either session had to begin again, because nobody repeats a wake-up. Every SWEEP_INTERVAL another sweep finds what no
//! wake-up told of. The stop signal is looked at between two statements; one that is under way has a second to come to its end.

mod ledger;
mod pending;

use crate::PROGRAM;
use crate::config::BouncerConfig;
use crate::ingress::{Bounce, Ingress};
use crate::preflight::{self, Looked};
use crate::report::BounceError;
use ledger::Ledger;
use pending::Pending;
use shared::backoff::Backoff;
use shared::config::{ConfigError, PostgresConfig};
use shared::db::connect::Connector;
use shared::db::listener::{Listener, WakeUp};
use shared::exit::Exit;
use shared::finding::{Finding, Severity};
use shared::logging::LogHandle;
use shared::logging::repeat::Repeats;
use shared::shutdown::Shutdown;
use shared::systemd;
use std::time::Duration;
use tokio::sync::mpsc::Receiver;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{debug, error, info, warn};

/// Fired by the trigger `ingress_failed_notify` with the id of a row that has become failed or timeout.
const TOPIC: &str = "ingress_failed";
/// For the statement under way and the goodbye, once told to stop.
const GRACE: Duration = Duration::from_secs(1);
const BACKOFF_FIRST: Duration = Duration::from_millis(100);
/// Short enough that a promotion is noticed about as fast as by a look per second.
const BACKOFF_MAX: Duration = Duration::from_secs(2);

/// The sections of the configuration file that this program reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sections {
    /// `[pepsi-failure-bouncer]`
    pub bouncer: BouncerConfig,
    /// `[pepsi-postgres]`
    pub postgres: PostgresConfig,
}

/// What SIGHUP needs: how to read the configuration again, and the log whose level may change.
pub struct Reload {
    /// Reads the configuration file again.
    pub load: Box<dyn Fn() -> Result<Sections, ConfigError> + Send + Sync>,
    /// The sections this process runs with.
    pub running: Sections,
    /// The log.
    pub log: LogHandle,
}

/// Bounces until a signal ends it, or a blocking finding at the start.
pub async fn run(bounce: Bounce, interval: Duration, connector: Connector, reload: Reload) -> Exit {
    let shutdown = match Shutdown::install() {
        Ok(shutdown) => shutdown,
        Err(problem) => {
            error!("signals cannot be handled: {problem}");
            return Exit::Bug;
        }
    };
    systemd::spawn_watchdog(shutdown.force.clone(), &TaskTracker::new());
    tokio::spawn(follow_hangups(shutdown.clone(), reload));
    let listener = Listener::spawn(
        connector.clone(),
        PROGRAM,
        vec![TOPIC.to_owned()],
        shutdown.token.clone(),
        &shutdown.tracker,
    );
    // Boot order must not fail the unit: ready means that connecting has begun.
    systemd::ready();
    info!(
        "messages that are {} go to stage {}",
        bounce.states.names().join(" or "),
        bounce.stage
    );
    let service = Service {
        ledger: Ledger::new(&bounce.stage),
        bounce,
        interval,
        connector,
        token: shutdown.token.clone(),
        pending: Pending::default(),
        backoff: Backoff::new(BACKOFF_FIRST, BACKOFF_MAX),
        losses: Repeats::new(),
        sweep_at: Instant::now() + interval,
    };
    let mut serving = Box::pin(service.serve(listener.wake_ups));
    let exit = tokio::select! {
        exit = &mut serving => exit,
        () = shutdown.token.cancelled() => {
            systemd::stopping();
            tokio::select! {
                exit = serving => exit,
                () = tokio::time::sleep(GRACE) => {
                    warn!("the database did not answer within {GRACE:?}: what it has not committed is still stuck");
                    Exit::Drained
                }
                () = shutdown.force.cancelled() => Exit::Drained,
            }
        }
    };
    shutdown.token.cancel();
    exit
}

struct Service {
    bounce: Bounce,
    interval: Duration,
    connector: Connector,
    token: CancellationToken,
    pending: Pending,
    ledger: Ledger,
    backoff: Backoff,
    losses: Repeats,
    sweep_at: Instant,
}

impl Service {
    /// One session after the other.
    async fn serve(mut self, mut wake_ups: Receiver<WakeUp>) -> Exit {
        let mut reported: Option<Vec<Finding>> = None;
        loop {
            let token = self.token.clone();
            let looking = preflight::run(&self.connector, &self.bounce);
            let Some(looked) = token.run_until_cancelled(looking).await else {
                return Exit::Drained;
            };
            let loss = match looked {
                Ok(Looked { findings, ingress }) => {
                    if reported.as_ref() != Some(&findings) {
                        say(&findings);
                    }
                    let started = reported.replace(findings).is_some();
                    match ingress {
                        None if !started => return Exit::PreflightBlocked,
                        // Said above. What worked once may do so again: a restored table, a repaired grant.
                        None => "the preflight found what keeps it from working".to_owned(),
                        Some(mut ingress) => {
                            self.pending.start_over();
                            match self.work(&mut ingress, &mut wake_ups).await {
                                Ok(()) => {
                                    self.ledger.tell();
                                    ingress.close().await;
                                    return Exit::Drained;
                                }
                                Err(loss) => loss,
                            }
                        }
                    }
                }
                Err(error) => error.to_string(),
            };
            self.say_lost(&loss);
            let pause = tokio::time::sleep(self.backoff.next());
            if token.run_until_cancelled(pause).await.is_none() {
                return Exit::Drained;
            }
        }
    }

    /// Works in one session, until it is lost (the error says how) or the stop signal comes.
    async fn work(
        &mut self,
        ingress: &mut Ingress,
        wake_ups: &mut Receiver<WakeUp>,
    ) -> Result<(), String> {
        while !self.token.is_cancelled() {
            self.pending.take_in(wake_ups);
            if Instant::now() >= self.sweep_at {
                self.pending.sweep();
            }
            // The listener's session was lost: whatever cut it may have cut this one, which does not know yet.
            if self.pending.was_reconnected() {
                ingress.ping().await.map_err(|error| error.to_string())?;
            }
            if self.pending.is_empty() {
                self.wait(ingress, wake_ups).await?;
            } else {
                self.turn(ingress)
                    .await
                    .map_err(|error| error.to_string())?;
                self.say_found();
            }
        }
        Ok(())
    }

    /// Only now: a session that fails at its first statement is none.
    fn say_found(&mut self) {
        self.backoff.reset();
        if self.losses.reset() > 0 {
            systemd::status("bouncing again");
            info!("bouncing again");
        }
    }

    fn say_lost(&mut self, loss: &str) {
        match self.losses.observe(loss) {
            None => {}
            Some(1) => {
                systemd::status("waiting for the database");
                warn!("not bouncing: {loss}; trying again");
            }
            Some(times) => warn!("still not bouncing after {times} tries: {loss}"),
        }
    }

    /// One batch of what wake-ups named, and one of the sweep: neither starves the other.
    async fn turn(&mut self, ingress: &mut Ingress) -> Result<(), BounceError> {
        let ids = self.pending.take_ids();
        if !ids.is_empty() {
            match ingress.bounce_ids(&ids).await {
                Ok(batch) => self.ledger.enter(&batch),
                // Anybody may notify the topic, with anything; or the table will not let one of them go. The sweep sorts them out.
                Err(BounceError::Refused { sqlstate }) => {
                    debug!(
                        "wake-ups that cannot be followed (SQLSTATE {sqlstate}); sweeping instead"
                    );
                    self.pending.sweep();
                }
                Err(error) => return Err(error),
            }
        }
        if let Some(position) = self.pending.position() {
            if position.after.is_none() {
                self.sweep_at = Instant::now() + self.interval;
                self.ledger.begin_sweep();
            }
            let batch = ingress.bounce_next(position.after.as_deref()).await?;
            self.ledger.enter_swept(&batch)?;
            self.pending.advance(batch.next);
        }
        Ok(())
    }

    /// Until there is something to do.
    async fn wait(
        &mut self,
        ingress: &Ingress,
        wake_ups: &mut Receiver<WakeUp>,
    ) -> Result<(), String> {
        let line_at = self.ledger.due().map(Instant::from_std);
        tokio::select! {
            () = self.token.cancelled() => {}
            wake_up = wake_ups.recv() => match wake_up {
                Some(wake_up) => self.pending.note(wake_up),
                // The listener ends only after the stop signal.
                None => self.token.cancelled().await,
            },
            () = tokio::time::sleep_until(self.sweep_at) => {}
            () = tokio::time::sleep_until(line_at.unwrap_or_else(Instant::now)), if line_at.is_some() => {
                self.ledger.tell();
            }
            loss = ingress.lost() => return Err(loss),
        }
        Ok(())
    }
}

fn say(findings: &[Finding]) {
    for finding in findings {
        match finding.severity {
            Severity::Blocking => error!("{}", finding.text()),
            Severity::Warning => warn!("{}", finding.text()),
        }
    }
}

/// SIGHUP: the level of the log follows the file, anything else needs a restart and says so.
async fn follow_hangups(shutdown: Shutdown, reload: Reload) {
    let mut hangups = shutdown.reload.clone();
    while hangups.changed().await.is_ok() {
        match (reload.load)() {
            Ok(mut sections) => {
                let level = sections.bouncer.log_level;
                reload.log.set_level(level);
                info!("configuration read again, LOG_LEVEL is {level}");
                sections.bouncer.log_level = reload.running.bouncer.log_level;
                if sections != reload.running {
                    warn!("other keys than LOG_LEVEL have changed: they need a restart");
                }
            }
            // After the drop of privileges a file for root's eyes cannot be read again.
            Err(problem) => warn!("the configuration stays as it was: {problem}"),
        }
    }
}
