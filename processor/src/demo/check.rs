//! Every number of the demo: expected by construction, and found in log, queue and tables.

use super::DemoError;
use super::effects;
use super::observe::unsigned;
use super::plan::{Plan, Planned, Sending, VIEWS};
use super::send::Sent;
use super::tally::Tally;
use crate::oneshot::DatabaseError;
use std::collections::BTreeMap;
use std::fmt;
use std::process::ExitStatus;
use tokio_postgres::{Client, Row};

/// One number, as expected and as found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Number {
    what: String,
    place: &'static str,
    expected: u64,
    found: u64,
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: expected {}, {} has {}",
            self.what, self.expected, self.place, self.found
        )
    }
}

/// What the log says about a channel.
#[derive(Debug, Clone, Default)]
pub(super) struct Logged {
    pub(super) tally: Tally,
    /// From enqueuing, or from run_at, to the start of the first attempt, in ms.
    pub(super) wait: Option<(f64, f64)>,
    /// Successes per second, from the first start to the last end.
    pub(super) rate: Option<f64>,
}

/// A line of the closing table.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) planned: Planned,
    pub(super) logged: Logged,
}

/// All lines and all numbers.
#[derive(Debug, Default)]
pub(super) struct Verified {
    pub(super) lines: Vec<Line>,
    pub(super) numbers: Vec<Number>,
}

impl Verified {
    pub(super) fn number(&mut self, what: &str, place: &'static str, expected: u64, found: u64) {
        self.numbers.push(Number {
            what: what.to_owned(),
            place,
            expected,
            found,
        });
    }

    /// The numbers that are not as expected.
    pub(super) fn mismatches(&self) -> impl Iterator<Item = &Number> {
        self.numbers
            .iter()
            .filter(|number| number.expected != number.found)
    }
}

/// Events of this demo have larger ids.
pub(super) async fn baseline(client: &Client) -> Result<i64, DemoError> {
    const LARGEST: &str = "SELECT coalesce(max(q.id), 0) FROM pgrelay.queue AS q";
    let row = client.query_one(LARGEST, &[]).await;
    Ok(row
        .map_err(DatabaseError::statement("looking at the queue"))?
        .get(0))
}

const LOG: &str = "
SELECT l.channel,
    count(*) FILTER (WHERE l.status = 'ok' AND l.served_by IS NULL),
    count(*) FILTER (WHERE l.status = 'retry_scheduled'),
    count(*) FILTER (WHERE l.status = 'max_retries_exceeded'),
    count(*) FILTER (WHERE l.status = 'error'),
    count(*) FILTER (WHERE l.status = 'expired'),
    count(*) FILTER (WHERE l.status = 'invalid'),
    count(*) FILTER (WHERE l.served_by IS NOT NULL),
    (percentile_cont(ARRAY[0.5, 0.99]) WITHIN GROUP (
        ORDER BY greatest(0, extract(epoch FROM l.started_at - greatest(q.created_at, q.run_at))::float8 * 1000)
    ) FILTER (WHERE l.attempt = 1 AND l.served_by IS NULL))::float8[],
    (count(*) FILTER (WHERE l.status = 'ok') / nullif(extract(epoch FROM
        max(l.started_at + l.elapsed_ms * interval '1 ms') - min(l.started_at)), 0))::float8
FROM pgrelay.log AS l
JOIN pgrelay.queue AS q ON q.id = l.queue_id
WHERE l.queue_id > $1 AND l.channel LIKE 'pgrelay\\_demo.%'
GROUP BY l.channel";

const QUEUE: &str = "
SELECT q.channel,
    count(*) FILTER (WHERE q.parent_id IS NULL),
    count(*) FILTER (WHERE q.status = 'done'),
    count(*) FILTER (WHERE q.status = 'error'),
    count(*) FILTER (WHERE q.status = 'expired'),
    count(*) FILTER (WHERE q.status = 'invalid'),
    count(*) FILTER (WHERE q.status = 'pending')
