//! The service: starts the tasks, waits for a reason to end, drains.

use crate::config::ProcessorConfig;
use crate::engine::control::{Control, Ended};
use crate::engine::notify::NotifyWorker;
use crate::engine::worker::Worker;
use crate::engine::{Engine, janitor};
use shared::config::{ConfigError, PostgresConfig};
use shared::db::connect::Connector;
use shared::exit::Exit;
use shared::logging::LogHandle;
use shared::shutdown::Shutdown;
use shared::systemd;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{error, info, warn};

/// Once the drain has been given up, the process is gone within this.
const FORCED_EXIT: Duration = Duration::from_millis(500);

/// What SIGHUP needs: how to read the configuration again, and the log whose level may change.
pub struct Reload {
    /// Reads the configuration file again.
    pub load: Box<dyn Fn() -> Result<Sections, ConfigError> + Send + Sync>,
    /// The sections this process runs with.
    pub running: Sections,
    /// The log.
    pub log: LogHandle,
}

/// The sections of the configuration file that this program reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sections {
    /// `[pg-relay-processor]`
    pub processor: ProcessorConfig,
    /// `[pepsi-postgres]`, unless the command line names the database.
    pub postgres: Option<PostgresConfig>,
}

/// Serves the queue until a signal, `pgrelay.stop()` or a blocking finding ends it.
pub async fn run(config: ProcessorConfig, connector: Connector, reload: Option<Reload>) -> Exit {
    let shutdown = match Shutdown::install() {
        Ok(shutdown) => shutdown,
        Err(problem) => {
            error!("signals cannot be handled: {problem}");
            return Exit::Bug;
        }
    };
    let host = nix::unistd::gethostname().map_or_else(
        |_| "unknown".to_owned(),
        |name| name.to_string_lossy().into_owned(),
    );
    let engine = Arc::new(Engine::new(config, connector, shutdown.clone(), host));
    if let Some(reload) = reload {
        tokio::spawn(follow_hangups(Arc::clone(&engine), reload));
    }
    serve(engine, shutdown).await
}

/// Runs `engine` to its end.
pub async fn serve(engine: Arc<Engine>, shutdown: Shutdown) -> Exit {
    // It outlives the drain, so nobody waits for it.
    systemd::spawn_watchdog(shutdown.force.clone(), &TaskTracker::new());
    start_workers(&engine);
    let finish = CancellationToken::new();
    let control = Control::new(Arc::clone(&engine), finish.clone());
    let mut control = tokio::spawn(control.run());
    // Boot order must not fail the unit: ready means that connecting has begun.
    systemd::ready();
    info!(
        processor.id = %engine.id,
        "processor {} starts with {} sql and {} notify workers",
        engine.id, engine.config.sql_workers, engine.config.notify_workers
    );
    let ended = tokio::select! {
        () = shutdown.token.cancelled() => Ended::Told,
        ended = &mut control => {
            ended.unwrap_or_else(|problem| {
                error!("the control task failed: {problem}");
                Ended::Blocked
            })
        }
    };
    drain(&engine, &shutdown).await;
    finish.cancel();
    leave(control, ended).await;
    match ended {
        Ended::Told => Exit::Drained,
        Ended::Blocked => Exit::PreflightBlocked,
    }
}

fn start_workers(engine: &Arc<Engine>) {
    let tracker = &engine.shutdown.tracker;
    for number in 0..engine.config.sql_workers {
        let express = number == 0 && engine.config.sql_workers > 1;
        tracker.spawn(Worker::new(Arc::clone(engine), express).run());
    }
    for _ in 0..engine.config.notify_workers {
        tracker.spawn(NotifyWorker::new(Arc::clone(engine)).run());
    }
    tracker.spawn(janitor::run(Arc::clone(engine)));
}

/// Stops claiming and waits for what is held, up to SHUTDOWN_TIMEOUT, a second signal or the loss of the database.
async fn drain(engine: &Engine, shutdown: &Shutdown) {
    systemd::stopping();
    shutdown.token.cancel();
    shutdown.tracker.close();
    let limit = engine.config.shutdown_timeout.duration();
    tokio::select! {
        () = shutdown.tracker.wait() => info!("drained"),
        () = tokio::time::sleep(limit) => warn!("not drained within {limit:?}: what is still held is rolled back"),
        () = shutdown.force.cancelled() => warn!("the drain is given up: what is still held is rolled back"),
    }
}

/// Lets the control task say goodbye, if it still can.
async fn leave(control: JoinHandle<Ended>, ended: Ended) {
    if ended == Ended::Told
        && tokio::time::timeout(FORCED_EXIT * 4, control)
            .await
            .is_err()
    {
        warn!("the registry could not be told of the end");
    }
}

/// SIGHUP: the level of the log follows the file, anything else needs a restart and says so.
async fn follow_hangups(engine: Arc<Engine>, reload: Reload) {
    let mut hangups = engine.shutdown.reload.clone();
    while hangups.changed().await.is_ok() {
        match (reload.load)() {
            Ok(mut sections) => {
                let level = sections.processor.log_level;
                reload.log.set_level(level);
                info!("configuration read again, LOG_LEVEL is {level}");
                sections.processor.log_level = reload.running.processor.log_level;
                if sections != reload.running {
                    warn!("other keys than LOG_LEVEL have changed: they need a restart");
                }
            }
            Err(problem) => warn!("the configuration stays as it was: {problem}"),
        }
    }
}
