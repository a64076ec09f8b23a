//! A database for one measurement, with its channels, and a Processor on it.

use std::time::{Duration, Instant};

use fleet_tests::daemon::Builder;
use fleet_tests::database::Database;
use fleet_tests::postgres::Server;
use fleet_tests::processor::Processor;

/// Far longer than any drain here takes.
const DRAIN_LIMIT: Duration = Duration::from_mins(10);
/// Counting finished events competes with finishing them: seldom.
const LOOK: Duration = Duration::from_millis(250);
/// Payloads in one call of notify_many().
const CHUNK: i64 = 50_000;

/// The role the Processor works as, with no more rights than it needs.
const ROLE: &str = "bench_relay";

const CHANNELS: &str = "
CREATE TABLE public.effects (payload text NOT NULL);
DO $$ BEGIN
    CREATE ROLE bench_relay LOGIN IN ROLE pgrelay_processor;
EXCEPTION WHEN duplicate_object THEN NULL;
END $$;
GRANT INSERT ON public.effects TO bench_relay;
SELECT pgrelay.register('noop', 'SELECT 1');
SELECT pgrelay.register('insert', 'INSERT INTO public.effects (payload) VALUES ($1)');
SELECT pgrelay.register('serial', 'SELECT pg_sleep($1)', concurrency_mode := 'serial');
SELECT pgrelay.register('mail', action_type := 'notify');";

/// A fresh database; dropped with the value.
pub(crate) struct Stage {
    pub(crate) db: Database,
}

impl Stage {
    pub(crate) async fn new(server: &Server) -> Self {
        let db = Database::with_schema_on(server).await;
        db.execute(CHANNELS).await;
        Self { db }
    }

    /// Enqueues numbered events, due `run_at`, and returns the largest id that was there before.
    pub(crate) async fn enqueue(&self, channel: &str, events: i64, run_at: &str) -> i64 {
        let before = "SELECT coalesce(max(id), 0) FROM pgrelay.queue";
        let before = self.db.query_one::<i64>(before, &[]).await;
        let mut first = 1;
        while first <= events {
            let last = events.min(first + CHUNK - 1);
            let call = format!(
                "SELECT pgrelay.notify_many('{channel}', ARRAY(SELECT g::text FROM generate_series({first}, {last}) AS g), {run_at})"
            );
            self.db.execute(&call).await;
            first = last + 1;
        }
        before
    }

    /// Statistics, hint bits and a checkpoint: what was prepared is not paid for in what is measured.
    pub(crate) async fn settle_down(&self) {
        self.db.execute("VACUUM (ANALYZE) pgrelay.queue").await;
        self.db.execute("VACUUM (ANALYZE) pgrelay.log").await;
        self.db.execute("CHECKPOINT").await;
    }

    /// A Processor with default settings but for its role and the number of its workers.
    pub(crate) async fn processor(&self, sql_workers: u16) -> Processor {
        self.processor_with(|config| config.set("SQL_WORKERS", sql_workers))
            .await
    }

    /// A Processor with default settings but for its role and what `change` changes.
    pub(crate) async fn processor_with(
        &self,
        change: impl FnOnce(Builder) -> Builder,
    ) -> Processor {
        Processor::with(&self.db, |config| {
            let config = config.set_in("pepsi-postgres", "USER", ROLE);
            change(config.set("LOG_LEVEL", "warn"))
        })
        .await
    }

    /// Waits until `events` events with ids above `before` are logged, and gives their rate: from the start of the first attempt to
    /// the last settlement, by the server's clock.
    pub(crate) async fn rate(&self, channel: &str, events: i64, before: i64) -> f64 {
        let started = Instant::now();
        let count = "SELECT count(*) FROM pgrelay.log WHERE queue_id > $1 AND channel = $2";
        loop {
            let done: i64 = self.db.query_one(count, &[&before, &channel]).await;
            if done >= events {
                break;
            }
            assert!(
                started.elapsed() < DRAIN_LIMIT,
                "only {done} of {events} events after {DRAIN_LIMIT:?}"
            );
            tokio::time::sleep(LOOK).await;
        }
        let rate = "
            SELECT count(*) / extract(epoch FROM max(q.finished_at) - min(l.started_at))::float8
            FROM pgrelay.queue AS q
            JOIN pgrelay.log AS l ON l.queue_id = q.id
            WHERE q.id > $1 AND q.channel = $2";
        self.db.query_one(rate, &[&before, &channel]).await
    }
}
