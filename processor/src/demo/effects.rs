//! What the actions have done, beside what the log says they did.

use super::DemoError;
use super::check::Verified;
use super::observe::unsigned;
use crate::oneshot::DatabaseError;
use postgres_types::ToSql;
use tokio_postgres::Client;

/// What the actions have written, and the order they wrote it in; $1 is the baseline.
const EFFECTS: [(&str, &str, &str); 9] = [
    (
        "orders committed",
        "pgrelay_demo.orders",
        "SELECT count(*) FROM pgrelay_demo.orders",
    ),
    (
        "shipments",
        "pgrelay_demo.shipments",
        "SELECT count(*) FROM pgrelay_demo.shipments",
    ),
    (
        "shipments of orders that were rolled back",
        "pgrelay_demo.shipments",
        "SELECT count(*) FROM pgrelay_demo.shipments AS s
         WHERE NOT EXISTS (SELECT FROM pgrelay_demo.orders AS o WHERE o.id = s.order_id)",
    ),
    (
        "recoveries",
        "pgrelay_demo.recovered",
        "SELECT count(*) FROM pgrelay_demo.recovered",
    ),
    (
        "traces of permanent failures",
        "pgrelay_demo.stock",
        "SELECT count(*) FROM pgrelay_demo.stock",
    ),
    (
        "refreshes",
        "pgrelay_demo.refreshed",
        "SELECT count(*) FROM pgrelay_demo.refreshed",
    ),
    (
        "ledger entries",
        "pgrelay_demo.ledger",
        "SELECT count(DISTINCT l.entry) FROM pgrelay_demo.ledger AS l",
    ),
    (
        "ledger entries out of order",
        "pgrelay_demo.ledger",
        "SELECT count(*) FROM (
             SELECT l.entry < lag(l.entry) OVER (ORDER BY l.place) AS wrong FROM pgrelay_demo.ledger AS l
         ) AS o WHERE o.wrong",
    ),
    (
        "retries linked to what they repeat",
        "pgrelay.queue",
        "SELECT count(*) FROM pgrelay.log AS l
         JOIN pgrelay.queue AS q ON q.id = l.retry_queue_id AND q.parent_id = l.queue_id
         WHERE l.queue_id > $1 AND l.channel LIKE 'pgrelay\\_demo.%'",
    ),
];

/// Compares them with what the log says.
pub(super) async fn compare(
    client: &Client,
    verified: &mut Verified,
    baseline: i64,
) -> Result<(), DemoError> {
    let of = |name: &str| {
        let mut lines = verified.lines.iter();
        let line = lines.find(|line| line.planned.channel.name.ends_with(name));
        line.map(|line| (line.planned.calls, line.logged.tally))
            .unwrap_or_default()
    };
    let ok = |name: &str| of(name).1.ok;
    let retried = verified.lines.iter().map(|line| line.logged.tally.retried);
    let expected = [
        of(".orders").0,
        ok(".orders"),
        0,
        ok(".flaky") + ok(".stubborn"),
        0,
        ok(".refresh"),
        ok(".ledger"),
        0,
        retried.sum(),
    ];
    let parameters: [&(dyn ToSql + Sync); 1] = [&baseline];
    for ((what, place, query), expected) in EFFECTS.into_iter().zip(expected) {
        let row = client
            .query_one(query, &parameters[..usize::from(query.contains("$1"))])
            .await;
        let row = row.map_err(DatabaseError::statement("counting what the actions did"))?;
        verified.number(what, place, expected, unsigned(row.get(0)));
    }
    Ok(())
}
