//! An action that harms its session or its transaction hurts its own event at most.

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;

use crate::steps::{all_ended, register, run_one};

async fn one_worker(db: &Database) -> Processor {
    register(db, "fine", "INSERT INTO ran SELECT pg_backend_pid()", "").await;
    db.execute("CREATE TABLE ran (pid int)").await;
    Processor::with(db, |config| config.set("SQL_WORKERS", 1)).await
}

async fn execute_function(db: &Database) {
    db.execute(
        "CREATE FUNCTION run(p text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN EXECUTE p; END $$",
    )
    .await;
}

#[tokio::test]
async fn an_action_that_makes_its_transaction_read_only_is_an_error() {
    let db = Database::with_schema().await;
    execute_function(&db).await;
    register(&db, "c", "SELECT run($1)", "max_retries := 3").await;
    let _processor = one_worker(&db).await;
    for sql in [
        "SET TRANSACTION READ ONLY",
        "SET LOCAL transaction_read_only = on",
        "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY; SET TRANSACTION READ ONLY",
    ] {
        let log = run_one(&db, "c", sql).await;
        assert_eq!(log.status, "error", "{sql}: {log:?}");
        assert_eq!(
            log.error.as_deref(),
            Some("the action changed its transaction to read only")
        );
        assert_eq!(run_one(&db, "fine", "").await.status, "ok");
    }
}

#[tokio::test]
async fn an_action_that_tries_to_end_its_transaction_is_an_error() {
    let db = Database::with_schema().await;
    execute_function(&db).await;
    db.execute("CREATE PROCEDURE commit_it() LANGUAGE plpgsql AS $$ BEGIN INSERT INTO ran VALUES (0); COMMIT; END $$")
        .await;
    register(&db, "c", "SELECT run($1)", "max_retries := 3").await;
    register(&db, "call", "CALL commit_it()", "max_retries := 3").await;
    let _processor = one_worker(&db).await;
    for (channel, payload) in [("c", "COMMIT"), ("c", "ROLLBACK"), ("call", "")] {
        let log = run_one(&db, channel, payload).await;
        assert_eq!(log.status, "error", "{payload}: {log:?}");
        assert_eq!(run_one(&db, "fine", "").await.status, "ok");
    }
    let sql = "SELECT count(*) FROM ran WHERE pid = 0";
    assert_eq!(db.query_one::<i64>(sql, &[]).await, 0);
}

const DROPPED: &str = "the action dropped the prepared statements of its session";

#[tokio::test]
async fn an_action_that_drops_all_prepared_statements_is_an_error() {
    let db = Database::with_schema().await;
    execute_function(&db).await;
    register(&db, "c", "SELECT run($1)", "max_retries := 3").await;
    let serial = "concurrency_mode := 'serial'";
    register(&db, "serial", "SELECT run($1)", serial).await;
    let _processor = one_worker(&db).await;
    for channel in ["c", "serial", "c", "serial"] {
        let log = run_one(&db, channel, "DEALLOCATE ALL").await;
        assert_eq!(
            (log.status.as_str(), log.error.as_deref()),
            ("error", Some(DROPPED))
        );
        assert_eq!(run_one(&db, "fine", "").await.status, "ok");
    }
}

#[tokio::test]
async fn an_action_of_a_batch_that_drops_all_prepared_statements_stops_nobody() {
    let db = Database::with_schema().await;
    execute_function(&db).await;
    register(&db, "c", "SELECT run($1)", "").await;
    let _processor = one_worker(&db).await;
    let sql = "SELECT pgrelay.notify('c', CASE i WHEN 250 THEN 'DEALLOCATE ALL' ELSE 'SELECT 1' END) FROM generate_series(1, 300) AS i";
    db.execute(sql).await;
    all_ended(&db).await;
    let sql = "SELECT count(*) FILTER (WHERE status = 'ok') * 1000 + count(*) FILTER (WHERE error = $1) FROM pgrelay.log";
    let counts: i64 = db.query_one(sql, &[&DROPPED]).await;
    assert_eq!(counts, 299_001, "299 succeeded and one did not");
}

#[tokio::test]
async fn a_prepared_statement_does_not_outlive_its_event() {
    let db = Database::with_schema().await;
    execute_function(&db).await;
    register(&db, "c", "SELECT run($1)", "").await;
    let _processor = one_worker(&db).await;
    for _ in 0..3 {
        let log = run_one(&db, "c", "PREPARE left_over AS SELECT 1").await;
        assert_eq!(log.status, "ok", "{log:?}");
    }
}

#[tokio::test]
async fn a_table_that_changes_under_a_prepared_action_is_no_error() {
    let db = Database::with_schema().await;
    db.execute("CREATE TABLE t AS SELECT 1 AS a").await;
    register(&db, "c", "SELECT * FROM t, (SELECT $1) AS p", "").await;
    let _processor = one_worker(&db).await;
    for change in [
        "ALTER TABLE t ADD COLUMN b int",
        "ALTER TABLE t ALTER COLUMN a TYPE text",
        "ALTER TABLE t DROP COLUMN b",
        "DROP TABLE t; CREATE TABLE t (z int)",
    ] {
        assert_eq!(run_one(&db, "c", "").await.status, "ok", "before {change}");
        db.execute(change).await;
        assert_eq!(run_one(&db, "c", "").await.status, "ok", "after {change}");
        // The same for a batch: the channel is known to be fast by now.
        db.execute("SELECT pgrelay.notify('c', i::text) FROM generate_series(1, 100) AS i")
            .await;
        all_ended(&db).await;
    }
    let sql = "SELECT count(*) FROM pgrelay.log WHERE status <> 'ok'";
    assert_eq!(db.query_one::<i64>(sql, &[]).await, 0);
}

#[tokio::test]
async fn an_error_of_class_0a_that_user_code_raises_is_a_verdict() {
    let db = Database::with_schema().await;
    db.execute("CREATE FUNCTION refuse(p text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = p; END $$")
        .await;
    register(&db, "c", "SELECT refuse($1)", "max_retries := 2").await;
    let _processor = one_worker(&db).await;
    for state in ["0A000", "0A000", "26000", "26000"] {
        let log = run_one(&db, "c", state).await;
        assert_eq!(log.status, "error");
        assert_eq!(log.sqlstate.as_deref(), Some(state));
    }
}
