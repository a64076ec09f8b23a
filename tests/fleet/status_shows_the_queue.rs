//! `status` shows backlog and failures, to a person and to a script.

use fleet_tests::database::Database;
use fleet_tests::processor::{Processor, command};
use serde_json::Value;

#[tokio::test]
async fn backlog_and_failures_are_shown() {
    let database = Database::with_schema().await;
    database
        .execute(
            "SELECT pgrelay.register('orders.ship', 'SELECT 1');
             SELECT pgrelay.notify('orders.ship', n::text) FROM generate_series(1, 3) AS n;
             SELECT pgrelay.notify('orders.ship', run_at => now() + interval '1 day');
             INSERT INTO pgrelay.log (queue_id, started_at, elapsed_ms, attempt, status, channel, sqlstate, error)
             SELECT n, now(), 1, 1, CASE WHEN n % 2 = 0 THEN 'error' ELSE 'ok' END, 'orders.ship', '42P01', E'no\ntable ' || n
             FROM generate_series(1, 40) AS n",
        )
        .await;
    let output = command(&database, &["status", "--json"]).await;
    assert_eq!(output.code, 0, "{output}");
    let status: Value = serde_json::from_str(&output.stdout).expect("one JSON object");
    assert_eq!(status["version"], "1.1");
    assert_eq!(status["queue"]["pending_due"], 3);
    assert_eq!(status["queue"]["pending_future"], 1);
    assert_eq!(status["channels"][0]["channel"], "orders.ship");
    assert_eq!(status["channels"][0]["pending_due"], 3);
    let failures = status["failures"].as_array().expect("failures");
    let events: Vec<i64> = failures
        .iter()
        .filter_map(|row| row["queue_id"].as_i64())
        .collect();
    assert_eq!(events, [40, 38, 36, 34, 32, 30, 28, 26, 24, 22]);

    let output = command(&database, &["status"]).await;
    assert_eq!(output.code, 0, "{output}");
    for expected in [
        "Queue\n",
        "Processors\n  none\n",
        "orders.ship",
        "no table 40",
    ] {
        assert!(output.stdout.contains(expected), "{expected:?}\n{output}");
    }
}

#[tokio::test]
async fn a_running_processor_is_listed() {
    let database = Database::with_schema().await;
    let processor = Processor::start(&database).await;
    let output = command(&database, &["status", "--json"]).await;
    assert_eq!(output.code, 0, "{output}");
    let status: Value = serde_json::from_str(&output.stdout).expect("one JSON object");
    assert_eq!(status["processors"][0]["pid"], processor.pid());
    assert_eq!(status["queue"]["processors_alive"], 1);
}
