//! The steps of a notification in debug mode are written as they are made, outside its transaction, and never hold up or fail the send.

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;
use fleet_tests::wait;

use crate::notify_receiver::Receiver;
use crate::notify_recorder::{
    before_set_status, database, enqueue, finished, statuses, store, told,
};
use crate::steps::ended;

/// Stores notification `id` in debug mode.
async fn store_debug(db: &Database, id: i64, receiver: &Receiver) {
    store(db, id, "webhook", &receiver.profile()).await;
    let sql = format!("UPDATE recorder.notifications SET debug = true WHERE id = {id}");
    db.execute(&sql).await;
}

async fn steps(db: &Database, id: i64) -> Vec<String> {
    let sql = "SELECT s.step FROM recorder.steps AS s WHERE s.id = $1 ORDER BY s.place";
    let rows = db.rows(sql, &[&id]).await;
    rows.iter().map(|row| row.get(0)).collect()
}

async fn wait_for_step(db: &Database, id: i64, step: &str) {
    let what = format!("step {step} of notification {id}");
    wait::until(&what, wait::SOON, || async {
        match steps(db, id).await {
            seen if seen.iter().any(|seen| seen == step) => Ok(()),
            seen => Err(format!("{seen:?}")),
        }
    })
    .await;
}

#[tokio::test]
async fn they_are_seen_in_flight_and_in_order_and_only_of_those_in_debug_mode() {
    let db = database().await;
    let receiver = Receiver::closed(&[]).await;
    store_debug(&db, 7, &receiver).await;
    store(&db, 8, "webhook", &receiver.profile()).await;
    let _processor = Processor::start(&db).await;
    enqueue(&db, 8).await;
    enqueue(&db, 7).await;
    receiver.wait_for(2).await;
    wait_for_step(&db, 7, "request").await;
    let in_flight = steps(&db, 7).await;
    assert_eq!(in_flight[..2], ["claim", "fetch"]);
    assert!(!in_flight.contains(&"verdict".to_owned()), "{in_flight:?}");
    receiver.open();
    finished(&db, 7).await;
    finished(&db, 8).await;
    wait_for_step(&db, 7, "verdict").await;
    let all = steps(&db, 7).await;
    assert_eq!(all.last().map(String::as_str), Some("verdict"));
    assert_eq!(all[..in_flight.len()], in_flight);
    assert_eq!(steps(&db, 8).await, Vec::<String>::new());
}

#[tokio::test]
async fn they_outlive_an_attempt_that_was_rolled_back() {
    let db = database().await;
    let receiver = Receiver::closed(&[]).await;
    store_debug(&db, 7, &receiver).await;
    let mut processor = Processor::start(&db).await;
    enqueue(&db, 7).await;
    receiver.wait_for(1).await;
    wait_for_step(&db, 7, "request").await;
    processor.kill();
    assert_eq!(steps(&db, 7).await[..2], ["claim", "fetch"]);
    assert_eq!(statuses(&db, 7).await, []);
}

#[tokio::test]
async fn a_raising_debug_log_costs_its_own_step() {
    let db = database().await;
    db.execute(
        "CREATE OR REPLACE FUNCTION recorder.debug_log(p_id bigint, p_step text, p_detail text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
             IF p_step = 'fetch' THEN RAISE EXCEPTION 'zanzibar'; END IF;
             INSERT INTO recorder.steps (id, step, detail) VALUES (p_id, p_step, p_detail);
         END $$",
    )
    .await;
    let receiver = Receiver::start(&[]).await;
    store_debug(&db, 7, &receiver).await;
    let processor = Processor::start(&db).await;
    enqueue(&db, 7).await;
    finished(&db, 7).await;
    assert_eq!(statuses(&db, 7).await, told(&[("sent", 1)]));
    wait_for_step(&db, 7, "verdict").await;
    let steps = steps(&db, 7).await;
    assert!(
        steps.contains(&"claim".to_owned()) && !steps.contains(&"fetch".to_owned()),
        "{steps:?}"
    );
    assert!(
        !processor.logs().contains("zanzibar"),
        "its words are in the log"
    );
}

#[tokio::test]
async fn a_hanging_debug_log_holds_up_nobody() {
    let db = database().await;
    db.execute(
        "CREATE OR REPLACE FUNCTION recorder.debug_log(p_id bigint, p_step text, p_detail text) RETURNS void LANGUAGE sql AS 'SELECT pg_sleep(3600)'",
    )
    .await;
    let receiver = Receiver::start(&[]).await;
    let mut processor = Processor::with(&db, |config| config.set("NOTIFY_WORKERS", 1)).await;
    for id in 1..=30 {
        store_debug(&db, id, &receiver).await;
        enqueue(&db, id).await;
    }
    for id in 1..=30 {
        finished(&db, id).await;
        assert_eq!(statuses(&db, id).await, told(&[("sent", 1)]));
    }
    processor.terminate();
    assert_eq!(processor.wait_exit(wait::SOON).await, 0);
}

#[tokio::test]
async fn an_attempt_waits_for_no_lock_that_its_own_transaction_holds() {
    let db = database().await;
    // What the trace writes conflicts with what the report holds until COMMIT.
    before_set_status(
        &db,
        "LOCK TABLE recorder.steps IN ACCESS EXCLUSIVE MODE; PERFORM pg_sleep(1)",
    )
    .await;
    let receiver = Receiver::start(&[]).await;
    store_debug(&db, 7, &receiver).await;
    let _processor = Processor::start(&db).await;
    let event = enqueue(&db, 7).await;
    assert_eq!(ended(&db, event).await, "done");
    assert_eq!(statuses(&db, 7).await, told(&[("sent", 1)]));
}
