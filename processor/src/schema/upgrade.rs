//! Bringing an installed schema to this release while the database is in use.
//!
//! The fleet is paused and its claims are waited for, so that no held transaction stands in the
//! way. Each step is one transaction that asks for its locks with a short limit: a lock request that
//! waits makes everybody queue behind it, so it rather gives up and tries again.

mod pause;

use super::{Bundle, SchemaError, State, Upgrade, Version, installed_version, state};
use crate::oneshot::{self, DatabaseError};
use pause::Pause;
use shared::backoff::Backoff;
use shared::db::connect::Connector;
use std::time::{Duration, Instant};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;
use tokio_util::sync::CancellationToken;

const APP: &str = "pg-relay-processor upgrade";

/// How patient an upgrade is.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// For the claims that are held when the fleet is paused. The longest send takes 120 s.
    pub drain: Duration,
    /// For one lock; nobody queues behind us for longer.
    pub lock: Duration,
    /// For one step with all its tries.
    pub step: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            drain: Duration::from_secs(150),
            lock: Duration::from_millis(300),
            step: Duration::from_mins(1),
        }
    }
}

/// What became of an upgrade.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upgraded {
    /// It was made now.
    From(Version),
    /// The schema was at this version already.
    Already(Version),
}

impl Upgraded {
    /// One line for a person.
    #[must_use]
    pub fn describe(self, bundle: &Bundle, connector: &Connector) -> String {
        let (name, target) = (bundle.name, connector.target());
        match self {
            Self::From(version) => {
                let release = bundle.version;
                format!("{name} upgraded from {version} to {release} in {target}\n")
            }
            Self::Already(version) => format!("{name} is already at {version} in {target}\n"),
        }
    }
}

/// Brings `bundle` to this release. Upgraders wait for each other; a later one finds nothing to do.
/// Cancelling `interrupt` ends it between two tries, with the fleet going on as before.
pub async fn upgrade(
    connector: &Connector,
    bundle: &Bundle,
    patience: Patience,
    interrupt: &CancellationToken,
) -> Result<Upgraded, SchemaError> {
    let mut session = oneshot::open(connector, APP).await?;
    let client = &mut session.client;
    // For the session, not for a transaction: the pause has to be inside of it as well.
    client
        .batch_execute("SET lock_timeout = '300s'; SET statement_timeout = 0")
        .await
        .map_err(DatabaseError::statement("setting the upgrader's limits"))?;
    client
        .execute(
            "SELECT pg_catalog.pg_advisory_lock(pg_catalog.hashtextextended($1, 5283400))",
            &[&bundle.name],
        )
        .await
        .map_err(DatabaseError::statement("waiting for another upgrade"))?;
    let (installed, steps) = plan(client, bundle).await?;
    if steps.is_empty() {
        session.close().await;
        return Ok(Upgraded::Already(installed));
    }
    let mut pause = Pause::begin(client).await?;
    let work = async {
        pause.drained(client, patience.drain, interrupt).await?;
        for step in steps {
            if interrupt.is_cancelled() {
                return Err(SchemaError::Interrupted { name: bundle.name });
            }
            pause.extend(client).await?;
            run_step(client, bundle, step, patience, interrupt).await?;
            tracing::info!("{} is at {}", bundle.name, step.to);
        }
        Ok::<(), SchemaError>(())
    };
    let result = work.await;
    // Also after a failure: the fleet goes on with what is in place.
    let ended = pause.end(client).await;
    result?;
    ended?;
    session.close().await;
    Ok(Upgraded::From(installed))
}

/// The SQL that [`upgrade`] would run.
pub(super) async fn dry_run(connector: &Connector, bundle: &Bundle) -> Result<String, SchemaError> {
    let session = oneshot::open(connector, APP).await?;
    let (installed, steps) = plan(&session.client, bundle).await?;
    session.close().await;
    let (name, target) = (bundle.name, connector.target());
    if steps.is_empty() {
        return Ok(format!(
            "-- {name} is already at {installed} in {target}; there is nothing to run\n"
        ));
    }
    let mut text = format!(
        "-- {name} {installed} is installed in {target}; upgrade would run this with the fleet paused:\n"
    );
    for step in steps {
        let Upgrade { from, to, sql } = step;
        let title = format!("\n-- {name} {from} to {to}\nBEGIN;\n");
        text += &title;
        text += "SET LOCAL search_path = pg_catalog, pg_temp;\n";
        text += sql.trim_end();
        text += "\nCOMMIT;\n";
    }
    Ok(text)
}

/// What is installed, and the steps from there to this release.
async fn plan(
    client: &Client,
    bundle: &Bundle,
) -> Result<(Version, Vec<&'static Upgrade>), SchemaError> {
    let who = oneshot::whereabouts(client).await?;
    let state = state::read(client, bundle).await?;
    let installed = installed_version(bundle, state, &who)?;
    if installed > bundle.version {
        let oldest = state::oldest_processor(client, bundle, installed).await?;
        SchemaError::refuse_newer(bundle, installed, oldest)?;
        return Ok((installed, Vec::new()));
    }
    let of_extension = matches!(
        state,
        State::Installed {
            extension: true,
            ..
        }
    );
    if installed < bundle.version && of_extension {
        let name = bundle.name;
        return Err(SchemaError::IsExtension { name, installed });
    }
    Ok((installed, bundle.path_from(installed)?))
}

async fn run_step(
    client: &mut Client,
    bundle: &Bundle,
    step: &Upgrade,
    patience: Patience,
    interrupt: &CancellationToken,
) -> Result<(), SchemaError> {
    let started = Instant::now();
    let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(2));
    loop {
        let error = match try_step(client, bundle, step, patience.lock).await {
            Ok(()) => return Ok(()),
            Err(error) if is_contention(&error) => error,
            Err(error) => return Err(error),
        };
        let wait = backoff.next();
        if started.elapsed() + wait > patience.step {
            return Err(SchemaError::Locked {
                name: bundle.name,
                from: step.from,
                to: step.to,
                limit: patience.step,
            });
        }
        tracing::debug!(
            "the step to {} got no lock and tries again: {error}",
            step.to
        );
        if pause::stopped_during(wait, interrupt).await {
            return Err(SchemaError::Interrupted { name: bundle.name });
        }
    }
}

async fn try_step(
    client: &mut Client,
    bundle: &Bundle,
    step: &Upgrade,
    lock: Duration,
) -> Result<(), SchemaError> {
    let transaction = client
        .transaction()
        .await
        .map_err(DatabaseError::statement("beginning a step of the upgrade"))?;
    transaction
        .batch_execute(&format!("SET LOCAL lock_timeout = {}", lock.as_millis()))
        .await
        .map_err(DatabaseError::statement("setting the step's limits"))?;
    transaction
        .batch_execute(step.sql)
        .await
        .map_err(DatabaseError::statement("upgrading the schema"))?;
    match state::read(&transaction, bundle).await? {
        State::Installed { version, .. } if version == step.to => {}
        found => {
            return Err(SchemaError::WrongResult {
                name: bundle.name,
                to: step.to,
                found: format!("{found:?}"),
            });
        }
    }
    transaction
        .commit()
        .await
        .map_err(DatabaseError::statement("committing a step of the upgrade"))?;
    Ok(())
}

fn is_contention(error: &SchemaError) -> bool {
    error
        .sqlstate()
        .is_some_and(|code| *code == SqlState::LOCK_NOT_AVAILABLE || code.code().starts_with("40"))
}
