//! At least once: a notification whose session or Processor is lost before COMMIT is sent again, by one more attempt of the same number and with the same id.

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;
use fleet_tests::wait;

use crate::held::{holders, wait_for_another_holder};
use crate::notify_receiver::Receiver;
use crate::notify_recorder::{
    before_set_status, database, enqueue, in_flight, log, statuses, store, told,
};
use crate::steps::ended;

const SESSION: &str = "FROM pg_stat_activity WHERE datname = current_database() \
    AND application_name = 'pg-relay-processor notify' AND state = 'idle in transaction'";

async fn marks(db: &Database) -> i64 {
    db.query_one("SELECT count(*) FROM pgrelay.crashes", &[])
        .await
}

#[tokio::test]
async fn a_session_that_ends_between_send_and_commit_costs_one_more_attempt() {
    let db = database().await;
    let gate = db.gate(1).await;
    before_set_status(&db, &gate.pass_sql().replace("SELECT", "PERFORM")).await;
    let receiver = Receiver::start(&[]).await;
    store(&db, 7, "webhook", &receiver.profile()).await;
    let _processor = Processor::start(&db).await;
    let event = enqueue(&db, 7).await;
    gate.wait_for_arrivals(1).await;
    let before = holders(&db).await[0];
    let terminate = format!("SELECT pg_terminate_backend({before})");
    db.execute(&terminate).await;
    wait_for_another_holder(&db, before, wait::SOON).await;
    gate.open().await;
    assert_eq!(ended(&db, event).await, "done");
    assert_eq!(statuses(&db, 7).await, told(&[("sent", 1)]));
    assert_eq!(log(&db, 7).await, [("ok".to_owned(), 1, None)]);
    let requests = receiver.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0], requests[1], "the second is not the same call");
}

#[tokio::test]
async fn a_session_that_ends_during_a_send_breaks_it_off_and_leaves_no_mark() {
    let db = database().await;
    let (receiver, mut processor, event) = in_flight(&db).await;
    let terminate = format!("SELECT pg_terminate_backend(pid) {SESSION}");
    db.execute(&terminate).await;
    receiver.wait_for(2).await;
    receiver.open();
    assert_eq!(ended(&db, event).await, "done");
    assert_eq!(receiver.requests().len(), 2);
    assert_eq!(statuses(&db, 7).await, told(&[("sent", 1)]));
    assert_eq!(marks(&db).await, 0);
    let warning = "the database session was lost while notification 7 was being sent";
    processor.wait_for_log(warning, wait::SOON).await;
    assert_eq!(processor.logs().matches(warning).count(), 1);
}

#[tokio::test]
async fn a_processor_that_is_killed_during_a_send_leaves_it_to_the_next() {
    let db = database().await;
    let (receiver, mut first, event) = in_flight(&db).await;
    first.kill();
    receiver.open();
    let _second = Processor::start(&db).await;
    assert_eq!(ended(&db, event).await, "done");
    assert_eq!(receiver.requests().len(), 2);
    assert_eq!(statuses(&db, 7).await, told(&[("sent", 1)]));
    assert_eq!(marks(&db).await, 0);
}

#[tokio::test]
async fn a_drain_lets_the_send_finish() {
    let db = database().await;
    let (receiver, mut processor, event) = in_flight(&db).await;
    processor.terminate();
    let state = "SELECT state FROM pgrelay.processor_status";
    db.until_equals(state, "draining".to_owned(), wait::SOON)
        .await;
    let later = enqueue(&db, 8).await;
    receiver.open();
    assert_eq!(processor.wait_exit(wait::SOON).await, 0);
    assert_eq!(ended(&db, event).await, "done");
    assert_eq!(statuses(&db, 7).await, told(&[("sent", 1)]));
    let left: String = db
        .query_one("SELECT status FROM pgrelay.queue WHERE id = $1", &[&later])
        .await;
    assert_eq!(left, "pending");
}

#[tokio::test]
async fn a_drain_that_is_over_drops_the_send() {
    let db = database().await;
    let receiver = Receiver::closed(&[]).await;
    store(&db, 7, "webhook", &receiver.profile()).await;
    let mut processor = Processor::with(&db, |config| config.set("SHUTDOWN_TIMEOUT", "1s")).await;
    let event = enqueue(&db, 7).await;
    receiver.wait_for(1).await;
    processor.terminate();
    assert_eq!(processor.wait_exit(wait::SOON).await, 0);
    let sql = "SELECT status FROM pgrelay.queue WHERE id = $1";
    assert_eq!(db.query_one::<String>(sql, &[&event]).await, "pending");
    assert_eq!(statuses(&db, 7).await, []);
}