FROM pgrelay.queue AS q
WHERE q.id > $1 AND q.channel LIKE 'pgrelay\\_demo.%'
GROUP BY q.channel";

/// Compares everything.
pub(super) async fn verify(
    client: &Client,
    plan: &Plan,
    sent: &Sent,
    baseline: i64,
    status: ExitStatus,
) -> Result<Verified, DemoError> {
    let log = by_channel(client, LOG, baseline).await?;
    let queue = by_channel(client, QUEUE, baseline).await?;
    let mut verified = Verified::default();
    for planned in &plan.channels {
        let name = planned.channel.name;
        let suppressed = sent.suppressed.get(name).copied().unwrap_or_default();
        let logged = log.get(name).map(|row| logged(row, suppressed));
        let logged = logged.unwrap_or_default();
        let (own, expected) = expected(planned, sent.late, suppressed, logged.tally.folded);
        let found = logged.tally.counts();
        for ((column, expected), found) in Tally::COLUMNS.iter().zip(expected.counts()).zip(found) {
            let what = format!("{name}, {column}");
            verified.number(&what, "pgrelay.log", expected, found);
        }
        compare_queue(&mut verified, name, own, expected, queue.get(name));
        verified.lines.push(Line {
            planned: *planned,
            logged,
        });
    }
    effects::compare(client, &mut verified, baseline).await?;
    verified.number(
        "a drain that failed",
        "the Processor's exit status",
        0,
        u64::from(!status.success()),
    );
    Ok(verified)
}

/// How many events the calls must have made, and what must have become of the calls.
///
/// Every deduplicated call after the first of its payload is suppressed. Only where sending took so long that the first ones were `late`,
/// there are some more events, which the Processor may fold: then the sum must be right.
fn expected(planned: &Planned, late: bool, suppressed: u64, folded: u64) -> (u64, Tally) {
    if planned.channel.sending != Sending::Deduplicated {
        return (planned.calls, planned.expected(0));
    }
    if !late {
        let own = planned.calls.min(VIEWS);
        return (own, planned.expected(planned.calls - own));
    }
    let own = planned.calls - suppressed;
    let folded = folded.clamp(suppressed, planned.calls);
    (own, planned.expected(folded))
}

async fn by_channel(
    client: &Client,
    query: &str,
    baseline: i64,
) -> Result<BTreeMap<String, Row>, DemoError> {
    let rows = client.query(query, &[&baseline]).await;
    let rows = rows.map_err(DatabaseError::statement(
        "counting what has become of the events",
    ))?;
    Ok(rows.into_iter().map(|row| (row.get(0), row)).collect())
}

fn logged(row: &Row, suppressed: u64) -> Logged {
    let count = |column: usize| unsigned(row.get(column));
    let wait: Option<Vec<f64>> = row.get(8);
    Logged {
        tally: Tally {
            ok: count(1),
            retried: count(2),
            exceeded: count(3),
            error: count(4),
            expired: count(5),
            invalid: count(6),
            folded: count(7) + suppressed,
        },
        wait: wait.and_then(|wait| Some((*wait.first()?, *wait.get(1)?))),
        rate: row.get(9),
    }
}

/// A retry ends the event it repeats as done, and so does folding; `own` events were enqueued by a call.
fn compare_queue(
    verified: &mut Verified,
    name: &str,
    own: u64,
    expected: Tally,
    row: Option<&Row>,
) {
    let failed = expected.error + expected.exceeded + expected.expired + expected.invalid;
    let numbers = [
        ("events enqueued", own),
        ("status done", own + expected.retried - failed),
        ("status error", expected.error + expected.exceeded),
        ("status expired", expected.expired),
        ("status invalid", expected.invalid),
        ("status pending", 0),
    ];
    for (place, (what, expected)) in numbers.into_iter().enumerate() {
        let found = row.map_or(0, |row| unsigned(row.get(place + 1)));
        verified.number(&format!("{name}, {what}"), "pgrelay.queue", expected, found);
    }
}
