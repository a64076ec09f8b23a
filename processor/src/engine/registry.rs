//! What the control task reads and writes: the registry of Processors, the fleet's controls, and the upkeep of the queue.

use super::Engine;
use super::step::{ANSWER_LIMIT, StepError, within};
use super::wire::Timestamp;
use postgres_types::ToSql;
use shared::db::connect::Session;
use std::sync::atomic::Ordering;
use uuid::Uuid;

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
        ("default_transaction_isolation", "read committed"),
        ("default_transaction_read_only", "off"),
    ]
    .map(|(name, value)| (name, value.to_owned()))
    .to_vec()
}

/// The fleet's controls, as they bind this Processor.
#[derive(Debug)]
pub struct Controls {
    /// Nothing may be claimed.
    pub paused: bool,
    /// Grows with every request to reload.
    pub reload_generation: i64,
    /// The server is in recovery.
    pub standby: bool,
    /// This Processor was asked to stop.
    pub stop: bool,
}

/// Registers, or repeats the heartbeat; returns when this Processor registered. `registered`: what an earlier call returned,
/// so that a row that was pruned meanwhile comes back with its true age.
pub async fn beat(
    engine: &Engine,
    session: &Session,
    state: &str,
    registered: Option<Timestamp>,
) -> Result<Timestamp, tokio_postgres::Error> {
    const BEAT: &str = "INSERT INTO pgrelay.processors AS p \
            (id, host, pid, version, node, state, sql_workers, notify_workers, started_at, events_ok, events_failed, events_retried) \
         VALUES ($1, $2, $3, $4, pgrelay.node_name(), $5, $6, $7, coalesce($8, clock_timestamp()), $9, $10, $11) \
         ON CONFLICT (id) DO UPDATE SET last_seen = clock_timestamp(), state = excluded.state, node = excluded.node, \
            events_ok = excluded.events_ok, events_failed = excluded.events_failed, events_retried = excluded.events_retried \
         RETURNING p.started_at";
    let counters = &engine.counters;
    let row = session
        .client
        .query_one(
            BEAT,
            &[
                &engine.id,
                &engine.host,
                &i32::try_from(std::process::id()).unwrap_or(i32::MAX),
                &env!("CARGO_PKG_VERSION"),
                &state,
                &i32::from(engine.config.sql_workers),
                &i32::from(engine.config.notify_workers),
                &registered,
                &counters.ok.load(Ordering::Relaxed),
                &counters.failed.load(Ordering::Relaxed),
                &counters.retried.load(Ordering::Relaxed),
            ],
        )
        .await?;
    Ok(row.get(0))
}

/// Reads the controls.
pub async fn controls(
    session: &Session,
    id: Uuid,
    registered: Option<Timestamp>,
) -> Result<Controls, tokio_postgres::Error> {
    const LOOK: &str = "SELECT coalesce(f.paused_until > clock_timestamp(), false) AS paused, f.reload_generation, \
            pg_is_in_recovery() AS standby, \
            coalesce(f.stop_started_before > $2, false) \
            OR EXISTS (SELECT FROM pgrelay.processors AS p WHERE p.id = $1 AND p.stop_requested_at IS NOT NULL) AS stop \
         FROM pgrelay.fleet AS f";
    let parameters: [&(dyn ToSql + Sync); 2] = [&id, &registered];
    let row = session.client.query_one(LOOK, &parameters).await?;
    Ok(Controls {
        paused: row.get("paused"),
        reload_generation: row.get("reload_generation"),
        standby: row.get("standby"),
        stop: row.get("stop"),
    })
}

/// Removes this Processor from the registry.
pub async fn forget(session: &Session, id: Uuid) -> Result<(), tokio_postgres::Error> {
    const FORGET: &str = "DELETE FROM pgrelay.processors AS p WHERE p.id = $1";
    session.client.execute(FORGET, &[&id]).await?;
    Ok(())
}

/// Closes events that were shared too long and publishes the floor of the twin look-up; one Processor of the fleet at a time.
pub async fn upkeep(session: &Session) -> Result<(), StepError> {
    const STEPS: [&str; 2] = [
        "SELECT CASE WHEN pg_try_advisory_xact_lock($1) THEN pgrelay._close_shared() END",
        "SELECT CASE WHEN pg_try_advisory_xact_lock($1) THEN pgrelay._publish_twin_floor() END",
    ];
    for step in STEPS {
        within(ANSWER_LIMIT, session.client.execute(step, &[&UPKEEP])).await?;
    }
    Ok(())
}
