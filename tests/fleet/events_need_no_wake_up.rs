//! The table is the truth: without a single NOTIFY an event waits a second at most, and a lost listener comes back.

use std::time::Duration;

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;
use fleet_tests::wait;

use crate::steps::{ended, notify, register};

/// Takes every NOTIFY out of the queue's functions.
const SILENCE: &str = r"DO $$ DECLARE f oid; BEGIN
        FOR f IN SELECT p.oid FROM pg_proc AS p WHERE p.pronamespace = 'pgrelay'::regnamespace AND p.prosrc LIKE '%pg_notify%' LOOP
            EXECUTE regexp_replace(pg_get_functiondef(f), 'PERFORM pg_notify\([^;]*\)', 'NULL', 'g');
        END LOOP;
        IF EXISTS (SELECT FROM pg_proc AS p WHERE p.pronamespace = 'pgrelay'::regnamespace AND p.prosrc LIKE '%PERFORM pg_notify%') THEN
            RAISE EXCEPTION 'a NOTIFY is left';
        END IF;
    END $$";

/// Seconds from the call to the start of the attempt, for each event.
async fn latencies(db: &Database) -> Vec<f64> {
    let sql = "SELECT extract(epoch FROM l.started_at - q.created_at)::float8 FROM pgrelay.log AS l \
               JOIN pgrelay.queue AS q ON q.id = l.queue_id WHERE q.channel = 'c' ORDER BY q.id";
    let rows = db.rows(sql, &[]).await;
    rows.iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn measured_fifty_events_without_notify_wait_a_second_at_most() {
    let db = Database::with_schema().await;
    db.execute(SILENCE).await;
    register(&db, "c", "SELECT $1", "").await;
    let _processor = Processor::start(&db).await;
    for number in 0..50_u64 {
        let id = notify(&db, "c", "").await;
        assert_eq!(ended(&db, id).await, "done");
        // The longer the silence, the longer the pause between two looks: 2.7 s are past the last doubling.
        let silence = if number % 17 == 0 { 2_700 } else { number * 3 };
        tokio::time::sleep(Duration::from_millis(silence)).await;
    }
    let latencies = latencies(&db).await;
    assert_eq!(latencies.len(), 50);
    let longest = latencies.iter().copied().fold(0.0, f64::max);
    assert!(longest < 1.5, "an event waited {longest} s: {latencies:?}");
}

#[tokio::test]
async fn measured_wake_ups_work_again_after_ten_lost_listeners() {
    let db = Database::with_schema().await;
    register(&db, "c", "SELECT $1", "").await;
    let processor = Processor::start(&db).await;
    for _ in 0..10 {
        let before = listener(&db, 0).await;
        db.execute(&format!("SELECT pg_terminate_backend({before})"))
            .await;
        let id = notify(&db, "c", "").await;
        assert_eq!(ended(&db, id).await, "done");
        listener(&db, before).await;
    }
    db.execute("DELETE FROM pgrelay.log").await;
    for _ in 0..15 {
        // By looking alone, with pauses that double from 5 ms on, an event of now would be found at 635 ms.
        tokio::time::sleep(Duration::from_millis(380)).await;
        let id = notify(&db, "c", "").await;
        assert_eq!(ended(&db, id).await, "done");
    }
    let mut latencies = latencies(&db).await;
    latencies.sort_by(f64::total_cmp);
    assert_eq!(latencies.len(), 15);
    assert!(
        latencies[7] < 0.1,
        "median {} s: {latencies:?}",
        latencies[7]
    );
    drop(processor);
}

/// The backend of the listener, once it listens and is not `before`.
async fn listener(db: &Database, before: i32) -> i32 {
    let sql = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() \
               AND application_name = 'pg-relay-processor listener' AND pid <> $1 AND state = 'idle'";
    wait::until("a new listener", wait::SOON, || async {
        db.query_opt::<i32>(sql, &[&before]).await
    })
    .await
}
