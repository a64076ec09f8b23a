//! `fetch` runs read only, within limits and under a savepoint: whatever it does, its attempt is settled, and nothing of it is left in the transaction.

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;
use fleet_tests::wait;
use serde_json::json;

use crate::notify_receiver::Receiver;
use crate::notify_recorder::{
    before_fetch, database, enqueue, finished, log, statuses, store, told,
};
use crate::steps::{ended, log_of};

/// Runs notification 7 with a `fetch` that does this first, and gives the log's status, SQLSTATE and error of the first attempt.
async fn after(db: &Database, statements: &str) -> (String, Option<String>, Option<String>) {
    before_fetch(db, statements).await;
    store(db, 7, "webhook", &json!({})).await;
    let _processor = Processor::start(db).await;
    let event = enqueue(db, 7).await;
    ended(db, event).await;
    let log = log_of(db, event).await.remove(0);
    (log.status, log.sqlstate, log.error)
}

#[tokio::test]
async fn one_that_raises_is_permanent_and_shown_by_its_sqlstate_alone() {
    let db = database().await;
    let (status, sqlstate, error) =
        after(&db, "RAISE EXCEPTION 'zanzibar' USING ERRCODE = 'ZZ001'").await;
    assert_eq!(
        (status.as_str(), sqlstate.as_deref()),
        ("error", Some("ZZ001"))
    );
    assert_eq!(
        error.as_deref(),
        Some("fetch() of the notifier failed with SQLSTATE ZZ001")
    );
    assert_eq!(statuses(&db, 7).await, told(&[("failed", 1)]));
}

#[tokio::test]
async fn one_that_hangs_is_given_up_and_asked_again_later() {
    let db = database().await;
    before_fetch(&db, "PERFORM pg_sleep(3600)").await;
    let receiver = Receiver::start(&[]).await;
    store(&db, 7, "webhook", &receiver.profile()).await;
    let mut processor = Processor::start(&db).await;
    let event = enqueue(&db, 7).await;
    let given_up = "fetch() of the notifier failed with SQLSTATE 57014";
    processor.wait_for_log(given_up, wait::SOON).await;
    before_fetch(&db, "NULL").await;
    assert_eq!(ended(&db, event).await, "done");
    assert_eq!(statuses(&db, 7).await, told(&[("sent", 1)]));
}

#[tokio::test]
async fn one_that_writes_is_refused_by_the_server() {
    let db = database().await;
    let (status, sqlstate, _) = after(&db, "INSERT INTO recorder.steps (id) VALUES (p_id)").await;
    assert_eq!(
        (status.as_str(), sqlstate.as_deref()),
        ("error", Some("25006"))
    );
    let written: i64 = db
        .query_one("SELECT count(*) FROM recorder.steps", &[])
        .await;
    assert_eq!(written, 0);
}

#[tokio::test]
async fn more_rows_and_nulls_are_permanent_and_named() {
    let db = database().await;
    let receiver = Receiver::start(&[]).await;
    for id in [1, 2, 3] {
        store(&db, id, "webhook", &receiver.profile()).await;
    }
    db.execute(
        "UPDATE recorder.notifications SET transport = NULL WHERE id = 1;
                UPDATE recorder.notifications SET debug = NULL WHERE id = 2",
    )
    .await;
    before_fetch(
        &db,
        "IF p_id = 3 THEN RETURN QUERY SELECT 'webhook', '{}'::jsonb, '{}'::jsonb, false; END IF",
    )
    .await;
    let _processor = Processor::start(&db).await;
    for (id, problem) in [
        (1, "NULL as transport"),
        (2, "NULL as debug"),
        (3, "more than one row"),
    ] {
        enqueue(&db, id).await;
        finished(&db, id).await;
        let log = log(&db, id).await;
        let expected = format!("fetch() of the notifier returned {problem}");
        assert_eq!(log, [("error".to_owned(), 1, Some(expected))]);
        assert_eq!(statuses(&db, id).await, told(&[("failed", 1)]));
    }
    assert_eq!(receiver.requests(), []);
}

#[tokio::test]
async fn json_that_is_nested_too_deeply_is_permanent_and_named() {
    let db = database().await;
    db.execute(
        "INSERT INTO recorder.notifications VALUES
                    (1, 'webhook', (repeat('[', 2000) || repeat(']', 2000))::jsonb, '{}', false),
                    (2, 'webhook', '{}', (repeat('[', 2000) || repeat(']', 2000))::jsonb, false)",
    )
    .await;
    let _processor = Processor::start(&db).await;
    for (id, column) in [(1, "profile"), (2, "message")] {
        enqueue(&db, id).await;
        finished(&db, id).await;
        let expected =
            format!("fetch() of the notifier returned a {column} that is nested too deeply");
        assert_eq!(
            log(&db, id).await,
            [("error".to_owned(), 1, Some(expected))]
        );
    }
}

#[tokio::test]
async fn a_key_that_our_parser_takes_for_a_number_is_permanent_and_named() {
    let db = database().await;
    let receiver = Receiver::start(&[]).await;
    for id in 1..=3 {
        store(&db, id, "webhook", &receiver.profile()).await;
    }
    // As text: on its way through the serde_json of the test the object would become a number.
    db.execute(r#"UPDATE recorder.notifications SET profile = profile || '{"headers": [{"deep": {"$serde_json::private::Number": "12"}}]}' WHERE id = 1;
                  UPDATE recorder.notifications SET message = '{"body": {"$serde_json::private::Number": "12"}}' WHERE id = 2;
                  UPDATE recorder.notifications SET message = '{"body": {"about": "{\"$serde_json::private::Number\": 12}"}}' WHERE id = 3"#)
        .await;
    let _processor = Processor::start(&db).await;
    for (id, column) in [(1, "profile"), (2, "message")] {
        enqueue(&db, id).await;
        finished(&db, id).await;
        let expected = format!(
            "fetch() of the notifier returned a {column} with the key $serde_json::private::Number, which is reserved"
        );
        assert_eq!(
            log(&db, id).await,
            [("error".to_owned(), 1, Some(expected))]
        );
    }
    assert_eq!(receiver.requests(), []);
    enqueue(&db, 3).await;
    finished(&db, 3).await;
    let body = json!({"about": "{\"$serde_json::private::Number\": 12}"});
    assert_eq!(receiver.requests()[0].body, body, "only a key is refused");
}
