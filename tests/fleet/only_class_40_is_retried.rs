//! Class 40 is transient, wherever it comes from; every other failure of an action is permanent and burns no retry.

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;

use crate::steps::{ended, log_of, notify, only_log_row, register, run_one};

const RAISE: &str = "CREATE FUNCTION raise_it(p_state text) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN IF p_state <> '' THEN RAISE EXCEPTION 'raised %', p_state USING ERRCODE = p_state; END IF; END $$";

#[tokio::test]
async fn a_success_on_the_third_attempt_ends_the_chain() {
    let db = Database::with_schema().await;
    db.execute("CREATE SEQUENCE tries; CREATE TABLE ran (payload text);
        CREATE FUNCTION third_time(p text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
            INSERT INTO ran VALUES (p);
            IF nextval('tries') < 3 THEN RAISE EXCEPTION 'a deadlock' USING ERRCODE = '40P01'; END IF;
        END $$")
        .await;
    register(&db, "c", "SELECT third_time($1)", "max_retries := 10").await;
    let _processor = Processor::start(&db).await;
    let mut id = notify(&db, "c", "x").await;
    for attempt in 1..=2 {
        assert_eq!(ended(&db, id).await, "done");
        let log = log_of(&db, id).await;
        assert_eq!(log.len(), 1, "{log:?}");
        assert_eq!(
            (log[0].status.as_str(), log[0].attempt),
            ("retry_scheduled", attempt)
        );
        assert_eq!(log[0].sqlstate.as_deref(), Some("40P01"));
        id = log[0].retry_queue_id.unwrap();
        db.execute(&format!(
            "UPDATE pgrelay.queue SET run_at = now() WHERE id = {id}"
        ))
        .await;
    }
    let last = only_log_row(&db, id).await;
    assert_eq!(
        (last.status.as_str(), last.attempt, last.error),
        ("ok", 3, None)
    );
    let sql = "SELECT count(*) FROM ran";
    let effects: i64 = db.query_one(sql, &[]).await;
    assert_eq!(effects, 1, "failed attempts leave no effect");
}

#[tokio::test]
async fn without_retries_the_first_conflict_exceeds_them() {
    let db = Database::with_schema().await;
    db.execute(RAISE).await;
    register(&db, "c", "SELECT raise_it($1)", "").await;
    let _processor = Processor::start(&db).await;
    for state in ["40000", "40001", "40002", "40003", "40P01"] {
        let log = run_one(&db, "c", state).await;
        assert_eq!(log.status, "max_retries_exceeded", "{log:?}");
        assert_eq!(log.sqlstate.as_deref(), Some(state));
        let id = log.queue_id;
        assert_eq!(ended(&db, id).await, "error");
    }
}

#[tokio::test]
async fn a_violated_constraint_is_an_error_at_once() {
    let db = Database::with_schema().await;
    db.execute("CREATE TABLE once (id int PRIMARY KEY)").await;
    let action = "INSERT INTO once VALUES ($1)";
    register(&db, "c", action, "max_retries := 5").await;
    let _processor = Processor::start(&db).await;
    assert_eq!(run_one(&db, "c", "1").await.status, "ok");
    let log = run_one(&db, "c", "1").await;
    assert_eq!(log.status, "error");
    assert_eq!(log.sqlstate.as_deref(), Some("23505"));
    assert_eq!(log.retry_queue_id, None);
    let error = log.error.unwrap();
    assert!(error.contains("once_pkey"), "{error}");
    assert!(error.contains("(1) already exists"), "{error}");
}

#[tokio::test]
async fn a_violated_deferred_constraint_is_an_error_at_once() {
    let db = Database::with_schema().await;
    db.execute(
        "CREATE TABLE parent (id int PRIMARY KEY);
        CREATE TABLE child (id int REFERENCES parent DEFERRABLE INITIALLY DEFERRED);
        CREATE TABLE once (id int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED)",
    )
    .await;
    register(
        &db,
        "child",
        "INSERT INTO child VALUES ($1)",
        "max_retries := 5",
    )
    .await;
    let twice = "INSERT INTO once SELECT $1::int FROM generate_series(1, 2)";
    register(&db, "once", twice, "max_retries := 5").await;
    let _processor = Processor::start(&db).await;
    for (channel, state) in [("child", "23503"), ("once", "23505")] {
        let log = run_one(&db, channel, "1").await;
        assert_eq!(log.status, "error", "{channel}: {log:?}");
        assert_eq!(log.sqlstate.as_deref(), Some(state));
    }
    let sql = "SELECT count(*) FROM pgrelay.queue";
    assert_eq!(db.query_one::<i64>(sql, &[]).await, 2, "no retry rows");
}

#[tokio::test]
async fn user_code_that_cries_shutdown_disturbs_nobody() {
    let db = Database::with_schema().await;
    db.execute(RAISE).await;
    db.execute("CREATE TABLE pids (pid int)").await;
    register(&db, "raise", "SELECT raise_it($1)", "max_retries := 5").await;
    register(&db, "pid", "INSERT INTO pids SELECT pg_backend_pid()", "").await;
    let _processor = Processor::with(&db, |config| config.set("SQL_WORKERS", 1)).await;
    run_one(&db, "pid", "").await;
    for state in [
        "57P01", "57P02", "57P03", "25006", "08006", "08003", "53300", "57014", "0A000", "26000",
        "XX000",
    ] {
        let log = run_one(&db, "raise", state).await;
        assert_eq!(log.status, "error", "{log:?}");
        assert_eq!(log.sqlstate.as_deref(), Some(state));
        run_one(&db, "pid", "").await;
    }
    let sessions: i64 = db
        .query_one("SELECT count(DISTINCT pid) FROM pids", &[])
        .await;
    assert_eq!(sessions, 1, "the worker kept its session");
    let sql = "SELECT count(*) FROM pgrelay.crashes";
    assert_eq!(db.query_one::<i64>(sql, &[]).await, 0, "no crash marks");
}
