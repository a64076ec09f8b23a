//! Finished events and log rows go when their retention ends; pending events stay, however old they are.

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;
use fleet_tests::wait;

/// Events that finished 3 days and 1 hour ago, one of each end, one pending since 3 days, and a log row of each age.
const SOME_HISTORY: &str = "
    SELECT pgrelay.register('c', 'SELECT 1');
    INSERT INTO pgrelay.queue (channel, action_type, twin_key, payload, status, run_at, created_at, finished_at)
    SELECT 'c', 'sql', 0, age || ' ' || status, status, now() - age::interval, now() - age::interval, now() - age::interval
    FROM unnest(ARRAY['3 days', '1 hour']) AS age, unnest(ARRAY['done', 'error', 'expired', 'invalid']) AS status
    ORDER BY age::interval DESC;
    INSERT INTO pgrelay.queue (channel, action_type, twin_key, payload, run_at, created_at)
    VALUES ('c', 'sql', 0, 'pending', now() + interval '1 day', now() - interval '3 days');
    INSERT INTO pgrelay.log (queue_id, started_at, elapsed_ms, attempt, status, channel)
    SELECT 1, now() - age::interval, 1, 1, 'ok', 'c' FROM unnest(ARRAY['9 days', '3 days', '1 hour']) AS age";

#[tokio::test]
async fn and_nothing_that_is_pending_or_young() {
    let db = Database::with_schema().await;
    db.execute(SOME_HISTORY).await;
    db.execute("SELECT pgrelay.set_retention('1 day', '5 days')")
        .await;
    // The first round of pruning is at the start.
    let mut processor = Processor::start(&db).await;
    processor
        .wait_for_log(
            "pruned 4 finished events and 1 log rows past their retention",
            wait::SOON,
        )
        .await;
    let rows = db
        .rows("SELECT payload FROM pgrelay.queue ORDER BY payload", &[])
        .await;
    let left: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(
        left,
        [
            "1 hour done",
            "1 hour error",
            "1 hour expired",
            "1 hour invalid",
            "pending"
        ]
    );
    let log: i64 = db.query_one("SELECT count(*) FROM pgrelay.log", &[]).await;
    assert_eq!(log, 2);
}
