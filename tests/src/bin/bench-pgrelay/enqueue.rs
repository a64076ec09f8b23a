//! What a call of notify() costs beside the plain INSERT of the same row.

use fleet_tests::postgres::Server;

use crate::options::Options;
use crate::pgbench::{self, Length};
use crate::report::{Aim, Measurement, Report, median};
use crate::stage::Stage;

const UNIT: &str = "tx/s";

const NOTIFY: &str =
    "\\set number random(1, 1000000000000)\nSELECT pgrelay.notify('noop', (:number)::text);\n";
/// The columns that notify() fills.
const PLAIN: &str = "\\set number random(1, 1000000000000)\n\
INSERT INTO pgrelay.queue (channel, action_type, payload, run_at, expire_at, node, deduplicate, twin_key, lane) \
VALUES ('noop', 'sql', (:number)::text, now(), NULL, NULL, false, :number, NULL) RETURNING id;\n";

/// What the Processor does meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Condition {
    /// There is none: what is left is the cost of the call itself.
    Alone,
    /// The fleet is paused, and it sleeps.
    Idle,
    /// It drains what is enqueued.
    Busy,
}

const CLIENTS: [u32; 3] = [1, 8, 64];

/// Every condition with every number of clients.
fn cases() -> impl Iterator<Item = (String, Condition, u32)> {
    let conditions = [Condition::Alone, Condition::Idle, Condition::Busy];
    conditions.into_iter().flat_map(|condition| {
        CLIENTS.into_iter().map(move |clients| {
            let name = format!("enqueue_{}_{clients}", condition.as_str());
            (name, condition, clients)
        })
    })
}

pub(crate) fn names() -> Vec<String> {
    cases().map(|(name, _, _)| name).collect()
}

pub(crate) async fn measure(server: &Server, options: &Options, report: &mut Report) {
    for (name, condition, clients) in cases() {
        if options.wants(&name) {
            compare(server, options, report, &name, (condition, clients)).await;
        }
    }
}

async fn compare(
    server: &Server,
    options: &Options,
    report: &mut Report,
    name: &str,
    (condition, clients): (Condition, u32),
) {
    let stage = Stage::new(server).await;
    let _processor = match condition {
        Condition::Alone => None,
        Condition::Idle | Condition::Busy => Some(stage.processor(4).await),
    };
    if condition == Condition::Idle {
        stage.db.execute("SELECT pgrelay.pause_for('1 hour')").await;
    }
    let length = Length::Seconds(options.scale(2, 5));
    let (mut plain, mut notify, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..options.rounds() {
        let inserted = one_run(&stage, PLAIN, clients, length).await;
        let notified = one_run(&stage, NOTIFY, clients, length).await;
        eprintln!("  {name}: {inserted:.0} plain, {notified:.0} with notify()");
        plain.push(inserted);
        notify.push(notified);
        ratios.push(notified / inserted);
    }
    let reference = format!("{name}_plain");
    let value = |rates: &[f64]| median(rates).expect("at least one round");
    report
        .add(Measurement::new(&reference, value(&plain), UNIT).noting("INSERT INTO pgrelay.queue"));
    let line = Measurement::new(name, value(&notify), UNIT)
        .compared(reference, median(&ratios))
        .aiming(match condition {
            Condition::Alone => Aim::None,
            Condition::Idle | Condition::Busy => Aim::RatioAtLeast(0.7),
        });
    report.add(line.noting(format!("{clients} clients, {}", condition.notes())));
}

/// Every run begins with an empty queue.
async fn one_run(stage: &Stage, script: &str, clients: u32, length: Length) -> f64 {
    stage
        .db
        .execute("TRUNCATE pgrelay.queue, pgrelay.log")
        .await;
    stage.db.execute("CHECKPOINT").await;
    pgbench::run(&stage.db, script, clients, length).await
}

impl Condition {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Alone => "alone",
            Self::Busy => "busy",
            Self::Idle => "idle",
        }
    }

    const fn notes(self) -> &'static str {
        match self {
            Self::Alone => "no Processor",
            Self::Busy => "while a Processor drains",
            Self::Idle => "while the fleet is paused and a Processor sleeps",
        }
    }
}
