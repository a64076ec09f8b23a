//! A second SIGTERM does not wait for what is held: the process is gone within two seconds, and its event is free at once.

use std::time::Duration;

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;

use crate::held;
use crate::steps::{ended, log_of};

#[tokio::test]
async fn another_processor_takes_the_event_over() {
    let db = Database::with_schema().await;
    let gate = held::channels(&db).await;
    let mut first = Processor::start(&db).await;
    let id = held::hold(&db, &gate, "held").await;
    let holder = held::holders(&db).await[0];
    let _second = Processor::start(&db).await;
    first.terminate();
    first.wait_for_log("draining", Duration::from_secs(5)).await;
    assert_eq!(first.exit_code(), None, "it did not drain");
    first.terminate();
    assert_eq!(first.wait_exit(Duration::from_secs(2)).await, 0);
    held::wait_for_another_holder(&db, holder, Duration::from_secs(5)).await;
    gate.open().await;
    assert_eq!(ended(&db, id).await, "done");
    assert_eq!(held::effects(&db).await, ["held"]);
    let log = log_of(&db, id).await;
    assert_eq!(log.len(), 1, "{log:?}");
}

#[tokio::test]
async fn a_killed_processor_frees_its_event_although_the_action_is_long() {
    let db = Database::with_schema().await;
    let gate = held::channels(&db).await;
    let mut first = Processor::start(&db).await;
    let id = held::hold(&db, &gate, "held").await;
    let holder = held::holders(&db).await[0];
    let _second = Processor::start(&db).await;
    first.kill();
    held::wait_for_another_holder(&db, holder, Duration::from_secs(5)).await;
    gate.open().await;
    assert_eq!(ended(&db, id).await, "done");
    assert_eq!(held::effects(&db).await, ["held"]);
}
