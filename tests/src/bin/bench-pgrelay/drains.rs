//! How fast a backlog is drained: by the Processor, by SQL alone, and by the Processor under circumstances that ruin queues.

use std::collections::BTreeMap;

use fleet_tests::postgres::Server;
use fleet_tests::processor::Processor;
use fleet_tests::wait::SOON;
use serde_json::json;
use tokio_postgres::Client;

use crate::mails;
use crate::options::Options;
use crate::pgbench::{self, Length};
use crate::report::{Aim, Measurement, Report, median};
use crate::stage::Stage;

/// The workers of a Processor by default.
const WORKERS: u16 = 4;
/// Clients of the comparison in SQL.
const CLIENTS: i64 = 8;
/// Below the default action_timeout of 300 s, above what two drains take.
const HEAD_SECONDS: u32 = 280;
const UNIT: &str = "events/s";
const PLAIN: &str = "drain_noop";
const SINGLE: &str = "pgbench_single";
const BATCH: &str = "pgbench_batch50";
const INSERT: &str = "drain_insert";

/// What makes a drain harder than the plain one.
#[derive(Debug, Clone, Copy)]
enum Burden {
    /// Very many events that are not due.
    Future,
    /// More workers than the default.
    Workers(u16),
    /// A long backlog of a serial channel whose head takes long.
    BehindSerial,
    /// A transaction that holds an xid: what an earlier drain has left dead cannot be vacuumed.
    XidHeld,
    /// The claim of a notify event, held as long as that.
    NotifyHeld,
    /// Every notify worker of the same Processor waits for a mail server that has fallen silent.
    MailHeld,
}

const BURDENS: [(&str, Burden); 7] = [
    ("drain_noop_future_1m", Burden::Future),
    ("drain_noop_8_workers", Burden::Workers(8)),
    ("drain_noop_16_workers", Burden::Workers(16)),
    ("drain_noop_behind_serial", Burden::BehindSerial),
    ("drain_noop_xid_held", Burden::XidHeld),
    ("drain_noop_notify_held", Burden::NotifyHeld),
    ("drain_noop_mail_held", Burden::MailHeld),
];

pub(crate) fn names() -> Vec<String> {
    let plain = [SINGLE, BATCH, PLAIN, INSERT];
    let burdened = BURDENS.iter().map(|(name, _)| *name);
    plain
        .into_iter()
        .chain(burdened)
        .map(str::to_owned)
        .collect()
}

/// Rates, and for burdened drains their ratio to the plain drain just before, of each round.
#[derive(Debug, Default)]
struct Samples {
    rates: BTreeMap<&'static str, Vec<f64>>,
    ratios: BTreeMap<&'static str, Vec<f64>>,
}

impl Samples {
    fn add(&mut self, name: &'static str, rate: f64) {
        eprintln!("  {name}: {rate:.0} {UNIT}");
        self.rates.entry(name).or_default().push(rate);
    }

    fn rate(&self, name: &str) -> Option<f64> {
        median(self.rates.get(name)?)
    }
}

