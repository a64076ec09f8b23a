//! A Processor has a row in the registry from its start to its end, kept alive by heartbeats on the database's clock.

use std::time::Duration;

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;
use fleet_tests::{long_run, wait};

#[tokio::test]
async fn from_its_start_to_its_end() {
    let db = Database::with_schema().await;
    let mut processor = Processor::with(&db, |config| {
        config.set("SQL_WORKERS", 3).set("NOTIFY_WORKERS", 1)
    })
    .await;
    let rows = db.rows("SELECT * FROM pgrelay.processor_status", &[]).await;
    assert_eq!(rows.len(), 1);
    let row = &rows[0];
    assert_eq!(u32::try_from(row.get::<_, i32>("pid")), Ok(processor.pid()));
    let host = nix::unistd::gethostname().expect("a host name");
    assert_eq!(row.get::<_, String>("host"), host.to_string_lossy());
    assert_eq!(row.get::<_, String>("state"), "running");
    assert_eq!(row.get::<_, String>("node"), "local");
    assert_eq!(row.get::<_, String>("version"), env!("CARGO_PKG_VERSION"));
    let workers: (i32, i32) = (row.get("sql_workers"), row.get("notify_workers"));
    assert_eq!(workers, (3, 1));

    let beaten = "SELECT last_seen > started_at + interval '1 second' FROM pgrelay.processors";
    db.until_equals(beaten, true, Duration::from_secs(12)).await;
    processor.terminate();
    assert_eq!(processor.wait_exit(wait::SOON).await, 0);
    let left: i64 = db
        .query_one("SELECT count(*) FROM pgrelay.processors", &[])
        .await;
    assert_eq!(left, 0);
}

#[tokio::test]
async fn and_one_that_was_killed_is_called_lost_after_fifteen_seconds() {
    if !long_run() {
        return;
    }
    let db = Database::with_schema().await;
    let mut processor = Processor::start(&db).await;
    processor.kill();
    let state = "SELECT state FROM pgrelay.processor_status";
    let state_now: String = db.query_one(state, &[]).await;
    assert_eq!(state_now, "running", "nobody can know yet");
    db.until_equals(state, "lost".to_owned(), Duration::from_secs(30))
        .await;
}
