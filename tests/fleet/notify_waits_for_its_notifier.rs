//! A notifier that cannot be asked just now (its table is locked, it meets a conflict, it hangs) costs its events time and nothing else.

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;
use fleet_tests::wait;
use serde_json::json;

use crate::held::status;
use crate::notify_receiver::Receiver;
use crate::notify_recorder::{
    ANNOUNCE, before_fetch, channel, create, database, enqueue, finished, log, statuses, store,
    told,
};
use crate::steps::{ended, notify, register, run_one};

/// What the Processor says of an event that waits, before the number of times.
const WAITS: &str = "waits, and so may others";

/// An installed notifier with a channel `mail` whose events end with their first failure.
async fn without_retries(settings: &str) -> Database {
    let db = Database::with_schema().await;
    create(&db).await;
    db.execute(ANNOUNCE).await;
    channel(&db, &format!("max_retries := 0{settings}")).await;
    db
}

#[tokio::test]
async fn a_lock_that_outlasts_all_retries_burns_none() {
    let db = without_retries("").await;
    let receiver = Receiver::start(&[]).await;
    store(&db, 7, "webhook", &receiver.profile()).await;
    let mut processor = Processor::start(&db).await;
    let mut somebody = db.connect().await;
    let lock = somebody.transaction().await.expect("a transaction");
    let sql = "LOCK TABLE recorder.notifications IN ACCESS EXCLUSIVE MODE";
    lock.batch_execute(sql).await.expect("the lock");
    let event = enqueue(&db, 7).await;
    let expected = format!(
        "event {event} of mail {WAITS}, 1 times so far: fetch() of the notifier failed with SQLSTATE 55P03"
    );
    processor.wait_for_log(&expected, wait::SOON).await;
    // Events that need no fetch go on.
    let unwanted = db
        .query_one(
            "SELECT pgrelay.notify('mail', '8', expire_at => now())",
            &[],
        )
        .await;
    assert_eq!(ended(&db, unwanted).await, "expired");
    let asks = "SELECT count(*) FROM pg_locks WHERE relation = 'recorder.notifications'::regclass AND NOT granted";
    db.until_equals(asks, 1_i64, wait::SOON).await;
    assert_eq!(status(&db, event).await, "pending");
    assert_eq!(log(&db, 7).await, []);
    lock.rollback().await.expect("the lock to be let go");
    assert_eq!(ended(&db, event).await, "done");
    assert_eq!(statuses(&db, 7).await, told(&[("sent", 1)]));
    assert_eq!(log(&db, 7).await, [("ok".to_owned(), 1, None)]);
    assert_eq!(processor.logs().matches(WAITS).count(), 1);
}

#[tokio::test]
async fn one_that_never_gets_through_is_named_and_holds_nobody_up() {
    let db = without_retries("").await;
    before_fetch(
        &db,
        "IF p_id = 7 THEN RAISE EXCEPTION 'zanzibar' USING ERRCODE = '40001'; END IF",
    )
    .await;
    let receiver = Receiver::start(&[]).await;
    for id in 7..=27 {
        store(&db, id, "webhook", &receiver.profile()).await;
    }
    let mut processor = Processor::with(&db, |config| config.set("NOTIFY_WORKERS", 1)).await;
    let event = enqueue(&db, 7).await;
    let named = format!(
        "event {event} of mail {WAITS}, 1 times so far: fetch() of the notifier failed with SQLSTATE 40001"
    );
    processor.wait_for_log(&named, wait::SOON).await;
    for id in 8..=27 {
        enqueue(&db, id).await;
        finished(&db, id).await;
        assert_eq!(statuses(&db, id).await, told(&[("sent", 1)]));
    }
    assert_eq!(status(&db, event).await, "pending");
    assert_eq!(statuses(&db, 7).await, []);
    before_fetch(&db, "NULL").await;
    assert_eq!(ended(&db, event).await, "done");
    assert_eq!(statuses(&db, 7).await, told(&[("sent", 1)]));
    assert!(
        !processor.logs().contains("zanzibar"),
        "its words are in the log"
    );
}

#[tokio::test]
async fn a_trouble_of_many_is_told_once_and_does_not_starve_the_rest() {
    let db = without_retries("").await;
    let trouble = "IF p_id <= 30 THEN RAISE EXCEPTION USING ERRCODE = '53200'; END IF";
    before_fetch(&db, trouble).await;
    let receiver = Receiver::start(&[]).await;
    for id in 1..=31 {
        store(&db, id, "webhook", &receiver.profile()).await;
    }
    let mut processor = Processor::start(&db).await;
    db.execute("SELECT pgrelay.notify('mail', i::text) FROM generate_series(1, 30) AS i")
        .await;
    processor.wait_for_log(WAITS, wait::SOON).await;
    enqueue(&db, 31).await;
    finished(&db, 31).await;
    assert_eq!(statuses(&db, 31).await, told(&[("sent", 1)]));
    let lines = processor.logs().matches("1 times so far").count();
    assert_eq!(lines, 1, "{}", processor.logs());
    let waiting = "SELECT count(*) FROM pgrelay.queue WHERE status = 'pending'";
    assert_eq!(db.query_one::<i64>(waiting, &[]).await, 30);
    before_fetch(&db, "NULL").await;
    for id in 1..=30 {
        finished(&db, id).await;
        assert_eq!(log(&db, id).await, [("ok".to_owned(), 1, None)]);
    }
}