pub(crate) async fn measure(server: &Server, options: &Options, report: &mut Report) {
    let mut samples = Samples::default();
    for _ in 0..options.rounds() {
        one_round(server, options, &mut samples).await;
    }
    let events = count(options);
    let of_sql = "one statement: claim FOR UPDATE SKIP LOCKED, UPDATE, INSERT INTO log; no action";
    for name in [SINGLE, BATCH] {
        if let Some(rate) = samples.rate(name) {
            report.add(Measurement::new(name, rate, UNIT).noting(of_sql));
        }
    }
    let ratio = |name: &str, to: &str| Some(samples.rate(name)? / samples.rate(to)?);
    for (label, name, to, least) in [
        (PLAIN, PLAIN, SINGLE, 5.0),
        ("drain_noop_beside_batch50", PLAIN, BATCH, 0.6),
        (INSERT, INSERT, SINGLE, 4.0),
    ] {
        // A second line for the same number is only there for its ratio.
        let shown = label == name || samples.rate(to).is_some();
        if let Some(rate) = samples.rate(name).filter(|_| shown) {
            let line = Measurement::new(label, rate, UNIT)
                .compared(to, ratio(name, to))
                .aiming(Aim::RatioAtLeast(least));
            report.add(line.noting(format!("{events} events, {WORKERS} workers")));
        }
    }
    for (name, burden) in BURDENS {
        if let Some(rate) = samples.rate(name) {
            let ratio = samples.ratios.get(name).and_then(|ratios| median(ratios));
            let line = Measurement::new(name, rate, UNIT)
                .compared(format!("{PLAIN} just before"), ratio)
                .aiming(Aim::RatioAtLeast(0.8));
            report.add(line.noting(burden.notes(options)));
        }
    }
}

async fn one_round(server: &Server, options: &Options, samples: &mut Samples) {
    if options.wants(SINGLE) {
        let rate = in_sql(server, options.scale(8_000, 24_000), 1).await;
        samples.add(SINGLE, rate);
    }
    if options.wants(PLAIN) {
        samples.add(PLAIN, plain(server, options, "noop").await);
    }
    if options.wants(BATCH) {
        samples.add(BATCH, in_sql(server, count(options), 50).await);
    }
    if options.wants(INSERT) {
        samples.add(INSERT, plain(server, options, "insert").await);
    }
    for (name, burden) in BURDENS {
        if options.wants(name) {
            let before = plain(server, options, "noop").await;
            samples.add(PLAIN, before);
            let rate = burdened(server, options, burden).await;
            samples.add(name, rate);
            samples.ratios.entry(name).or_default().push(rate / before);
        }
    }
}

fn count(options: &Options) -> i64 {
    options.scale(20_000, 60_000)
}

async fn plain(server: &Server, options: &Options, channel: &str) -> f64 {
    let stage = Stage::new(server).await;
    drain(&stage, channel, count(options), WORKERS).await
}

/// A backlog, drained by a fresh Processor, after another of the same size: what counts is a queue in use, where files have their size,
/// caches are warm and finished events are many.
async fn drain(stage: &Stage, channel: &str, events: i64, workers: u16) -> f64 {
    let mut rate = f64::NAN;
    for _ in 0..2 {
        let before = stage.enqueue(channel, events, "now()").await;
        stage.settle_down().await;
        let mut processor = stage.processor(workers).await;
        rate = stage.rate(channel, events, before).await;
        processor.terminate();
        processor.wait_exit(SOON).await;
    }
    rate
}

/// The same work by `per_transaction` events in a statement, without a Processor and without actions.
async fn in_sql(server: &Server, events: i64, per_transaction: i64) -> f64 {
    let script = format!(
        "WITH claimed AS MATERIALIZED (
            SELECT q.id, q.channel, q.retry_count
            FROM pgrelay.queue AS q
            WHERE q.status = 'pending' AND q.action_type = 'sql' AND q.lane IS NULL AND q.run_at <= now()
            ORDER BY q.run_at, q.id
            LIMIT {per_transaction}
            FOR UPDATE OF q SKIP LOCKED
        ), settled AS (
            UPDATE pgrelay.queue AS q SET status = 'done', finished_at = clock_timestamp()
            FROM claimed AS c WHERE q.id = c.id
        )
        INSERT INTO pgrelay.log (queue_id, channel, attempt, status, started_at, elapsed_ms, host, node)
        SELECT c.id, c.channel, c.retry_count + 1, 'ok', clock_timestamp(), 0, 'bench', 'local' FROM claimed AS c;\n"
    );
    let stage = Stage::new(server).await;
    let clients = CLIENTS.try_into().expect("a few");
    let each = Length::TransactionsPerClient(events / per_transaction / CLIENTS);
    let mut rate = f64::NAN;
    for _ in 0..2 {
        let before = stage.enqueue("noop", events, "now()").await;
        stage.settle_down().await;
        pgbench::run(&stage.db, &script, clients, each).await;
        let finished = "SELECT count(*) FROM pgrelay.log WHERE queue_id > $1";
        let finished: i64 = stage.db.query_one(finished, &[&before]).await;
        rate = stage.rate("noop", finished, before).await;
        // The transactions do not divide evenly; the next backlog is the only one.
        stage
            .db
            .execute("DELETE FROM pgrelay.queue WHERE status = 'pending'")
            .await;
    }
    rate
}

