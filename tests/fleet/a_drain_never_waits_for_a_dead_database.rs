//! SIGTERM while there is no database to drain with: the process is gone within two seconds, with exit code 0.

use std::time::Duration;

use fleet_tests::database::Database;
use fleet_tests::postgres::{PrivateOptions, Server, StopMode};
use fleet_tests::processor::Processor;
use fleet_tests::wait;

use crate::freeze::freeze;
use crate::held;

/// Two seconds are promised; the rest is for a machine under load.
const AT_ONCE: Duration = Duration::from_secs(3);

#[tokio::test]
async fn a_database_that_was_never_there() {
    let db = Database::empty().await;
    let builder = Processor::builder(&db)
        .set_in("pepsi-postgres", "HOST", "127.0.0.1")
        .set_in("pepsi-postgres", "PORT", 1);
    let mut processor = Processor::from_daemon(builder.arg("run").spawn());
    processor.wait_for_log("no work for now", wait::SOON).await;
    processor.terminate();
    assert_eq!(processor.wait_exit(AT_ONCE).await, 0);
}

#[tokio::test]
async fn a_database_that_is_down() {
    let mut server = Server::private(PrivateOptions::default()).await;
    let db = Database::with_schema_on(&server).await;
    let mut processor = Processor::start(&db).await;
    server.stop(StopMode::Fast).await;
    processor.wait_for_log("no work for now", wait::SOON).await;
    processor.terminate();
    assert_eq!(processor.wait_exit(AT_ONCE).await, 0);
}

#[tokio::test]
async fn a_database_that_goes_down_during_the_drain() {
    let mut server = Server::private(PrivateOptions::default()).await;
    let db = Database::with_schema_on(&server).await;
    let gate = held::channels(&db).await;
    let mut processor = Processor::start(&db).await;
    held::hold(&db, &gate, "held").await;
    processor.terminate();
    let state = "SELECT state FROM pgrelay.processor_status";
    db.until_equals(state, "draining".to_owned(), wait::SOON)
        .await;
    server.stop(StopMode::Immediate).await;
    assert_eq!(processor.wait_exit(AT_ONCE).await, 0);
}

#[tokio::test]
async fn a_database_that_neither_answers_nor_hangs_up() {
    let server = Server::private(PrivateOptions::default()).await;
    let db = Database::with_schema_on(&server).await;
    let gate = held::channels(&db).await;
    let mut processor = Processor::start(&db).await;
    held::hold(&db, &gate, "held").await;
    let frozen = freeze(&server);
    // Long enough that it waits for an answer, most likely: it looks at its controls every second.
    wait::while_holding("a frozen server", Duration::from_millis(1500), || async {
        true
    })
    .await;
    processor.terminate();
    assert_eq!(processor.wait_exit(AT_ONCE).await, 0);
    drop(frozen);
}
