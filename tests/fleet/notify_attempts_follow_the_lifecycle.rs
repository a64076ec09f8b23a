//! Each attempt at a notification has one `set_status` and one row of the log, and together they tell its life: retry, retry, failed; retry, sent; failed at once.

use fleet_tests::processor::Processor;
use serde_json::json;

use crate::notify_receiver::Receiver;
use crate::notify_recorder::{
    calls, database, enqueue, finished, log, statuses, store, store_refused, told,
};
use crate::steps::{ended, log_of, notify};

#[tokio::test]
async fn always_transient_is_retry_retry_failed() {
    let db = database().await;
    store_refused(&db, 7).await;
    let _processor = Processor::start(&db).await;
    let first = enqueue(&db, 7).await;
    finished(&db, 7).await;
    let expected = told(&[("retry", 1), ("retry", 2), ("failed", 3)]);
    assert_eq!(statuses(&db, 7).await, expected);
    let log = log(&db, 7).await;
    let words: Vec<(&str, i32)> = log.iter().map(|row| (row.0.as_str(), row.1)).collect();
    let expected = [
        ("retry_scheduled", 1),
        ("retry_scheduled", 2),
        ("max_retries_exceeded", 3),
    ];
    assert_eq!(words, expected);
    assert!(log.iter().all(|row| row.2.is_some()), "{log:?}");
    let sql = "SELECT r.parent_id FROM pgrelay.queue AS r JOIN pgrelay.log AS l ON r.id = l.retry_queue_id WHERE l.queue_id = $1";
    assert_eq!(db.query_one::<i64>(sql, &[&first]).await, first);
}

#[tokio::test]
async fn the_retry_is_due_after_three_seconds_unless_the_profile_says_otherwise() {
    let db = database().await;
    store_refused(&db, 1).await;
    let patient = json!({"url": "http://127.0.0.1:1/", "allow_private_network": true, "backoff_seconds": [300, 600]});
    store(&db, 2, "webhook", &patient).await;
    let _processor = Processor::start(&db).await;
    for (id, delay) in [(1, 3.0), (2, 300.0)] {
        let event = enqueue(&db, id).await;
        assert_eq!(ended(&db, event).await, "done");
        let sql = "SELECT extract(epoch FROM r.run_at - l.started_at)::float8 - l.elapsed_ms / 1000
                   FROM pgrelay.log AS l JOIN pgrelay.queue AS r ON r.id = l.retry_queue_id WHERE l.queue_id = $1";
        let pause: f64 = db.query_one(sql, &[&event]).await;
        assert!((delay - 0.1..delay + 1.5).contains(&pause), "{pause} s");
    }
}

#[tokio::test]
async fn success_on_the_second_try_is_retry_sent() {
    let db = database().await;
    let receiver = Receiver::start(&[503]).await;
    store(&db, 7, "webhook", &receiver.profile()).await;
    let _processor = Processor::start(&db).await;
    enqueue(&db, 7).await;
    finished(&db, 7).await;
    assert_eq!(statuses(&db, 7).await, told(&[("retry", 1), ("sent", 2)]));
    let log: Vec<(String, i32, Option<String>)> = log(&db, 7).await;
    let words: Vec<(&str, i32)> = log.iter().map(|row| (row.0.as_str(), row.1)).collect();
    assert_eq!(words, [("retry_scheduled", 1), ("ok", 2)]);
    let requests = receiver.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0], requests[1], "the same call, with the same id");
}

#[tokio::test]
async fn a_permanent_failure_burns_no_retry() {
    let db = database().await;
    let receiver = Receiver::start(&[410]).await;
    store(&db, 1, "webhook", &receiver.profile()).await;
    store(&db, 2, "pigeon", &json!({})).await;
    store(&db, 3, "webhook", &json!({"url": "_env:NOT_SET_ANYWHERE"})).await;
    let _processor = Processor::start(&db).await;
    for id in [1, 2, 3] {
        enqueue(&db, id).await;
        finished(&db, id).await;
        assert_eq!(statuses(&db, id).await, told(&[("failed", 1)]));
        let log = log(&db, id).await;
        assert_eq!(log.len(), 1, "{log:?}");
        assert_eq!(log[0].0, "error");
    }
    let detail = calls(&db, 2).await.remove(0).detail.unwrap();
    assert!(detail.contains("pigeon"), "{detail}");
    let detail = calls(&db, 3).await.remove(0).detail.unwrap();
    assert!(detail.contains("NOT_SET_ANYWHERE"), "{detail}");
}

#[tokio::test]
async fn what_nobody_knows_is_failed_and_told_to_the_notifier() {
    let db = database().await;
    let _processor = Processor::start(&db).await;
    enqueue(&db, 99).await;
    finished(&db, 99).await;
    assert_eq!(statuses(&db, 99).await, told(&[("failed", 1)]));
    let error = log(&db, 99).await.remove(0).2.unwrap();
    assert_eq!(error, "the notifier knows no notification of this id");
}

#[tokio::test]
async fn ends_before_an_attempt_are_told_too() {
    let db = database().await;
    let off = "SELECT pgrelay.register('off', action_type := 'notify'); SELECT pgrelay.update('off', p_enabled := false)";
    db.execute(off).await;
    db.execute("SELECT pgrelay.register('gone', action_type := 'notify'); SELECT pgrelay.notify('gone', '3'); \
                SELECT pgrelay.unregister('gone'); \
                SELECT pgrelay.notify('mail', '1', expire_at => now()), pgrelay.notify('off', '2'); \
                SELECT pgrelay.kill(pgrelay.notify('mail', '4', run_at => 'infinity'))")
        .await;
    let _processor = Processor::start(&db).await;
    for (id, status) in [
        (1, "expired"),
        (2, "invalid"),
        (3, "invalid"),
        (4, "expired"),
    ] {
        finished(&db, id).await;
        let calls = calls(&db, id).await;
        assert_eq!(calls.len(), 1, "{id}: {calls:?}");
        let call = &calls[0];
        assert_eq!(
            (call.status.as_str(), call.attempt, call.elapsed_ms),
            (status, 1, 0)
        );
        assert_eq!(log(&db, id).await[0].0, status);
    }
}

#[tokio::test]
async fn a_payload_that_is_no_id_is_a_permanent_failure_that_does_not_quote_it() {
    let db = database().await;
    let mut processor = Processor::start(&db).await;
    for payload in [
        "zanzibar",
        "",
        " 1",
        "+1",
        "1.0",
        "{\"id\": 1}",
        "9223372036854775808",
    ] {
        let event = notify(&db, "mail", payload).await;
        assert_eq!(ended(&db, event).await, "error");
        let log = log_of(&db, event).await;
        assert_eq!(log.len(), 1, "{log:?}");
        assert_eq!(
            log[0].error.as_deref(),
            Some("the payload is not a notification id")
        );
    }
    let nothing: i64 = db.query_one("SELECT pgrelay.notify('mail')", &[]).await;
    assert_eq!(ended(&db, nothing).await, "error");
    let told: i64 = db
        .query_one("SELECT count(*) FROM recorder.calls", &[])
        .await;
    assert_eq!(told, 0, "there is no notification to tell about");
    processor.terminate();
    assert_eq!(processor.wait_exit(fleet_tests::wait::SOON).await, 0);
    assert!(
        !processor.logs().contains("zanzibar"),
        "the log quotes a payload"
    );
}
