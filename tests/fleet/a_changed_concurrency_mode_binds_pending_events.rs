//! When a channel's concurrency mode changes, the events that are pending follow it.

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;

use crate::steps::{all_ended, ended, notify_with, register};

const ALONE: &str = "CREATE TABLE ran (place bigint GENERATED ALWAYS AS IDENTITY, event bigint);
    CREATE FUNCTION alone() RETURNS void LANGUAGE plpgsql AS $$ BEGIN
        IF NOT pg_try_advisory_xact_lock(99) THEN RAISE EXCEPTION 'not alone'; END IF;
        PERFORM pg_sleep(0.002);
        INSERT INTO ran (event) VALUES (current_setting('pgrelay.event_id')::bigint);
    END $$";

#[tokio::test]
async fn parallel_events_become_serial() {
    let db = Database::with_schema().await;
    db.execute(ALONE).await;
    register(&db, "c", "SELECT alone()", "").await;
    db.execute(
        "SELECT pgrelay.notify('c', i::text) FROM generate_series(1, 300) AS i; \
                SELECT pgrelay.update('c', p_concurrency_mode := 'serial')",
    )
    .await;
    let _processors = [Processor::start(&db).await, Processor::start(&db).await];
    all_ended(&db).await;
    let sql = "SELECT count(*) FROM pgrelay.log WHERE status = 'ok'";
    assert_eq!(db.query_one::<i64>(sql, &[]).await, 300);
    let sql = "SELECT bool_and(r.event = r.n) FROM (SELECT event, row_number() OVER (ORDER BY place) AS n FROM ran) AS r";
    assert!(db.query_one::<bool>(sql, &[]).await, "out of order");
}

#[tokio::test]
async fn serial_events_become_parallel() {
    let db = Database::with_schema().await;
    let gate = db.gate(1).await;
    register(&db, "c", &gate.pass_sql(), "concurrency_mode := 'serial'").await;
    let _processor = Processor::start(&db).await;
    db.execute("SELECT pgrelay.notify_many('c', ARRAY['1', '2', '3', '4'])")
        .await;
    gate.wait_for_arrivals(1).await;
    db.execute("SELECT pgrelay.update('c', p_concurrency_mode := 'parallel')")
        .await;
    gate.wait_for_arrivals(4).await;
    gate.open().await;
    all_ended(&db).await;
}

#[tokio::test]
async fn an_event_that_a_caller_shares_during_the_change_follows_later() {
    let db = Database::with_schema().await;
    db.execute(ALONE).await;
    register(&db, "c", "SELECT alone()", "").await;
    let event = notify_with(&db, "c", "'p', p_deduplicate => true").await;
    let caller = db.connect().await;
    caller
        .batch_execute("BEGIN; SELECT pgrelay.notify('c', 'p', p_deduplicate => true)")
        .await
        .unwrap();
    db.execute("SELECT pgrelay.update('c', p_concurrency_mode := 'serial')")
        .await;
    let sql = "SELECT lane IS NULL FROM pgrelay.queue WHERE id = $1";
    assert!(db.query_one::<bool>(sql, &[&event]).await, "it is shared");
    let _processor = Processor::start(&db).await;
    caller.batch_execute("COMMIT").await.unwrap();
    assert_eq!(ended(&db, event).await, "done");
    let sql = "SELECT lane IS NOT NULL FROM pgrelay.queue WHERE id = $1";
    assert!(db.query_one::<bool>(sql, &[&event]).await);
    let sql = "SELECT count(*) FROM pgrelay.log";
    assert_eq!(db.query_one::<i64>(sql, &[]).await, 1, "one attempt");
}

/// Of notify channels too: the update does not see an event that is not committed yet, so it is met in its old lane.
#[tokio::test]
async fn a_notify_event_enqueued_during_the_change_is_resolved() {
    let db = Database::with_schema().await;
    db.execute("SELECT pgrelay.register('mail', action_type := 'notify')")
        .await;
    let caller = db.connect().await;
    caller.batch_execute("BEGIN").await.unwrap();
    let call = "SELECT pgrelay.notify('mail', '1')";
    let event: i64 = caller.query_one(call, &[]).await.unwrap().get(0);
    db.execute("SELECT pgrelay.update('mail', p_concurrency_mode := 'serial')")
        .await;
    caller.batch_execute("COMMIT").await.unwrap();
    let _processor = Processor::start(&db).await;
    assert_eq!(ended(&db, event).await, "error");
}
