//! A serial channel runs one event at a time over the whole fleet, in the order of `run_at` and id.

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;
use fleet_tests::wait;

use crate::steps::{all_ended, ended, log_of, notify, notify_with, register};

/// Notes the order of runs and what each saw of the one before it; two at a time would fail at the lock.
const APPEND: &str = "CREATE TABLE ran (place bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, event bigint, before bigint);
    CREATE FUNCTION append() RETURNS void LANGUAGE plpgsql AS $$ BEGIN
        IF NOT pg_try_advisory_xact_lock(77) THEN RAISE EXCEPTION 'another event of the lane is running'; END IF;
        INSERT INTO ran (event, before)
        VALUES (current_setting('pgrelay.event_id')::bigint, (SELECT max(r.place) FROM ran AS r));
    END $$";

const OUT_OF_ORDER: &str = "SELECT count(*) FROM (
        SELECT r.place, r.before, lag(r.place) OVER w AS previous, r.event,
               nth_value(q.id, 1) OVER (PARTITION BY 1 ROWS BETWEEN CURRENT ROW AND CURRENT ROW) AS id
        FROM (SELECT *, row_number() OVER (ORDER BY place) AS n FROM ran) AS r
        JOIN (SELECT id, row_number() OVER (ORDER BY run_at, id) AS n FROM pgrelay.queue WHERE channel = 'serial') AS q USING (n)
        WINDOW w AS (ORDER BY r.place)
    ) AS o WHERE o.id <> o.event OR o.before IS DISTINCT FROM o.previous";

#[tokio::test]
async fn ten_thousand_events_run_in_order_under_sixteen_claimers() {
    const EVENTS: i64 = 10_000;
    let db = Database::with_schema().await;
    db.execute(APPEND).await;
    register(
        &db,
        "serial",
        "SELECT append()",
        "concurrency_mode := 'serial'",
    )
    .await;
    register(&db, "parallel", "SELECT $1", "").await;
    db.execute(&format!(
        "SELECT pgrelay.notify('serial', i::text, run_at => now() - random() * interval '1 hour') FROM generate_series(1, {EVENTS}) AS i"
    ))
    .await;
    let mut processors = Vec::new();
    for _ in 0..4 {
        processors.push(Processor::with(&db, |config| config.set("SQL_WORKERS", 4)).await);
    }
    // The backlog slows nobody else.
    let beside = notify(&db, "parallel", "").await;
    assert_eq!(ended(&db, beside).await, "done");
    let sql = "SELECT count(*) FROM pgrelay.queue WHERE status = 'pending'";
    let left: i64 = db.query_one(sql, &[]).await;
    assert!(
        left > 0,
        "the serial channel was done first, so nothing was shown"
    );
    db.until_equals(sql, 0_i64, wait::SOON * 6).await;
    let sql = "SELECT count(*) FROM pgrelay.log WHERE status = 'ok' AND channel = 'serial'";
    assert_eq!(db.query_one::<i64>(sql, &[]).await, EVENTS);
    assert_eq!(
        db.query_one::<i64>("SELECT count(*) FROM ran", &[]).await,
        EVENTS
    );
    assert_eq!(
        db.query_one::<i64>(OUT_OF_ORDER, &[]).await,
        0,
        "out of order"
    );
    let sql = "SELECT count(DISTINCT processor) FROM pgrelay.log WHERE channel = 'serial'";
    let served: i64 = db.query_one(sql, &[]).await;
    assert!(
        served > 1,
        "one Processor ran all of them, so nothing was shown"
    );
}

#[tokio::test]
async fn one_event_of_each_serial_channel_runs_at_a_time() {
    let db = Database::with_schema().await;
    let gate = db.gate(1).await;
    for channel in ["a", "b"] {
        register(
            &db,
            channel,
            &gate.pass_sql(),
            "concurrency_mode := 'serial'",
        )
        .await;
        let sql = format!("SELECT pgrelay.notify_many('{channel}', ARRAY['1', '2', '3'])");
        db.execute(&sql).await;
    }
    let _processors = [Processor::start(&db).await, Processor::start(&db).await];
    gate.wait_for_arrivals(2).await;
    let period = std::time::Duration::from_millis(1500);
    wait::while_holding("two events at the gate", period, || async {
        match gate.arrivals().await {
            2 => Ok(()),
            seen => Err(format!("{seen} events")),
        }
    })
    .await;
    gate.open().await;
    all_ended(&db).await;
}

#[tokio::test]
async fn an_earlier_event_that_comes_late_waits_for_the_running_one() {
    let db = Database::with_schema().await;
    let gate = db.gate(1).await;
    for mode in ["serial", "per_payload"] {
        let settings = format!("concurrency_mode := '{mode}'");
        register(&db, mode, &gate.pass_sql(), &settings).await;
        notify(&db, mode, "p").await;
    }
    let _processors = [Processor::start(&db).await, Processor::start(&db).await];
    gate.wait_for_arrivals(2).await;
    for mode in ["serial", "per_payload"] {
        notify_with(&db, mode, "'p', run_at => now() - interval '1 hour'").await;
    }
    let period = std::time::Duration::from_millis(1500);
    wait::while_holding("two events at the gate", period, || async {
        match gate.arrivals().await {
            2 => Ok(()),
            seen => Err(format!("{seen} events")),
        }
    })
    .await;
    gate.open().await;
    all_ended(&db).await;
}

#[tokio::test]
async fn a_retry_takes_its_place_by_its_own_time_and_blocks_nobody() {
    let db = Database::with_schema().await;
    db.execute(
        "CREATE TABLE ran (place bigint GENERATED ALWAYS AS IDENTITY, payload text);
         CREATE FUNCTION fail_first(p text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
             IF p = 'fails' AND current_setting('pgrelay.event_id') = '1' THEN
                 RAISE EXCEPTION USING ERRCODE = '40001';
             END IF;
             INSERT INTO ran (payload) VALUES (p);
         END $$",
    )
    .await;
    let settings = "concurrency_mode := 'serial', max_retries := 1";
    register(&db, "c", "SELECT fail_first($1)", settings).await;
    db.execute("SELECT pgrelay.notify_many('c', ARRAY['fails', 'second', 'third'])")
        .await;
    notify_with(&db, "c", "'tomorrow', run_at => now() + interval '1 day'").await;
    let _processor = Processor::start(&db).await;
    assert_eq!(ended(&db, 3).await, "done");
    let retry = log_of(&db, 1).await[0].retry_queue_id.unwrap();
    let sql = "SELECT string_agg(payload, ' ' ORDER BY place) FROM ran";
    assert_eq!(db.query_one::<String>(sql, &[]).await, "second third");
    assert_eq!(ended(&db, retry).await, "done");
    assert_eq!(db.query_one::<String>(sql, &[]).await, "second third fails");
}