async fn burdened(server: &Server, options: &Options, burden: Burden) -> f64 {
    let stage = Stage::new(server).await;
    let mut workers = WORKERS;
    // Dropped, and their transactions with them, when the drain is over.
    let mut _holder: Option<Client> = None;
    let mut _elsewhere: Option<Processor> = None;
    match burden {
        Burden::Future => {
            let later = "now() + interval '1 day'";
            stage.enqueue("noop", burden.count(options), later).await;
        }
        Burden::Workers(more) => workers = more,
        Burden::BehindSerial => {
            _elsewhere = Some(serial_head(&stage).await);
            stage
                .enqueue("serial", burden.count(options), "now()")
                .await;
        }
        Burden::XidHeld => _holder = Some(hold(&stage, "SELECT pg_current_xact_id()").await),
        Burden::NotifyHeld => {
            // No Processor runs yet that could be first.
            let event = "SELECT pgrelay.notify('mail', 'x')";
            let id: i64 = stage.db.query_one(event, &[]).await;
            let claim = format!("SELECT pg_try_advisory_xact_lock(pgrelay._claim_key({id}))");
            _holder = Some(hold(&stage, &claim).await);
        }
        Burden::MailHeld => {
            return mails::drain_beside_silence(server, count(options), WORKERS).await;
        }
    }
    drain(&stage, "noop", count(options), workers).await
}

/// A Processor that does nothing but run the head of the serial channel, for longer than the drain takes. It is not the measured
/// one, which would have a worker less.
async fn serial_head(stage: &Stage) -> Processor {
    let head = format!("SELECT pgrelay.notify('serial', '{HEAD_SECONDS}')");
    stage.db.execute(&head).await;
    let processor = Processor::with(&stage.db, |config| {
        config
            .set("LOG_LEVEL", "warn")
            .set("SQL_WORKERS", 1)
            .set("CHANNELS", json!(["serial"]))
    })
    .await;
    let sleeping = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep')";
    stage.db.until_equals(sleeping, true, SOON).await;
    processor
}

async fn hold(stage: &Stage, statement: &str) -> Client {
    let client = stage.db.connect().await;
    let held = client.batch_execute(&format!("BEGIN; {statement}")).await;
    held.expect("opening the transaction that is held");
    client
}

impl Burden {
    fn count(self, options: &Options) -> i64 {
        match self {
            Self::Future => options.scale(200_000, 1_000_000),
            Self::BehindSerial => options.scale(30_000, 100_000),
            Self::Workers(_) | Self::XidHeld | Self::NotifyHeld | Self::MailHeld => 0,
        }
    }

    fn notes(self, options: &Options) -> String {
        let count = self.count(options);
        let events = self::count(options);
        match self {
            Self::Future => format!("{count} events that are not due"),
            Self::Workers(workers) => format!("{workers} workers"),
            Self::BehindSerial => format!(
                "{count} events behind the head of a serial channel, which another Processor runs"
            ),
            Self::XidHeld => format!("no vacuum during this drain and one of {events} before it"),
            Self::NotifyHeld => format!(
                "a notify event's claim held during this drain and one of {events} before it"
            ),
            Self::MailHeld => format!(
                "{} notify workers of the same Processor wait for a silent mail server",
                mails::WORKERS
            ),
        }
    }
}
