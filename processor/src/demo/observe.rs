//! Watching the queue until everything is resolved.

use super::DemoError;
use super::processor::Processor;
use super::progress::Progress;
use crate::oneshot::DatabaseError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio_postgres::Client;

/// Shortest time between two looks.
const LOOK: Duration = Duration::from_millis(100);
/// Longer than the longest wait for a retry, 10 s, by far.
const STALLED: Duration = Duration::from_mins(1);

/// What a look has found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    resolved: u64,
    pending: u64,
}

/// Looks at the demo's events.
#[derive(Debug)]
pub(super) struct Observer<'a> {
    client: &'a Client,
    baseline: i64,
    all_sent: AtomicBool,
}

impl<'a> Observer<'a> {
    /// Events with an id above `baseline` are the demo's, if their channel is.
    pub(super) fn new(client: &'a Client, baseline: i64) -> Self {
        Self {
            client,
            baseline,
            all_sent: AtomicBool::new(false),
        }
    }

    /// From now on, nothing pending means the end.
    pub(super) fn everything_is_sent(&self) {
        self.all_sent.store(true, Ordering::Release);
    }

    /// Returns when everything has been sent and resolved.
    pub(super) async fn watch(
        &self,
        processor: &mut Processor,
        progress: &Progress,
    ) -> Result<(), DemoError> {
        let mut last_change = Instant::now();
        let mut last = None;
        loop {
            processor.must_run()?;
            // Asked before the look: what is sent after it is not in the count.
            let all_sent = self.all_sent.load(Ordering::Acquire);
            let asked = Instant::now();
            let seen = self.look().await?;
            let doing = match (all_sent, seen.pending) {
                (true, 0) => return Ok(()),
                (true, _) => "waiting for retries",
                (false, _) => "sending",
            };
            progress.show(seen.resolved, doing);
            if last != Some(seen) {
                last = Some(seen);
                last_change = Instant::now();
            }
            if last_change.elapsed() > STALLED {
                return Err(DemoError::Stalled {
                    seconds: STALLED.as_secs(),
                    pending: seen.pending,
                    log: processor.log_tail(),
                });
            }
            // Counting a million rows takes its time; most of it belongs to the events.
            tokio::time::sleep(LOOK.max(asked.elapsed() * 5)).await;
        }
    }

    async fn look(&self) -> Result<Seen, DemoError> {
        const COUNT: &str = "
            SELECT count(*) FILTER (WHERE q.status <> 'pending'), count(*) FILTER (WHERE q.status = 'pending')
            FROM pgrelay.queue AS q
            WHERE q.id > $1 AND q.channel LIKE 'pgrelay\\_demo.%'";
        let row = self.client.query_one(COUNT, &[&self.baseline]).await;
        let row = row.map_err(DatabaseError::statement("watching the queue"))?;
        Ok(Seen {
            resolved: unsigned(row.get(0)),
            pending: unsigned(row.get(1)),
        })
    }

    /// Returns when nothing is due that the Processor has not resolved.
    pub(super) async fn until_idle(&self) -> Result<(), DemoError> {
        const DUE: &str = "
            SELECT EXISTS (
                SELECT FROM pgrelay.queue AS q
                WHERE q.status = 'pending' AND q.id > $1 AND q.channel LIKE 'pgrelay\\_demo.%'
                  AND q.run_at <= pg_catalog.clock_timestamp()
            )";
        loop {
            let row = self.client.query_one(DUE, &[&self.baseline]).await;
            let row = row.map_err(DatabaseError::statement("watching the queue"))?;
            if !row.get::<_, bool>(0) {
                return Ok(());
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// A count as the server gives it.
pub(super) fn unsigned(count: i64) -> u64 {
    u64::try_from(count).unwrap_or_default()
}
