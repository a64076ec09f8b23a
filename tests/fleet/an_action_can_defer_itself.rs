//! An action may enqueue its own channel and payload again, deduplicated: the running event is no twin of it.

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;

use crate::steps::{all_ended, notify, register};

/// Runs three times for each payload: the first two runs call for the next.
const DEFER: &str = "CREATE TABLE ran (payload text);
    CREATE FUNCTION defer(p text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO ran VALUES (p);
        IF (SELECT count(*) FROM ran AS r WHERE r.payload = p) < 3 THEN
            PERFORM pgrelay.notify('c', p, run_at => clock_timestamp() + interval '100 ms', p_deduplicate => true);
        END IF;
    END $$";

#[tokio::test]
async fn a_single_event_runs_again_when_it_asked_to() {
    let db = Database::with_schema().await;
    db.execute(DEFER).await;
    register(&db, "c", "SELECT defer($1)", "").await;
    db.execute("SELECT pgrelay.update('c', p_batch := false)")
        .await;
    let _processor = Processor::start(&db).await;
    notify(&db, "c", "one").await;
    all_ended(&db).await;
    let sql = "SELECT count(*) FROM ran";
    assert_eq!(db.query_one::<i64>(sql, &[]).await, 3);
}

#[tokio::test]
async fn events_of_a_batch_run_again_when_they_asked_to() {
    let db = Database::with_schema().await;
    db.execute(DEFER).await;
    register(&db, "c", "SELECT defer($1)", "").await;
    let _processor = Processor::with(&db, |config| config.set("SQL_WORKERS", 1)).await;
    db.execute("SELECT pgrelay.notify('c', i::text, p_deduplicate => true) FROM generate_series(1, 300) AS i")
        .await;
    all_ended(&db).await;
    let sql = "SELECT count(*) FROM (SELECT FROM ran GROUP BY payload HAVING count(*) = 3) AS r";
    assert_eq!(db.query_one::<i64>(sql, &[]).await, 300);
    let sql = "SELECT max(n) FROM (SELECT count(*) AS n FROM ran GROUP BY xmin::text) AS r";
    let largest: i64 = db.query_one(sql, &[]).await;
    assert!(largest > 1, "no batch was formed, so nothing was shown");
}

#[tokio::test]
async fn an_event_of_the_same_batch_is_no_twin_either() {
    let db = Database::with_schema().await;
    // Each event calls for its successor's payload, which the same batch may hold, run already or not.
    db.execute(
        "CREATE TABLE ran (payload int, called bigint);
         CREATE FUNCTION call_next(p int) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
             INSERT INTO ran VALUES (p, CASE WHEN p < 1000 THEN
                 pgrelay.notify('c', (mod(p, 200) + 1000)::text, p_deduplicate => true) END);
         END $$",
    )
    .await;
    register(&db, "c", "SELECT call_next($1)", "").await;
    let _processor = Processor::with(&db, |config| config.set("SQL_WORKERS", 1)).await;
    db.execute("SELECT pgrelay.notify('c', i::text, p_deduplicate => true) FROM generate_series(0, 399) AS i; \
                SELECT pgrelay.notify('c', (i + 1000)::text, p_deduplicate => true) FROM generate_series(0, 199) AS i")
        .await;
    all_ended(&db).await;
    // Every call is served by a run that comes after it: the effect of the serving run is in the table behind the call.
    let sql = "SELECT count(*) FROM ran AS r WHERE r.called IS NOT NULL AND NOT EXISTS (
                   SELECT FROM pgrelay.queue AS q WHERE q.id = r.called AND q.status = 'done')";
    assert_eq!(db.query_one::<i64>(sql, &[]).await, 0);
    let sql = "SELECT count(DISTINCT payload) FROM ran WHERE payload >= 1000";
    assert_eq!(db.query_one::<i64>(sql, &[]).await, 200);
    let sql = "SELECT count(*) FROM pgrelay.log AS l WHERE l.status <> 'ok'";
    assert_eq!(db.query_one::<i64>(sql, &[]).await, 0);
}
