//! Making the calls, in real transactions on a session of their own.

use super::observe::{Observer, unsigned};
use super::plan::{Plan, Planned, Sending, VIEWS};
use super::{APP, DemoError, Target};
use crate::oneshot::{self, DatabaseError};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};
use tokio_postgres::Client;

/// Orders in one transaction.
const BULK: u64 = 500;
/// Calls of other channels in one transaction.
const TOGETHER: usize = 20;
/// Between two ticks.
const TICK: Duration = Duration::from_millis(10);

/// None of the deduplicated events is due before the last call has been made.
const DUE_AFTER: Duration = Duration::from_secs(3);

const NOTIFY: &str =
    "SELECT pgrelay.notify($1, $2, coalesce($3, pg_catalog.now()), $4, p_deduplicate => $5)";

/// What sending has shown.
#[derive(Debug, Default)]
pub(super) struct Sent {
    /// By channel: the calls that another event serves.
    pub(super) suppressed: BTreeMap<&'static str, u64>,
    /// Sending took so long that deduplicated events were due, and could run, before the last call.
    pub(super) late: bool,
}

/// Makes all calls.
pub(super) async fn all(
    target: &Target,
    plan: &Plan,
    observer: &Observer<'_>,
) -> Result<Sent, DemoError> {
    let session = oneshot::open(&target.connector, APP).await?;
    let client = &session.client;
    // One after the other: failures in the midst of the orders would be retried at the expense of their rate.
    orders(client, plan).await?;
    let sent = several(client, plan).await?;
    observer.until_idle().await?;
    ticks(client, plan).await?;
    session.close().await;
    Ok(sent)
}

/// Orders with their events, and a transaction that thinks better of it: its events must never run.
async fn orders(client: &Client, plan: &Plan) -> Result<(), DemoError> {
    for planned in plan.sent_by(Sending::Bulk) {
        let mut first = 1;
        while first <= planned.calls {
            let last = planned.calls.min(first + BULK - 1);
            transaction(client, &order(planned, first, last), "COMMIT").await?;
            first = last + 1;
        }
        let (first, last) = (planned.calls + 1, planned.calls + BULK);
        transaction(client, &order(planned, first, last), "ROLLBACK").await?;
    }
    Ok(())
}

fn order(planned: &Planned, first: u64, last: u64) -> String {
    let channel = planned.channel.name;
    format!(
        "INSERT INTO pgrelay_demo.orders (id) SELECT g FROM pg_catalog.generate_series({first}, {last}) AS g;
         SELECT pgrelay.notify_many('{channel}',
             ARRAY(SELECT g::text FROM pg_catalog.generate_series({first}, {last}) AS g));"
    )
}

async fn transaction(client: &Client, statements: &str, end: &str) -> Result<(), DemoError> {
    client
        .batch_execute(&format!("BEGIN; {statements} {end}"))
        .await
        .map_err(DatabaseError::statement("sending orders"))?;
    Ok(())
}

/// One call of notify().
struct Call {
    channel: &'static str,
    payload: String,
    run_at: Option<SystemTime>,
    expire_at: Option<SystemTime>,
    deduplicate: bool,
}

impl Call {
    /// The one numbered `number`; `now` is the server's clock.
    fn new(planned: &Planned, number: u64, now: SystemTime) -> Self {
        let channel = planned.channel.name;
        let mut call = Self {
            channel,
            payload: number.to_string(),
            run_at: None,
            expire_at: None,
            deduplicate: false,
        };
        match planned.channel.sending {
            Sending::Expired => call.expire_at = Some(now - Duration::from_secs(1)),
            Sending::Deduplicated => {
                call.payload = format!("view {}", number % VIEWS + 1);
                call.run_at = Some(now + DUE_AFTER);
                call.deduplicate = true;
            }
            Sending::Bulk | Sending::Mixed | Sending::OneByOne => {}
        }
        call
    }
}

/// The calls of several channels, mixed, a few in each transaction.
async fn several(client: &Client, plan: &Plan) -> Result<Sent, DemoError> {
    let began = clock(client).await?;
    let calls = interleaved(plan, began);
    let notify = client.prepare(NOTIFY).await;
    let notify = notify.map_err(DatabaseError::statement("preparing to send"))?;
    let mut served_by: BTreeMap<&str, BTreeSet<i64>> = BTreeMap::new();
    let mut made: BTreeMap<&'static str, u64> = BTreeMap::new();
    for together in calls.chunks(TOGETHER) {
        let failed = || DatabaseError::statement("sending events");
        client.batch_execute("BEGIN").await.map_err(failed())?;
        for call in together {
            let row = client
                .query_one(
                    &notify,
                    &[
                        &call.channel,
                        &call.payload,
                        &call.run_at,
                        &call.expire_at,
                        &call.deduplicate,
                    ],
                )
                .await
                .map_err(failed())?;
            served_by
                .entry(call.channel)
                .or_default()
                .insert(row.get(0));
            *made.entry(call.channel).or_default() += 1;
        }
        client.batch_execute("COMMIT").await.map_err(failed())?;
    }
    let suppressed = |(channel, calls): (&'static str, u64)| {
        let events = served_by.get(channel).map_or(0, BTreeSet::len);
        (
            channel,
            calls - unsigned(i64::try_from(events).unwrap_or_default()),
        )
    };
    Ok(Sent {
        suppressed: made.into_iter().map(suppressed).collect(),
        late: clock(client).await? > began + DUE_AFTER,
    })
}

/// The server's: ours may differ.
async fn clock(client: &Client) -> Result<SystemTime, DemoError> {
    let row = client.query_one("SELECT pg_catalog.clock_timestamp()", &[]);
    let row = row.await;
    Ok(row
        .map_err(DatabaseError::statement("asking for the time"))?
        .get(0))
}

/// One of each channel, again and again, until all have made their calls.
fn interleaved(plan: &Plan, now: SystemTime) -> Vec<Call> {
    let channels: Vec<&Planned> = [Sending::Mixed, Sending::Expired, Sending::Deduplicated]
        .into_iter()
        .flat_map(|sending| plan.sent_by(sending))
        .collect();
    let rounds = channels.iter().map(|planned| planned.calls).max();
    let mut calls = Vec::new();
    for number in 1..=rounds.unwrap_or_default() {
        for planned in &channels {
            if number <= planned.calls {
                calls.push(Call::new(planned, number, now));
            }
        }
    }
    calls
}

/// Single events for a Processor that is idle: how fast is it when nothing is in the way?
async fn ticks(client: &Client, plan: &Plan) -> Result<(), DemoError> {
    let send = "SELECT pgrelay.notify($1, $2)";
    for planned in plan.sent_by(Sending::OneByOne) {
        for number in 1..=planned.calls {
            client
                .execute(send, &[&planned.channel.name, &number.to_string()])
                .await
                .map_err(DatabaseError::statement("sending ticks"))?;
            tokio::time::sleep(TICK).await;
        }
    }
    Ok(())
}
