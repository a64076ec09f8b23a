//! How soon after its commit an event's action starts, while the Processor has nothing else to do.

use std::time::{Duration, SystemTime};

use fleet_tests::postgres::Server;
use tokio_postgres::{Client, Statement};

use crate::options::Options;
use crate::report::{Aim, Measurement, Report, percentile};
use crate::stage::Stage;

const UNIT: &str = "ms";
const IDLE: &str = "latency_idle";
const SLOW: &str = "latency_10ms_transactions";
/// Clients of the second measurement; each calls about fifteen times a second.
const CLIENTS: u64 = 4;
const HOLD: Duration = Duration::from_millis(10);
/// Before the first event counts, every worker has been at rest for a while.
const REST: Duration = Duration::from_secs(2);

const PERCENTS: [usize; 2] = [50, 99];

fn line_name(name: &str, percent: usize) -> String {
    format!("{name}_p{percent}")
}

pub(crate) fn names() -> Vec<String> {
    let of = |name| PERCENTS.map(|percent| line_name(name, percent));
    [IDLE, SLOW].into_iter().flat_map(of).collect()
}

pub(crate) async fn measure(server: &Server, options: &Options, report: &mut Report) {
    let asked_for = |name| {
        PERCENTS
            .iter()
            .any(|percent| options.wants(&line_name(name, *percent)))
    };
    if asked_for(IDLE) {
        let waits = idle(server, options.scale(200, 500)).await;
        let notes = format!("{} single events 10 to 30 ms apart", waits.len());
        add(report, IDLE, &waits, (3.0, 10.0), &notes);
    }
    if asked_for(SLOW) {
        let waits = in_slow_transactions(server, options.scale(100, 300)).await;
        let notes = format!(
            "{} events, 10 ms from notify() to COMMIT, {CLIENTS} clients",
            waits.len()
        );
        add(report, SLOW, &waits, (f64::INFINITY, 30.0), &notes);
    }
}

fn add(report: &mut Report, name: &str, waits: &[f64], (p50, p99): (f64, f64), notes: &str) {
    for (percent, most) in PERCENTS.into_iter().zip([p50, p99]) {
        let aim = if most.is_finite() {
            Aim::ValueAtMost(most)
        } else {
            Aim::None
        };
        let line = Measurement::new(line_name(name, percent), percentile(waits, percent), UNIT);
        report.add(line.aiming(aim).noting(notes));
    }
}

async fn idle(server: &Server, events: u64) -> Vec<f64> {
    let stage = Stage::new(server).await;
    let _processor = stage.processor(4).await;
    tokio::time::sleep(REST).await;
    let mut caller = Caller::new(stage.db.connect().await).await;
    for number in 0..events {
        caller.call(Duration::ZERO).await;
        tokio::time::sleep(Duration::from_millis(10 + number * 7 % 21)).await;
    }
    waits(&stage, &caller.calls).await
}

async fn in_slow_transactions(server: &Server, events_each: u64) -> Vec<f64> {
    let stage = Stage::new(server).await;
    let _processor = stage.processor(4).await;
    tokio::time::sleep(REST).await;
    let mut callers = tokio::task::JoinSet::new();
    for client in 0..CLIENTS {
        let mut caller = Caller::new(stage.db.connect().await).await;
        callers.spawn(async move {
            for number in 0..events_each {
                caller.call(HOLD).await;
                // Out of step with each other: 41 to 69 ms.
                let pause = 41 + (number * 11 + client * 17) % 29;
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
            caller.calls
        });
    }
    let calls: Vec<(i64, SystemTime)> = callers.join_all().await.into_iter().flatten().collect();
    waits(&stage, &calls).await
}

/// A client that enqueues, and notes the server's clock just before each COMMIT.
struct Caller {
    client: Client,
    notify: Statement,
    clock: Statement,
    calls: Vec<(i64, SystemTime)>,
}

impl Caller {
    async fn new(client: Client) -> Self {
        let prepare = async |sql| client.prepare(sql).await.expect("preparing a call");
        let notify = prepare("SELECT pgrelay.notify('noop', 'x')").await;
        let clock = prepare("SELECT clock_timestamp()").await;
        Self {
            client,
            notify,
            clock,
            calls: Vec::new(),
        }
    }

    async fn call(&mut self, hold: Duration) {
        let client = &self.client;
        client.batch_execute("BEGIN").await.expect("BEGIN");
        let row = client.query_one(&self.notify, &[]).await.expect("notify()");
        let id: i64 = row.get(0);
        if !hold.is_zero() {
            tokio::time::sleep(hold).await;
        }
        // In one flight, so that no round trip of ours is part of the wait.
        let (clock, committed) = tokio::join!(
            biased;
            client.query_one(&self.clock, &[]),
            client.batch_execute("COMMIT")
        );
        committed.expect("COMMIT");
        self.calls.push((id, clock.expect("the clock").get(0)));
    }
}

/// Milliseconds from commit to start, once all events have been attempted.
async fn waits(stage: &Stage, calls: &[(i64, SystemTime)]) -> Vec<f64> {
    let ids: Vec<i64> = calls.iter().map(|(id, _)| *id).collect();
    let count = i64::try_from(ids.len()).expect("a few");
    let attempted = "SELECT count(*) FROM pgrelay.log";
    stage
        .db
        .until_equals(attempted, count, Duration::from_secs(30))
        .await;
    let starts = "
        SELECT l.started_at
        FROM unnest($1::bigint[]) WITH ORDINALITY AS c (id, place)
        JOIN pgrelay.log AS l ON l.queue_id = c.id
        ORDER BY c.place";
    let starts = stage.db.rows(starts, &[&ids]).await;
    let waits = calls.iter().zip(&starts).map(|((_, committing), row)| {
        let started: SystemTime = row.get(0);
        // Both are the server's; a start before the clock was read would be a defect, and shows as 0.
        let wait = started.duration_since(*committing).unwrap_or_default();
        wait.as_secs_f64() * 1000.0
    });
    waits.collect()
}
