//! Events that are being sent keep nobody else from being found: however many there are, here and in other Processors, and in lanes too.

use std::collections::BTreeSet;

use fleet_tests::daemon::Builder;
use fleet_tests::database::Database;
use fleet_tests::processor::Processor;
use fleet_tests::wait;

use crate::notify_receiver::Receiver;
use crate::notify_recorder::{ANNOUNCE, channel, create, enqueue, finished, statuses, store, told};
use crate::steps::all_ended;

async fn database(settings: &str) -> Database {
    let db = Database::with_schema().await;
    create(&db).await;
    db.execute(ANNOUNCE).await;
    channel(&db, settings).await;
    db
}

/// Stores notifications 1 to `count` for `receiver`, and sends all of them in one transaction.
async fn send_many(db: &Database, receiver: &Receiver, count: i64) {
    for id in 1..=count {
        store(db, id, "webhook", &receiver.profile()).await;
    }
    db.execute(&format!(
        "SELECT pgrelay.notify('mail', i::text) FROM generate_series(1, {count}) AS i"
    ))
    .await;
}

#[tokio::test]
async fn sixteen_workers_are_all_at_work_at_once() {
    let db = database("max_retries := 0").await;
    let slow = Receiver::closed(&[]).await;
    let _processor = Processor::with(&db, |config| config.set("NOTIFY_WORKERS", 16)).await;
    send_many(&db, &slow, 16).await;
    slow.wait_for(16).await;
    slow.open();
    all_ended(&db).await;
    assert_eq!(slow.requests().len(), 16);
}

#[tokio::test]
async fn what_is_behind_a_hundred_and_twenty_claimed_events_is_found() {
    let db = database("max_retries := 0").await;
    let slow = Receiver::closed(&[]).await;
    let quick = Receiver::start(&[]).await;
    let workers =
        |n: u16| move |config: Builder| config.set("NOTIFY_WORKERS", n).set("SQL_WORKERS", 0);
    let _one = Processor::with(&db, workers(60)).await;
    let _two = Processor::with(&db, workers(60)).await;
    send_many(&db, &slow, 120).await;
    slow.wait_for(120).await;
    // One more, by one that looks for the first time.
    let _fresh = Processor::with(&db, workers(1)).await;
    store(&db, 1000, "webhook", &quick.profile()).await;
    enqueue(&db, 1000).await;
    finished(&db, 1000).await;
    assert_eq!(statuses(&db, 1000).await, told(&[("sent", 1)]));
    slow.open();
    all_ended(&db).await;
    let sent: BTreeSet<String> = slow
        .requests()
        .into_iter()
        .map(|r| r.body.to_string())
        .collect();
    assert_eq!(
        (sent.len(), slow.requests().len()),
        (120, 120),
        "sent twice"
    );
}

#[tokio::test]
async fn a_serial_channel_keeps_its_order_over_two_processors() {
    let db = database("concurrency_mode := 'serial'").await;
    let receiver = Receiver::start(&[]).await;
    let _one = Processor::with(&db, |config| config.set("NOTIFY_WORKERS", 4)).await;
    let _two = Processor::with(&db, |config| config.set("NOTIFY_WORKERS", 4)).await;
    send_many(&db, &receiver, 60).await;
    all_ended(&db).await;
    let ids: Vec<i64> = receiver
        .requests()
        .iter()
        .map(|request| request.body["id"].as_i64().expect("an id"))
        .collect();
    assert_eq!(ids, (1..=60).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_lane_in_use_keeps_its_backlog_to_itself() {
    let db = database("concurrency_mode := 'serial'").await;
    db.execute("SELECT pgrelay.register('lane.' || i, action_type := 'notify', concurrency_mode := 'serial') FROM generate_series(1, 3) AS i;
                SELECT pgrelay.register('free', action_type := 'notify')")
        .await;
    let slow = Receiver::closed(&[]).await;
    let quick = Receiver::start(&[]).await;
    let _processor = Processor::with(&db, |config| config.set("NOTIFY_WORKERS", 2)).await;
    // A backlog longer than any look, behind one slow send.
    send_many(&db, &slow, 300).await;
    slow.wait_for(1).await;
    for id in 1001..=1004 {
        store(&db, id, "webhook", &quick.profile()).await;
    }
    db.execute("SELECT pgrelay.notify('lane.' || i, (1000 + i)::text) FROM generate_series(1, 3) AS i; SELECT pgrelay.notify('free', '1004')")
        .await;
    for id in 1001..=1004 {
        finished(&db, id).await;
        assert_eq!(statuses(&db, id).await, told(&[("sent", 1)]));
    }
    assert_eq!(
        slow.requests().len(),
        1,
        "the lane is used by one at a time"
    );
    db.execute("UPDATE pgrelay.queue SET expire_at = '-infinity' WHERE status = 'pending'")
        .await;
    slow.open();
    wait::until("the backlog to end", wait::SOON * 2, || async {
        let sql = "SELECT count(*) FROM pgrelay.queue WHERE status = 'pending'";
        match db.query_one::<i64>(sql, &[]).await {
            0 => Ok(()),
            left => Err(format!("{left} pending")),
        }
    })
    .await;
}
