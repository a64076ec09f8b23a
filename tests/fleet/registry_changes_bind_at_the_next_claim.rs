//! `register`, `update` and `unregister` bind at the next claim; nobody has to ask for a reload.

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;

use crate::steps::{ended, notify, only_log_row, register, run_one};

#[tokio::test]
async fn a_changed_action_runs_the_next_event() {
    let db = Database::with_schema().await;
    db.execute("CREATE TABLE ran (number int, payload text)")
        .await;
    register(&db, "c", "INSERT INTO ran VALUES (0, $1)", "").await;
    let _processor = Processor::start(&db).await;
    for number in 1..=5 {
        run_one(&db, "c", "").await;
        db.execute(&format!(
            "SELECT pgrelay.update('c', p_action_sql := 'INSERT INTO ran VALUES ({number}, $1)')"
        ))
        .await;
    }
    run_one(&db, "c", "").await;
    let sql = "SELECT array_agg(number) FROM (SELECT number FROM ran ORDER BY number) AS r";
    let numbers: Vec<i32> = db.query_one(sql, &[]).await;
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn a_channel_can_be_used_in_the_transaction_that_registers_it() {
    let db = Database::with_schema().await;
    let _processor = Processor::start(&db).await;
    db.execute("BEGIN; SELECT pgrelay.register('new', 'SELECT $1'), pgrelay.notify('new'); COMMIT")
        .await;
    assert_eq!(ended(&db, 1).await, "done");
}

#[tokio::test]
async fn an_event_of_a_channel_that_was_registered_again_runs_the_new_action() {
    let db = Database::with_schema().await;
    db.execute("CREATE TABLE ran (payload text)").await;
    register(&db, "c", "SELECT 1 / 0", "").await;
    let id = notify(&db, "c", "kept").await;
    db.execute("SELECT pgrelay.unregister('c')").await;
    register(&db, "c", "INSERT INTO ran VALUES ($1)", "").await;
    let _processor = Processor::start(&db).await;
    assert_eq!(only_log_row(&db, id).await.status, "ok");
}

#[tokio::test]
async fn a_raised_retry_limit_binds_for_the_event_at_hand() {
    let db = Database::with_schema().await;
    db.execute("CREATE FUNCTION fail() RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001'; END $$")
        .await;
    register(&db, "c", "SELECT fail()", "").await;
    let _processor = Processor::start(&db).await;
    assert_eq!(run_one(&db, "c", "").await.status, "max_retries_exceeded");
    db.execute("SELECT pgrelay.update('c', p_max_retries := 5)")
        .await;
    assert_eq!(run_one(&db, "c", "").await.status, "retry_scheduled");
}

#[tokio::test]
async fn null_leaves_a_setting_as_it_is() {
    let db = Database::with_schema().await;
    let settings = "max_retries := 7, concurrency_mode := 'serial', node_restricted := true, \
                    action_timeout := '3 s', description := 'about it'";
    register(&db, "c", "SELECT $1", settings).await;
    db.execute("SELECT pgrelay.update('c', p_batch := false)")
        .await;
    let sql = "SELECT concat_ws('|', action_sql, max_retries, concurrency_mode, enabled, node_restricted, action_timeout, batch, description) \
               FROM pgrelay.channels";
    let seen: String = db.query_one(sql, &[]).await;
    assert_eq!(seen, "SELECT $1|7|serial|t|t|00:00:03|f|about it");
}
