//! An action that cannot run is an error of its event, in words that name the fault, and of nobody else.

use std::time::{Duration, Instant};

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;

use crate::steps::{register, run_one};

#[tokio::test]
async fn the_server_s_verdict_on_the_text_is_the_error() {
    let db = Database::with_schema().await;
    let _processor = Processor::start(&db).await;
    let table = [
        ("SELECT FROM FROM", "42601", "syntax error"),
        (
            "SELECT 1; SELECT 2",
            "42601",
            "cannot insert multiple commands",
        ),
        ("SELECT no_such($1)", "42883", "no_such"),
        ("SELECT * FROM no_such", "42P01", "no_such"),
        ("SELECT 1 / 0", "22012", "division by zero"),
        ("SELECT $1 + $1", "42725", "not unique"),
        ("INSERT INTO pg_class DEFAULT VALUES", "23502", "null value"),
    ];
    for (place, (action, sqlstate, words)) in table.into_iter().enumerate() {
        let channel = format!("c{place}");
        register(&db, &channel, action, "max_retries := 3").await;
        let log = run_one(&db, &channel, "1").await;
        assert_eq!(log.status, "error", "{action}: {log:?}");
        assert_eq!(log.sqlstate.as_deref(), Some(sqlstate), "{action}: {log:?}");
        let error = log.error.unwrap();
        assert!(error.contains(words), "{action}: {error}");
    }
}

#[tokio::test]
async fn a_second_parameter_is_refused_by_name() {
    let db = Database::with_schema().await;
    register(&db, "c", "SELECT $1::text, $2::text", "max_retries := 3").await;
    let _processor = Processor::start(&db).await;
    let log = run_one(&db, "c", "1").await;
    assert_eq!((log.status.as_str(), log.sqlstate), ("error", None));
    assert_eq!(
        log.error.as_deref(),
        Some("the action has 2 parameters; it may have one, $1, the payload")
    );
}

#[tokio::test]
async fn statements_that_could_end_the_transaction_never_start() {
    let db = Database::with_schema().await;
    db.execute("CREATE TABLE kept ()").await;
    let _processor = Processor::start(&db).await;
    let table = [
        ("COMMIT", "COMMIT"),
        ("rollback", "ROLLBACK"),
        ("BEGIN", "BEGIN"),
        ("END", "END"),
        ("SAVEPOINT a", "SAVEPOINT"),
        ("PREPARE TRANSACTION 'a'", "PREPARE"),
        ("SET TRANSACTION READ ONLY", "SET"),
        ("RESET ALL", "RESET"),
        ("DISCARD ALL", "DISCARD"),
        ("DO $$BEGIN END$$", "DO"),
        ("DROP TABLE kept", "DROP"),
        ("TRUNCATE kept", "TRUNCATE"),
        ("COPY kept TO PROGRAM 'true'", "COPY"),
        ("NOTIFY a", "NOTIFY"),
        ("LISTEN a", "LISTEN"),
        ("LOCK kept", "LOCK"),
        ("EXPLAIN SELECT 1", "EXPLAIN"),
        ("-- a comment\n/* and /* another */ */ VACUUM", "VACUUM"),
        ("SELECTED", "SELECTED"),
        ("$1", "$1"),
    ];
    for (place, (action, found)) in table.into_iter().enumerate() {
        let channel = format!("c{place}");
        register(&db, &channel, action, "max_retries := 3").await;
        let log = run_one(&db, &channel, "1").await;
        assert_eq!(
            (log.status.as_str(), log.sqlstate),
            ("error", None),
            "{action}"
        );
        let expected = format!(
            "the action begins with {found}; allowed are SELECT, WITH, VALUES, INSERT, UPDATE, DELETE, MERGE, CALL"
        );
        assert_eq!(log.error, Some(expected), "{action}");
    }
    register(&db, "empty", "-- nothing", "").await;
    let log = run_one(&db, "empty", "1").await;
    assert_eq!(log.error.as_deref(), Some("the action holds no statement"));
    db.execute("SELECT FROM kept").await;
}

#[tokio::test]
async fn an_action_that_takes_too_long_is_stopped() {
    let db = Database::with_schema().await;
    let timeout = "action_timeout := '500 ms', max_retries := 3";
    register(&db, "c", "SELECT pg_sleep(60)", timeout).await;
    let _processor = Processor::start(&db).await;
    let started = Instant::now();
    let log = run_one(&db, "c", "").await;
    assert_eq!(log.status, "error");
    assert_eq!(log.sqlstate.as_deref(), Some("57014"));
    assert!(started.elapsed() < Duration::from_secs(15));
    let sql = "SELECT elapsed_ms FROM pgrelay.log";
    let elapsed: f64 = db.query_one(sql, &[]).await;
    assert!((450.0..10_000.0).contains(&elapsed), "{elapsed} ms");
}

#[tokio::test]
async fn an_action_slower_than_a_batch_may_be_is_not_stopped() {
    let db = Database::with_schema().await;
    let action = "SELECT CASE WHEN $1 = 'slow' THEN pg_sleep(0.6) END";
    register(&db, "c", action, "").await;
    let _processor = Processor::with(&db, |config| config.set("SQL_WORKERS", 1)).await;
    // The channel is known to be fast, so its events come in batches, whose limit the slow one exceeds.
    let sql = "SELECT pgrelay.notify_many('c', ARRAY(SELECT CASE WHEN i = 300 THEN 'slow' ELSE 'fast' END FROM generate_series(1, 400) AS i))";
    db.execute(sql).await;
    let sql = "SELECT count(*) FROM pgrelay.queue WHERE status = 'done'";
    db.until_equals(sql, 400_i64, fleet_tests::wait::SOON).await;
    let sql = "SELECT count(*) FROM pgrelay.log WHERE status = 'ok'";
    assert_eq!(db.query_one::<i64>(sql, &[]).await, 400);
}
