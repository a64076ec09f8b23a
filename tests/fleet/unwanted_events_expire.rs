//! What is past its `expire_at`, or was killed, is resolved as expired without an attempt.

use std::time::{Duration, Instant};

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;
use fleet_tests::wait;

use crate::steps::{ended, log_of, notify, notify_with, only_log_row, register};

async fn recording_database() -> Database {
    let db = Database::with_schema().await;
    db.execute("CREATE TABLE ran (payload text)").await;
    register(&db, "c", "INSERT INTO ran VALUES ($1)", "max_retries := 3").await;
    db
}

async fn runs(db: &Database) -> i64 {
    db.query_one("SELECT count(*) FROM ran", &[]).await
}

#[tokio::test]
async fn an_event_past_its_end_is_not_attempted() {
    let db = recording_database().await;
    let past = "'p', expire_at => now() - interval '1 second'";
    let past = notify_with(&db, "c", past).await;
    let before_run =
        "'b', run_at => now() + interval '1 second', expire_at => now() + interval '0.5 second'";
    let before_run = notify_with(&db, "c", before_run).await;
    let at_its_end = "'e', run_at => now(), expire_at => now()";
    let at_its_end = notify_with(&db, "c", at_its_end).await;
    let later = "'l', expire_at => now() + interval '1 hour'";
    let later = notify_with(&db, "c", later).await;
    let _processor = Processor::start(&db).await;
    for id in [past, before_run, at_its_end] {
        let log = only_log_row(&db, id).await;
        assert_eq!((log.status.as_str(), log.attempt), ("expired", 1));
        assert_eq!(
            log.error.as_deref(),
            Some("expire_at passed before an attempt")
        );
        assert_eq!(ended(&db, id).await, "expired");
    }
    assert_eq!(ended(&db, later).await, "done");
    assert_eq!(runs(&db).await, 1);
}

#[tokio::test]
async fn a_killed_event_is_expired_although_it_was_not_due() {
    let db = recording_database().await;
    let id = notify_with(&db, "c", "'k', run_at => now() + interval '1 day'").await;
    assert!(kill(&db, id).await);
    let _processor = Processor::start(&db).await;
    let log = only_log_row(&db, id).await;
    assert_eq!(log.status, "expired");
    assert_eq!(log.error.as_deref(), Some("killed by pgrelay.kill()"));
    assert_eq!(runs(&db).await, 0);
    assert!(!kill(&db, id).await, "a finished event cannot be killed");
    assert!(!kill(&db, 1 << 40).await, "nor can an unknown one");
}

#[tokio::test]
async fn a_killed_event_is_expired_and_not_folded_into_a_twin() {
    let db = recording_database().await;
    let twin = "'k', run_at => now() + interval '1 day', p_deduplicate => true";
    let killed = notify_with(&db, "c", twin).await;
    let served = notify_with(&db, "c", "'k', p_deduplicate => true").await;
    assert_ne!(
        killed, served,
        "a later twin does not serve an earlier call"
    );
    // In one transaction, so that the killed one is not claimed alone.
    db.execute(&format!(
        "BEGIN; SELECT pgrelay.kill({killed}); UPDATE pgrelay.queue SET run_at = now() - interval '1 s' WHERE id = {served}; COMMIT"
    ))
    .await;
    let _processor = Processor::with(&db, |config| config.set("SQL_WORKERS", 1)).await;
    assert_eq!(ended(&db, served).await, "done");
    assert_eq!(only_log_row(&db, killed).await.status, "expired");
}

#[tokio::test]
async fn a_claimed_event_cannot_be_killed_and_nobody_waits_for_it() {
    let db = recording_database().await;
    let gate = db.gate(1).await;
    register(&db, "held", &gate.pass_sql(), "").await;
    let _processor = Processor::start(&db).await;
    let id = notify(&db, "held", "").await;
    gate.wait_for_arrivals(1).await;
    let asked = Instant::now();
    assert!(!kill(&db, id).await);
    assert!(
        asked.elapsed() < Duration::from_secs(1),
        "{:?}",
        asked.elapsed()
    );
    gate.open().await;
    assert_eq!(ended(&db, id).await, "done");
    assert_eq!(log_of(&db, id).await[0].status, "ok");
}

#[tokio::test]
async fn a_retry_row_can_be_killed() {
    let db = recording_database().await;
    db.execute("CREATE FUNCTION fail() RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001'; END $$")
        .await;
    register(&db, "f", "SELECT fail()", "max_retries := 9").await;
    let _processor = Processor::start(&db).await;
    let id = notify(&db, "f", "").await;
    ended(&db, id).await;
    let retry = log_of(&db, id).await[0].retry_queue_id.unwrap();
    assert!(kill(&db, retry).await);
    let log = only_log_row(&db, retry).await;
    assert_eq!((log.status.as_str(), log.attempt), ("expired", 2));
    let sql = "SELECT count(*) FROM pgrelay.queue WHERE status = 'pending'";
    db.until_equals(sql, 0_i64, wait::SOON).await;
}

async fn kill(db: &Database, id: i64) -> bool {
    db.query_one("SELECT pgrelay.kill($1)", &[&id]).await
}
