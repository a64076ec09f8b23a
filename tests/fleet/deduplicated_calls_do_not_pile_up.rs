//! One unclaimed event that runs no later serves further calls for the same; due twins are folded into one run.

use std::time::{Duration, Instant};

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;

use crate::steps::{all_ended, ended, log_of, notify_with, only_log_row, register};

async fn counting_database() -> Database {
    let db = Database::with_schema().await;
    db.execute("CREATE TABLE ran (id bigint, payload text)")
        .await;
    let action = "INSERT INTO ran VALUES (current_setting('pgrelay.event_id')::bigint, $1)";
    register(&db, "c", action, "").await;
    register(&db, "d", action, "").await;
    db
}

async fn call(db: &Database, arguments: &str) -> i64 {
    notify_with(db, "c", &format!("{arguments}, p_deduplicate => true")).await
}

#[tokio::test]
async fn calls_that_do_not_overlap_share_one_event() {
    let db = counting_database().await;
    let event = call(&db, "'p'").await;
    for _ in 0..50 {
        assert_eq!(call(&db, "'p'").await, event);
    }
    let others = [
        call(&db, "'q'").await,
        call(&db, "''").await,
        call(&db, "NULL").await,
        notify_with(&db, "d", "'p', p_deduplicate => true").await,
    ];
    for (place, other) in others.iter().enumerate() {
        assert_ne!(*other, event, "number {place} is no twin");
    }
    assert_eq!(call(&db, "NULL").await, others[2]);
    let sql = "SELECT count(*) FROM pgrelay.queue";
    assert_eq!(db.query_one::<i64>(sql, &[]).await, 5);
    let _processor = Processor::start(&db).await;
    all_ended(&db).await;
    let sql = "SELECT count(*) FROM ran";
    assert_eq!(db.query_one::<i64>(sql, &[]).await, 5);
}

#[tokio::test]
async fn an_earlier_twin_serves_a_later_call_and_not_the_other_way_round() {
    let db = counting_database().await;
    let hour = call(&db, "'p', run_at => now() + interval '1 hour'").await;
    let two_hours = call(&db, "'p', run_at => now() + interval '2 hours'").await;
    assert_eq!(two_hours, hour);
    let now = call(&db, "'p'").await;
    assert_ne!(
        now, hour,
        "an event in an hour does not serve a call for now"
    );
    let again = call(&db, "'p', run_at => now() + interval '30 minutes'").await;
    assert_eq!(again, now);
}

#[tokio::test]
async fn due_twins_are_folded_into_one_run() {
    let db = counting_database().await;
    let mut twins = Vec::new();
    for seconds in 1..=20 {
        // Each asks for an earlier time than those before, so none serves it.
        twins.push(
            call(
                &db,
                &format!("'p', run_at => now() - interval '{seconds} s'"),
            )
            .await,
        );
    }
    twins.sort_unstable();
    twins.dedup();
    assert_eq!(twins.len(), 20);
    let not_deduplicated = notify_with(&db, "c", "'p'").await;
    let _processor = Processor::with(&db, |config| config.set("SQL_WORKERS", 1)).await;
    all_ended(&db).await;
    let ran: Vec<i64> = db
        .query_one("SELECT array_agg(id ORDER BY id) FROM ran", &[])
        .await;
    assert_eq!(ran, [twins[19], not_deduplicated]);
    for twin in &twins[..19] {
        let log = only_log_row(&db, *twin).await;
        assert_eq!((log.status.as_str(), log.attempt), ("ok", 1));
        assert_eq!(log.served_by, Some(twins[19]));
        assert_eq!(ended(&db, *twin).await, "done");
    }
    assert_eq!(only_log_row(&db, twins[19]).await.served_by, None);
}

#[tokio::test]
async fn twins_of_a_failed_run_are_settled_with_it() {
    let db = counting_database().await;
    db.execute("SELECT pgrelay.update('c', p_action_sql := 'SELECT 1 / 0, $1')")
        .await;
    let later = call(&db, "'p'").await;
    let earlier = call(&db, "'p', run_at => now() - interval '1 s'").await;
    let _processor = Processor::with(&db, |config| config.set("SQL_WORKERS", 1)).await;
    assert_eq!(only_log_row(&db, earlier).await.status, "error");
    let folded = only_log_row(&db, later).await;
    assert_eq!(folded.served_by, Some(earlier));
}

#[tokio::test]
async fn a_twin_that_expires_earlier_serves_no_call() {
    let db = counting_database().await;
    let expiring = call(&db, "'p', expire_at => now() + interval '1 hour'").await;
    let for_ever = call(&db, "'p'").await;
    assert_ne!(
        for_ever, expiring,
        "a call without an end needs an event without one"
    );
    let other = Database::with_schema().await;
    register(&other, "c", "SELECT $1", "").await;
    let hour = call(&other, "'p', expire_at => '2100-01-01 01:00+00'").await;
    let longer = call(&other, "'p', expire_at => '2100-01-01 02:00+00'").await;
    assert_ne!(longer, hour);
    let shorter = call(&other, "'p', expire_at => '2100-01-01 00:30+00'").await;
    assert!([hour, longer].contains(&shorter));
}

#[tokio::test]
async fn a_retry_serves_no_call() {
    let db = counting_database().await;
    db.execute("CREATE FUNCTION fail() RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001'; END $$")
        .await;
    register(&db, "f", "SELECT fail(), $1", "max_retries := 1").await;
    let _processor = Processor::start(&db).await;
    let first = notify_with(&db, "f", "'p', p_deduplicate => true").await;
    ended(&db, first).await;
    let retry = log_of(&db, first).await[0].retry_queue_id.unwrap();
    let later = "'p', run_at => now() + interval '1 hour', p_deduplicate => true";
    let next = notify_with(&db, "f", later).await;
    assert_ne!(next, retry);
    assert_ne!(next, first);
}

#[tokio::test]
async fn a_call_returns_at_once_while_its_twin_is_claimed() {
    let db = counting_database().await;
    let gate = db.gate(1).await;
    register(&db, "held", &gate.pass_sql(), "").await;
    let _processor = Processor::start(&db).await;
    let claimed = notify_with(&db, "held", "'p', p_deduplicate => true").await;
    gate.wait_for_arrivals(1).await;
    let asked = Instant::now();
    let next = notify_with(&db, "held", "'p', p_deduplicate => true").await;
    let took = asked.elapsed();
    assert!(took < Duration::from_millis(500), "notify() took {took:?}");
    assert_ne!(
        next, claimed,
        "the run that has started may not see this call"
    );
    gate.open().await;
    assert_eq!(ended(&db, claimed).await, "done");
    assert_eq!(ended(&db, next).await, "done");
}
