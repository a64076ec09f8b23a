//! A failure of SQLSTATE class 40 is tried again 3, 5, 10 and 10 seconds after the failed attempt ended, as a chain of rows.

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;
use fleet_tests::wait;

use crate::steps::{ended, log_of, notify, register};

const ALWAYS_CONFLICTS: &str = "CREATE FUNCTION conflict(p text) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_sleep(0.6); RAISE EXCEPTION 'no luck with %', p USING ERRCODE = '40001'; END $$";

#[tokio::test]
async fn three_retries_make_four_attempts_and_then_the_limit_is_exceeded() {
    follow_the_chain(3, &[3.0, 5.0, 10.0]).await;
}

#[tokio::test]
async fn every_retry_from_the_third_on_waits_ten_seconds() {
    follow_the_chain(5, &[3.0, 5.0, 10.0, 10.0, 10.0]).await;
}

async fn follow_the_chain(max_retries: i32, delays: &[f64]) {
    let db = Database::with_schema().await;
    db.execute(ALWAYS_CONFLICTS).await;
    let settings = format!("max_retries := {max_retries}");
    register(&db, "c", "SELECT conflict($1)", &settings).await;
    let _processor = Processor::start(&db).await;
    let mut id = notify(&db, "c", "me").await;
    let mut last_log_id = 0;
    for (place, delay) in delays.iter().enumerate() {
        let attempt = i32::try_from(place + 1).expect("few attempts");
        id = check_retry(&db, id, attempt, *delay, &mut last_log_id).await;
    }
    assert_eq!(ended(&db, id).await, "error");
    let last = log_of(&db, id).await;
    assert_eq!(last.len(), 1, "{last:?}");
    assert_eq!(last[0].status, "max_retries_exceeded");
    assert_eq!(last[0].attempt, max_retries + 1);
    assert_eq!(last[0].sqlstate.as_deref(), Some("40001"));
    assert_eq!(last[0].error.as_deref(), Some("no luck with me"));
    assert_eq!(last[0].retry_queue_id, None);
    let sql = "SELECT count(*) FROM pgrelay.queue";
    let rows = i64::from(max_retries) + 1;
    assert_eq!(db.query_one::<i64>(sql, &[]).await, rows);
}

/// Checks the failed attempt of event `id`, makes its retry due, and gives the retry's id.
async fn check_retry(
    db: &Database,
    id: i64,
    attempt: i32,
    delay: f64,
    last_log_id: &mut i64,
) -> i64 {
    assert_eq!(
        ended(db, id).await,
        "done",
        "a row that a retry replaced is done"
    );
    let sql = "SELECT l.id AS log_id, l.status, l.attempt, l.sqlstate, l.error, l.retry_queue_id, l.elapsed_ms, \
               r.parent_id, r.retry_count, r.channel, r.payload, \
               extract(epoch FROM r.run_at - l.started_at)::float8 - l.elapsed_ms / 1000 AS pause \
               FROM pgrelay.log AS l JOIN pgrelay.queue AS r ON r.id = l.retry_queue_id WHERE l.queue_id = $1";
    let rows = db.rows(sql, &[&id]).await;
    assert_eq!(rows.len(), 1, "one log row with a retry for event {id}");
    let row = &rows[0];
    assert_eq!(row.get::<_, String>("status"), "retry_scheduled");
    assert_eq!(row.get::<_, i32>("attempt"), attempt);
    assert_eq!(row.get::<_, String>("sqlstate"), "40001");
    assert_eq!(row.get::<_, String>("error"), "no luck with me");
    assert_eq!(row.get::<_, i64>("parent_id"), id);
    assert_eq!(row.get::<_, i32>("retry_count"), attempt);
    assert_eq!(row.get::<_, String>("channel"), "c");
    assert_eq!(row.get::<_, String>("payload"), "me");
    let elapsed: f64 = row.get("elapsed_ms");
    assert!(
        (590.0..5000.0).contains(&elapsed),
        "the action slept 600 ms, logged are {elapsed}"
    );
    let pause: f64 = row.get("pause");
    assert!(
        (delay - 0.1..delay + 1.5).contains(&pause),
        "attempt {attempt} ended {pause} s before its retry is due, expected {delay}"
    );
    let log_id: i64 = row.get("log_id");
    assert!(log_id > *last_log_id, "log ids grow along the chain");
    *last_log_id = log_id;
    let retry: i64 = row.get("retry_queue_id");
    db.execute(&format!(
        "UPDATE pgrelay.queue SET run_at = now() WHERE id = {retry}"
    ))
    .await;
    retry
}

#[tokio::test]
async fn a_retry_is_not_run_before_it_is_due() {
    let db = Database::with_schema().await;
    db.execute(
        "CREATE SEQUENCE tries; CREATE FUNCTION fail_first() RETURNS void LANGUAGE plpgsql AS $$
        BEGIN IF nextval('tries') = 1 THEN RAISE EXCEPTION USING ERRCODE = '40001'; END IF; END $$",
    )
    .await;
    register(&db, "c", "SELECT fail_first()", "max_retries := 1").await;
    let _processor = Processor::start(&db).await;
    let id = notify(&db, "c", "").await;
    ended(&db, id).await;
    let retry = log_of(&db, id).await[0].retry_queue_id.unwrap();
    assert_eq!(ended(&db, retry).await, "done");
    let sql = "SELECT extract(epoch FROM b.started_at - a.started_at)::float8 FROM pgrelay.log AS a, pgrelay.log AS b \
               WHERE a.queue_id = $1 AND b.queue_id = $2";
    let apart: f64 = db.query_one(sql, &[&id, &retry]).await;
    assert!(
        (2.9..wait::SOON.as_secs_f64()).contains(&apart),
        "attempts {apart} s apart"
    );
}
