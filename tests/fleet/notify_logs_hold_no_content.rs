//! Even at TRACE the log of a Processor holds nothing of what is sent, where to, or of what the notifier says; nor does `pgrelay.log`.

use fleet_tests::processor::Processor;
use fleet_tests::wait;
use serde_json::{Value, json};

use crate::notify_receiver::Receiver;
use crate::notify_recorder::{
    before_set_status, database, enqueue, finished, statuses, store, told,
};

const CANARY: &str = "zanzibar";

/// The profile of `receiver` with the canary wherever a profile has room for it.
fn loud(receiver: &Receiver) -> Value {
    let mut profile = receiver.profile();
    let url = profile["url"].as_str().expect("a URL");
    profile["url"] = json!(format!("{url}{CANARY}?token={CANARY}"));
    profile["headers"] = json!({"X-Token": "_env:LOUD_SECRET", "X-Other": CANARY});
    profile
}

#[tokio::test]
async fn even_at_trace() {
    let db = database().await;
    let good = Receiver::start(&[]).await;
    let bad = Receiver::start(&[410]).await;
    let broken = Receiver::start(&[503]).await;
    store(&db, 1, "webhook", &loud(&good)).await;
    store(&db, 2, "webhook", &loud(&bad)).await;
    store(&db, 3, "webhook", &loud(&broken)).await;
    store(&db, 4, CANARY, &json!({})).await;
    store(
        &db,
        5,
        "webhook",
        &json!({"url": format!("{CANARY} {CANARY}")}),
    )
    .await;
    store(
        &db,
        6,
        "webhook",
        &json!({"url": CANARY, "_reserved": CANARY}),
    )
    .await;
    db.execute(&format!(
        "UPDATE recorder.notifications SET debug = true, message = '{{\"body\": {{\"text\": \"{CANARY}\"}}}}' WHERE id <> 3;
         CREATE OR REPLACE FUNCTION recorder.debug_log(p_id bigint, p_step text, p_detail text) RETURNS void
             LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION '{CANARY}'; END $$"
    ))
    .await;
    before_set_status(
        &db,
        &format!("RAISE WARNING '{CANARY}'; IF p_id = 2 THEN RAISE EXCEPTION '{CANARY}'; END IF"),
    )
    .await;
    let mut processor = Processor::with(&db, |config| {
        config.set("LOG_LEVEL", "trace").env("LOUD_SECRET", CANARY)
    })
    .await;
    for id in 1..=6 {
        enqueue(&db, id).await;
        finished(&db, id).await;
    }
    assert_eq!(statuses(&db, 1).await, told(&[("sent", 1)]));
    assert_eq!(statuses(&db, 3).await, told(&[("retry", 1), ("sent", 2)]));
    processor.terminate();
    assert_eq!(processor.wait_exit(wait::SOON).await, 0);
    let logs = processor.logs();
    for expected in [
        "sent its notification in",
        "retried in 3 s",
        "ended as error (permanent)",
        "set_status() of the notifier failed",
        "TRACE",
    ] {
        assert!(logs.contains(expected), "{expected:?} is not in the log");
    }
    let leaks: Vec<&str> = logs.lines().filter(|line| line.contains(CANARY)).collect();
    assert!(leaks.is_empty(), "{leaks:#?}");
    let sql = "SELECT count(*) FROM pgrelay.log AS l WHERE l::text LIKE '%zanzibar%'";
    assert_eq!(db.query_one::<i64>(sql, &[]).await, 0, "pgrelay.log");
    let told = "SELECT count(*) FROM recorder.calls AS c WHERE c.detail LIKE '%zanzibar%'";
    assert!(
        db.query_one::<i64>(told, &[]).await > 0,
        "the notifier is told more"
    );
}
