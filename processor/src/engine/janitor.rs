//! Pruning, by any one Processor of the fleet at a time.

use super::Engine;
use super::step::{StepError, within};
use shared::db::connect::Session;
use std::sync::Arc;
use std::time::Duration;
use tracing::{debug, info};

/// Pause between two rounds.
const EVERY: Duration = Duration::from_mins(1);
/// Pause between two steps, so that pruning stays in the background.
const BREATH: Duration = Duration::from_millis(20);
/// Longest step.
const STEP_LIMIT: Duration = Duration::from_secs(30);
/// Whoever holds this session lock is the janitor.
const JANITOR: i64 = 5_283_403;

/// Takes the janitor's lock, if it is free.
const TRY: &str = "SELECT pg_catalog.pg_try_advisory_lock($1)";

/// Prunes once a minute until the drain.
pub async fn run(engine: Arc<Engine>) {
    while engine
        .availability
        .granted(&engine.shutdown.token)
        .await
        .is_some()
    {
        if let Err(error) = round(&engine).await {
            debug!("pruning is put off: {error}");
        }
        engine.pause(EVERY).await;
    }
}

async fn round(engine: &Engine) -> Result<(), super::step::OpenError> {
    let session = engine
        .connector
        .connect("pg-relay-processor janitor", &super::registry::settings())
        .await?;
    let lock = session.client.query_one(TRY, &[&JANITOR]);
    if within(STEP_LIMIT, lock).await?.get(0) {
        let events = prune(
            engine,
            &session,
            "SELECT p.last_id, p.deleted FROM pgrelay._prune_queue($1) AS p",
        )
        .await?;
        let rows = prune(
            engine,
            &session,
            "SELECT p.last_id, p.deleted FROM pgrelay._prune_log($1) AS p",
        )
        .await?;
        let registry = session
            .client
            .execute("SELECT pgrelay._prune_registry()", &[]);
        within(STEP_LIMIT, registry).await?;
        if events + rows > 0 {
            info!("pruned {events} finished events and {rows} log rows past their retention");
        }
    }
    session.close().await;
    Ok(())
}

/// Steps through one table; returns how many rows went.
async fn prune(engine: &Engine, session: &Session, step: &str) -> Result<i64, StepError> {
    let mut after = Some(0_i64);
    let mut total = 0;
    while let Some(id) = after {
        if engine.shutdown.token.is_cancelled() {
            break;
        }
        let row = within(STEP_LIMIT, session.client.query_one(step, &[&id])).await?;
        after = row.get(0);
        total += row.get::<_, i64>(1);
        engine.pause(BREATH).await;
    }
    Ok(total)
}
