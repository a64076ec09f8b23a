//! CHANNELS and EXCLUDE_CHANNELS narrow what an instance serves, exclusion wins, and a pool may have no workers at all.

use std::time::Duration;

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;
use fleet_tests::wait;
use serde_json::json;

use crate::steps::{ended, literal, notify, register};

/// Long enough for several polls.
const A_WHILE: Duration = Duration::from_millis(2500);

const SERVED: &[&str] = &[
    "orders.ship",
    "orders.",
    "orders.serial.in",
    "a.express",
    "box7",
];
const NOT_SERVED: &[&str] = &[
    "orders",
    "ordersXship",
    "my.orders.ship",
    "orders.secret.x",
    "orders.serial.secret",
    "box77",
    "ORDERS.ship",
    "other",
];

#[tokio::test]
async fn by_globs_of_which_exclusion_wins() {
    let db = Database::with_schema().await;
    for channel in SERVED.iter().chain(NOT_SERVED) {
        let settings = if channel.contains("serial") {
            "concurrency_mode := 'serial'"
        } else {
            ""
        };
        register(&db, channel, "SELECT 1", settings).await;
        notify(&db, channel, "x").await;
    }
    let narrowed = Processor::with(&db, |config| {
        config
            .set("CHANNELS", json!(["orders.*", "*.express", "box?"]))
            .set("EXCLUDE_CHANNELS", json!(["orders.secret*", "*.secret"]))
    })
    .await;
    let served: Vec<String> = SERVED.iter().map(|name| literal(name)).collect();
    let pending = format!(
        "SELECT count(*) FROM pgrelay.queue WHERE status = 'pending' AND channel IN ({})",
        served.join(", ")
    );
    db.until_equals(&pending, 0_i64, wait::SOON).await;
    let untouched = "SELECT count(*) FROM pgrelay.queue WHERE status = 'pending'";
    wait::while_holding("the restriction", A_WHILE, || async {
        match db.query_one::<i64>(untouched, &[]).await {
            8 => Ok(()),
            seen => Err(format!("{seen} events are pending")),
        }
    })
    .await;
    drop(narrowed);
    let _everything = Processor::start(&db).await;
    db.until_equals(untouched, 0_i64, wait::SOON).await;
}

#[tokio::test]
async fn without_notify_workers_only_sql_is_served() {
    one_pool_only("NOTIFY_WORKERS", "sql", "mail").await;
}

#[tokio::test]
async fn without_sql_workers_only_notifications_are_served() {
    one_pool_only("SQL_WORKERS", "mail", "sql").await;
}

async fn one_pool_only(none_of: &str, served: &str, left: &str) {
    let db = Database::with_schema().await;
    register(&db, "sql", "SELECT 1", "").await;
    // A disabled channel needs no notifier: its events end as invalid.
    db.execute(
        "SELECT pgrelay.register('mail', action_type := 'notify'); SELECT pgrelay.update('mail', p_enabled := false)",
    )
    .await;
    let left = notify(&db, left, "left").await;
    let _processor = Processor::with(&db, |config| config.set(none_of, 0)).await;
    let served = notify(&db, served, "served").await;
    assert_ne!(ended(&db, served).await, "pending");
    let sql = "SELECT q.status FROM pgrelay.queue AS q WHERE q.id = $1";
    wait::while_holding("the restriction", A_WHILE, || async {
        match db.query_one::<String>(sql, &[&left]).await.as_str() {
            "pending" => Ok(()),
            seen => Err(seen.to_owned()),
        }
    })
    .await;
}