#[tokio::test]
async fn a_lane_waits_with_its_head_and_keeps_its_order() {
    let db = without_retries(", concurrency_mode := 'serial'").await;
    db.execute(
        "SELECT pgrelay.register('other', action_type := 'notify', concurrency_mode := 'serial')",
    )
    .await;
    before_fetch(
        &db,
        "IF p_id = 1 THEN RAISE EXCEPTION USING ERRCODE = '40001'; END IF",
    )
    .await;
    let receiver = Receiver::start(&[]).await;
    for id in 1..=4 {
        store(&db, id, "webhook", &receiver.profile()).await;
    }
    let mut processor = Processor::start(&db).await;
    for id in 1..=3 {
        enqueue(&db, id).await;
    }
    processor.wait_for_log(WAITS, wait::SOON).await;
    let other = notify(&db, "other", "4").await;
    assert_eq!(ended(&db, other).await, "done");
    before_fetch(&db, "NULL").await;
    finished(&db, 3).await;
    let ids: Vec<i64> = receiver
        .requests()
        .iter()
        .map(|request| request.body["id"].as_i64().expect("an id"))
        .collect();
    assert_eq!(ids, [4, 1, 2, 3]);
}

#[tokio::test]
async fn one_that_expires_while_it_waits_is_expired() {
    let db = without_retries("").await;
    before_fetch(&db, "RAISE EXCEPTION USING ERRCODE = '40001'").await;
    store(&db, 7, "webhook", &json!({})).await;
    let _processor = Processor::start(&db).await;
    let sql = "SELECT pgrelay.notify('mail', '7', expire_at => now() + interval '2 seconds')";
    let event = db.query_one(sql, &[]).await;
    assert_eq!(ended(&db, event).await, "expired");
    assert_eq!(statuses(&db, 7).await, told(&[("expired", 1)]));
}

#[tokio::test]
async fn a_drain_leaves_it_as_it_was() {
    let db = without_retries("").await;
    before_fetch(&db, "RAISE EXCEPTION USING ERRCODE = '40001'").await;
    store(&db, 7, "webhook", &json!({})).await;
    let mut processor = Processor::start(&db).await;
    let event = enqueue(&db, 7).await;
    processor.wait_for_log(WAITS, wait::SOON).await;
    processor.terminate();
    assert_eq!(processor.wait_exit(wait::SOON).await, 0);
    assert!(processor.logs().contains("drained"), "{}", processor.logs());
    assert_eq!(status(&db, event).await, "pending");
    assert_eq!(log(&db, 7).await, []);
}

#[tokio::test]
async fn one_whose_version_cannot_be_had_costs_no_retry_and_holds_up_no_sql_event() {
    let db = without_retries("").await;
    let version =
        "CREATE OR REPLACE FUNCTION recorder.interface_version() RETURNS integer LANGUAGE sql AS";
    db.execute(&format!("{version} 'SELECT pg_sleep(3600); SELECT 1'"))
        .await;
    let receiver = Receiver::start(&[]).await;
    store(&db, 7, "webhook", &receiver.profile()).await;
    register(&db, "sql", "SELECT $1", "").await;
    let mut processor = Processor::start(&db).await;
    assert_eq!(run_one(&db, "sql", "").await.status, "ok");
    let event = enqueue(&db, 7).await;
    let waits = format!(
        "event {event} of mail {WAITS}, 1 times so far: the notifier cannot be used: interface_version() failed with SQLSTATE 57014"
    );
    processor.wait_for_log(&waits, wait::SOON).await;
    assert_eq!(log(&db, 7).await, []);
    db.execute(&format!("{version} 'SELECT 1'")).await;
    assert_eq!(ended(&db, event).await, "done");
    assert_eq!(statuses(&db, 7).await, told(&[("sent", 1)]));
}

#[tokio::test]
async fn measured_a_run_at_is_kept_to_although_nobody_wakes_the_pool() {
    let db = database().await;
    let receiver = Receiver::start(&[]).await;
    store(&db, 7, "webhook", &receiver.profile()).await;
    let _processor = Processor::start(&db).await;
    for _ in 0..3 {
        // Between two looks of a pool that goes by its pauses alone: they double from 5 ms on, and the looks would be at 1.3 and 2.3 s.
        let sql = "SELECT pgrelay.notify('mail', '7', run_at => now() + interval '1.5 seconds')";
        let event = db.query_one(sql, &[]).await;
        assert_eq!(ended(&db, event).await, "done");
    }
    let sql = "SELECT extract(epoch FROM l.started_at - q.run_at)::float8 FROM pgrelay.log AS l JOIN pgrelay.queue AS q ON q.id = l.queue_id";
    let rows = db.rows(sql, &[]).await;
    let late: Vec<f64> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(late.len(), 3);
    assert!(
        late.iter().any(|late| *late < 0.3),
        "seconds late: {late:?}"
    );
}
