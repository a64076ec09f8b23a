//! A per_payload channel runs events of one payload one at a time, and those of different payloads at once.

use std::time::Duration;

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;
use fleet_tests::wait;

use crate::steps::{all_ended, register};

#[tokio::test]
async fn different_payloads_run_together_and_equal_ones_do_not() {
    let db = Database::with_schema().await;
    let gate = db.gate(1).await;
    let settings = "concurrency_mode := 'per_payload'";
    register(&db, "c", &gate.pass_sql(), settings).await;
    db.execute("SELECT pgrelay.notify_many('c', ARRAY['a', 'a', 'a', 'b', 'b', NULL, NULL])")
        .await;
    let _processors = [Processor::start(&db).await, Processor::start(&db).await];
    gate.wait_for_arrivals(3).await;
    let period = Duration::from_millis(1500);
    wait::while_holding("three events at the gate", period, || async {
        match gate.arrivals().await {
            3 => Ok(()),
            seen => Err(format!("{seen} events")),
        }
    })
    .await;
    gate.open().await;
    all_ended(&db).await;
}

#[tokio::test]
async fn events_of_one_payload_never_meet_and_keep_their_order() {
    let db = Database::with_schema().await;
    db.execute(
        "CREATE TABLE ran (place bigint GENERATED ALWAYS AS IDENTITY, payload text, event bigint);
         CREATE FUNCTION append(p text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
             IF NOT pg_try_advisory_xact_lock(88, p::int) THEN RAISE EXCEPTION 'payload % is running', p; END IF;
             INSERT INTO ran (payload, event) VALUES (p, current_setting('pgrelay.event_id')::bigint);
         END $$",
    )
    .await;
    let settings = "concurrency_mode := 'per_payload'";
    register(&db, "c", "SELECT append($1)", settings).await;
    db.execute("SELECT pgrelay.notify('c', mod(i, 20)::text) FROM generate_series(1, 2000) AS i")
        .await;
    let _processors = [Processor::start(&db).await, Processor::start(&db).await];
    all_ended(&db).await;
    let sql = "SELECT count(*) FROM pgrelay.log WHERE status = 'ok'";
    assert_eq!(db.query_one::<i64>(sql, &[]).await, 2000);
    let sql = "SELECT count(*) FROM (SELECT event, lag(event) OVER (PARTITION BY payload ORDER BY place) AS before FROM ran) AS r \
               WHERE r.before > r.event";
    assert_eq!(db.query_one::<i64>(sql, &[]).await, 0, "out of order");
}
