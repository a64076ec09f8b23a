//! Callers that overlap without a pause cannot keep an event from being claimed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;
use fleet_tests::wait;
use tokio::task::JoinSet;

use crate::steps::{all_ended, register};

const CALLERS: usize = 16;
const PERIOD: Duration = Duration::from_secs(6);

#[tokio::test]
async fn measured_sixteen_continuous_callers_do_not_keep_an_event_waiting() {
    let db = Database::with_schema().await;
    db.execute(
        "CREATE TABLE work (id bigint GENERATED ALWAYS AS IDENTITY); CREATE TABLE seen (id bigint)",
    )
    .await;
    let action = "INSERT INTO seen SELECT w.id FROM work AS w, (SELECT $1) AS p WHERE w.id > coalesce((SELECT max(s.id) - 1000 FROM seen AS s), 0) \
                  AND NOT EXISTS (SELECT FROM seen AS s WHERE s.id = w.id)";
    register(&db, "c", action, "").await;
    let _processor = Processor::start(&db).await;
    let stop = Arc::new(AtomicBool::new(false));
    let callers = start_callers(&db, &stop).await;
    let mut oldest = 0.0_f64;
    let started = Instant::now();
    while started.elapsed() < PERIOD {
        let sql = "SELECT coalesce(max(extract(epoch FROM clock_timestamp() - q.run_at)), 0)::float8 \
                   FROM pgrelay.queue AS q WHERE q.status = 'pending'";
        let age: f64 = db.query_one(sql, &[]).await;
        oldest = oldest.max(age);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    stop.store(true, Ordering::Relaxed);
    let calls: Vec<u32> = callers.join_all().await;
    assert!(oldest < 3.0, "an event waited {oldest} s");
    let calls: u32 = calls.iter().sum();
    // 16 callers of 10 ms each: far fewer calls would not overlap all the time.
    assert!(calls > 1_000, "only {calls} calls");
    all_ended(&db).await;
    let sql =
        "SELECT count(*) FROM work AS w WHERE NOT EXISTS (SELECT FROM seen AS s WHERE s.id = w.id)";
    assert_eq!(db.query_one::<i64>(sql, &[]).await, 0, "lost calls");
    let sql = "SELECT count(*) FROM pgrelay.queue";
    let events: i64 = db.query_one(sql, &[]).await;
    assert!(events < i64::from(calls), "no call was suppressed");
}

/// What a caller committed runs although another one, which shares its event, stays open.
#[tokio::test]
async fn one_that_stays_open_does_not_hold_up_those_who_have_committed() {
    let db = Database::with_schema().await;
    db.execute("CREATE TABLE work (id bigint); CREATE TABLE seen (id bigint)")
        .await;
    for (channel, settings) in [("c", ""), ("s", "concurrency_mode := 'serial'")] {
        let action = "INSERT INTO seen SELECT w.id FROM work AS w, (SELECT $1) AS p";
        register(&db, channel, action, settings).await;
        db.execute("DELETE FROM work; DELETE FROM seen; SELECT pgrelay.pause_to('infinity')")
            .await;
        let call = format!("SELECT pgrelay.notify('{channel}', 'p', p_deduplicate => true)");
        let event: i64 = db.query_one(&call, &[]).await;
        db.execute("INSERT INTO work VALUES (1)").await;
        let open = db.connect().await;
        open.batch_execute("BEGIN; INSERT INTO work VALUES (2)")
            .await
            .unwrap();
        let shared: i64 = open.query_one(&call, &[]).await.unwrap().get(0);
        assert_eq!(shared, event, "the open caller shares the event");
        let _processor = Processor::start(&db).await;
        db.execute("SELECT pgrelay.resume()").await;
        let sql = "SELECT count(*) > 0 FROM seen WHERE id = 1";
        db.until_equals(sql, true, wait::SOON).await;
        let sql = "SELECT status FROM pgrelay.queue WHERE id = $1";
        let status: String = db.query_one(sql, &[&event]).await;
        assert_eq!(status, "pending", "its own event waits for the open caller");
        open.batch_execute("COMMIT").await.unwrap();
        let sql = "SELECT count(*) > 0 FROM seen WHERE id = 2";
        db.until_equals(sql, true, wait::SOON).await;
        all_ended(&db).await;
    }
}

async fn start_callers(db: &Database, stop: &Arc<AtomicBool>) -> JoinSet<u32> {
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        let (session, stop) = (db.connect().await, Arc::clone(stop));
        callers.spawn(async move {
            let mut calls = 0;
            while !stop.load(Ordering::Relaxed) {
                let sql = "BEGIN; INSERT INTO work DEFAULT VALUES; SELECT pgrelay.notify('c', 'p', p_deduplicate => true); \
                           SELECT pg_sleep(0.01); COMMIT";
                session.batch_execute(sql).await.expect("a deduplicated call");
                calls += 1;
            }
            calls
        });
    }
    callers
}
