//! The pause of the fleet around an upgrade.

use crate::oneshot::DatabaseError;
use std::time::{Duration, Instant};
use tokio_postgres::Client;
use tokio_util::sync::CancellationToken;

/// A pause that somebody else may have asked for as well, and that ends by itself should the
/// upgrader die.
#[derive(Debug)]
pub(super) struct Pause {
    /// The end of the pause that was there before, as text; `None` when there was none.
    before: Option<String>,
    /// The end that we set last, as text.
    ours: Option<String>,
}

impl Pause {
    /// Pauses the fleet.
    pub(super) async fn begin(client: &Client) -> Result<Self, DatabaseError> {
        let row = client
            .query_opt("SELECT f.paused_until::text FROM pgrelay.fleet AS f", &[])
            .await
            .map_err(DatabaseError::statement("reading the fleet's pause"))?;
        let mut pause = Self {
            before: row.and_then(|row| row.get(0)),
            ours: None,
        };
        pause.extend(client).await?;
        tracing::info!("the fleet is paused for the upgrade");
        Ok(pause)
    }

    /// Has the pause last five minutes from now, or as long as it would have anyway. A step and the
    /// wait before it are shorter.
    pub(super) async fn extend(&mut self, client: &Client) -> Result<(), DatabaseError> {
        let row = client
            .query_opt(
                "UPDATE pgrelay.fleet AS f
                 SET paused_until = greatest(f.paused_until, pg_catalog.clock_timestamp() + interval '5 minutes')
                 RETURNING f.paused_until::text",
                &[],
            )
            .await
            .map_err(DatabaseError::statement("pausing the fleet"))?;
        self.ours = row.and_then(|row| row.get(0));
        wake(client).await
    }

    /// Waits until no Processor holds a claim, or `limit` is over: what is held then is left to the
    /// tries of the steps. Every claim, of either pool, has locked the table in some mode until its
    /// transaction ends.
    pub(super) async fn drained(
        &self,
        client: &Client,
        limit: Duration,
        stop: &CancellationToken,
    ) -> Result<(), DatabaseError> {
        const LOOK_EVERY: Duration = Duration::from_millis(200);
        const QUIET_LOOKS: u32 = 6;
        let started = Instant::now();
        // A Processor that missed the wake-up sees the pause at its next look, within a second: only
        // after that much quiet will nobody claim any more.
        let mut quiet = 0;
        loop {
            let held: i64 = client
                .query_one(
                    "SELECT count(DISTINCT l.pid)
                     FROM pg_catalog.pg_locks AS l
                     JOIN pg_catalog.pg_stat_activity AS a ON a.pid = l.pid
                     WHERE l.relation = 'pgrelay.queue'::pg_catalog.regclass
                       AND l.pid <> pg_catalog.pg_backend_pid()
                       AND a.application_name LIKE 'pg-relay-processor%'",
                    &[],
                )
                .await
                .map_err(DatabaseError::statement("waiting for claims"))?
                .get(0);
            quiet = if held == 0 { quiet + 1 } else { 0 };
            if quiet >= QUIET_LOOKS {
                return Ok(());
            }
            if started.elapsed() >= limit {
                tracing::warn!("{held} Processor sessions still hold claims after {limit:?}");
                return Ok(());
            }
            if stopped_during(LOOK_EVERY, stop).await {
                return Ok(());
            }
        }
    }

    /// Puts the earlier pause back, or none, and has the Processors look at the schema again. A pause
    /// that somebody asked for meanwhile stays.
    pub(super) async fn end(self, client: &Client) -> Result<(), DatabaseError> {
        client
            .execute(
                "UPDATE pgrelay.fleet AS f
                 SET paused_until = CASE
                         WHEN f.paused_until = $2::text::timestamptz THEN $1::text::timestamptz
                         ELSE f.paused_until
                     END,
                     reload_generation = f.reload_generation + 1",
                &[&self.before, &self.ours],
            )
            .await
            .map_err(DatabaseError::statement("ending the fleet's pause"))?;
        wake(client).await
    }
}

/// Waits; true as soon as it is to end.
pub(super) async fn stopped_during(wait: Duration, stop: &CancellationToken) -> bool {
    tokio::time::timeout(wait, stop.cancelled()).await.is_ok()
}

/// The row says it all; this only has the Processors see it at once.
async fn wake(client: &Client) -> Result<(), DatabaseError> {
    client
        .batch_execute("SELECT pg_catalog.pg_notify('pgrelay_control', '')")
        .await
        .map_err(DatabaseError::statement("waking the fleet"))
}
