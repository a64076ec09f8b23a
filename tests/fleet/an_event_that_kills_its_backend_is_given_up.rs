//! An event whose action ends its own backend leaves no trace in its transaction; after three crashes it is resolved `error`, and its neighbours go on.

use std::ops::RangeInclusive;

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;

use crate::steps::{all_ended, log_of, register};

/// A sequence does not roll back, so it counts the executions which left nothing else behind.
const POISON: &str = "CREATE SEQUENCE executions;
    CREATE TABLE effects (id int);
    CREATE FUNCTION work(p int) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        IF p = 500 THEN
            PERFORM nextval('executions'), pg_terminate_backend(pg_backend_pid());
            PERFORM pg_sleep(5);
        END IF;
        INSERT INTO effects VALUES (p);
    END $$";

#[tokio::test]
async fn after_three_executions_and_perhaps_one_in_a_batch() {
    three_crashes_end_it(1, "", 3..=4).await;
}

#[tokio::test]
async fn in_a_serial_channel_after_exactly_three() {
    three_crashes_end_it(1, "concurrency_mode := 'serial'", 3..=3).await;
}

/// A mark takes a moment, in which another worker may claim the event: at most once in a batch and once alone for each of the other three.
#[tokio::test]
async fn although_four_workers_may_meet_it_at_once() {
    three_crashes_end_it(4, "", 3..=5).await;
}

async fn three_crashes_end_it(workers: u16, settings: &str, expected: RangeInclusive<i64>) {
    let db = Database::with_schema().await;
    db.execute(POISON).await;
    register(&db, "c", "SELECT work($1)", settings).await;
    // In one transaction, so that the poison is in the middle of a backlog that is claimed in batches.
    db.execute("SELECT pgrelay.notify('c', n::text) FROM generate_series(1, 1001) AS n")
        .await;
    let _processor = Processor::with(&db, |config| config.set("SQL_WORKERS", workers)).await;
    all_ended(&db).await;

    let poison: i64 = db
        .query_one("SELECT id FROM pgrelay.queue WHERE payload = '500'", &[])
        .await;
    let status: String = db
        .query_one("SELECT status FROM pgrelay.queue WHERE id = $1", &[&poison])
        .await;
    assert_eq!(status, "error");
    let log = log_of(&db, poison).await;
    assert_eq!(log.len(), 1, "{log:?}");
    assert_eq!(log[0].status, "error");
    let error = log[0].error.as_deref().unwrap_or_default();
    assert!(
        error.starts_with("the database session was lost ")
            && error.ends_with(" times while this event's action ran"),
        "{error}"
    );
    let executions: i64 = db.query_one("SELECT last_value FROM executions", &[]).await;
    assert!(
        expected.contains(&executions),
        "{executions} executions, expected {expected:?}"
    );

    let rows = db
        .rows(
            "SELECT count(*), count(DISTINCT id), count(*) FILTER (WHERE id = 500) FROM effects",
            &[],
        )
        .await;
    let counts: (i64, i64, i64) = (rows[0].get(0), rows[0].get(1), rows[0].get(2));
    assert_eq!(
        counts,
        (1000, 1000, 0),
        "effects, different ones, and the poison's"
    );
    let done: i64 = db
        .query_one(
            "SELECT count(*) FROM pgrelay.queue WHERE status = 'done'",
            &[],
        )
        .await;
    assert_eq!(done, 1000);
}
