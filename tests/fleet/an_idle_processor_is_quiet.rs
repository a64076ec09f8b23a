//! With nothing to do, a Processor sleeps: it looks about once a second.

use std::time::Duration;

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;

/// Long enough for the pauses to have grown, and for the server to publish its counts.
const SETTLING: Duration = Duration::from_secs(4);
const PERIOD: Duration = Duration::from_secs(5);

async fn transactions(db: &Database) -> i64 {
    let sql = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()";
    db.query_one(sql, &[]).await
}

#[tokio::test]
async fn measured_even_with_a_single_worker_in_each_pool() {
    let db = Database::with_schema().await;
    let _processor = Processor::with(&db, |config| {
        config.set("SQL_WORKERS", 1).set("NOTIFY_WORKERS", 1)
    })
    .await;
    tokio::time::sleep(SETTLING).await;
    let before = transactions(&db).await;
    tokio::time::sleep(PERIOD).await;
    let count = transactions(&db).await - before;
    // A hot loop makes thousands.
    assert!(
        (1..500).contains(&count),
        "{count} transactions in {PERIOD:?}"
    );
}
