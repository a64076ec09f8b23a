//! A pause is a row: it binds both pools, outlives a restart of every Processor, and ends by itself or with `resume()`.

use std::time::Duration;

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;
use fleet_tests::wait;

use crate::held;
use crate::steps::{ended, notify};

/// Long enough for several polls.
const A_WHILE: Duration = Duration::from_millis(1500);

/// Besides `held` and `free`, a channel of the notify pool that needs no notifier: being disabled, its events end as invalid.
async fn both_pools(db: &Database) {
    db.execute(
        "SELECT pgrelay.register('mail', action_type := 'notify');
         SELECT pgrelay.update('mail', p_enabled := false)",
    )
    .await;
}

async fn enqueue_both(db: &Database) -> [i64; 2] {
    [
        notify(db, "free", "free").await,
        notify(db, "mail", "mail").await,
    ]
}

async fn both_end(db: &Database, [free, mail]: [i64; 2]) {
    assert_eq!(ended(db, free).await, "done");
    assert_eq!(ended(db, mail).await, "invalid");
}

async fn both_stay_pending(db: &Database, ids: [i64; 2]) {
    wait::while_holding("the pause", A_WHILE, || async {
        let statuses = [
            held::status(db, ids[0]).await,
            held::status(db, ids[1]).await,
        ];
        match &statuses {
            [free, mail] if free == "pending" && mail == "pending" => Ok(()),
            seen => Err(format!("{seen:?}")),
        }
    })
    .await;
}

#[tokio::test]
async fn until_it_is_resumed_even_through_a_restart() {
    let db = Database::with_schema().await;
    let gate = held::channels(&db).await;
    both_pools(&db).await;
    let mut processor = Processor::start(&db).await;
    let unpaused = enqueue_both(&db).await;
    both_end(&db, unpaused).await;

    let claimed_before = held::hold(&db, &gate, "held").await;
    db.execute("SELECT pgrelay.pause_for('1 hour')").await;
    let state = "SELECT state FROM pgrelay.processor_status";
    db.until_equals(state, "paused".to_owned(), wait::SOON)
        .await;
    let ids = enqueue_both(&db).await;
    gate.open().await;
    assert_eq!(
        ended(&db, claimed_before).await,
        "done",
        "what is claimed is finished"
    );
    both_stay_pending(&db, ids).await;

    processor.terminate();
    assert_eq!(processor.wait_exit(wait::SOON).await, 0);
    let _restarted = Processor::start(&db).await;
    both_stay_pending(&db, ids).await;

    db.execute("SELECT pgrelay.resume()").await;
    both_end(&db, ids).await;
    db.until_equals(state, "running".to_owned(), wait::SOON)
        .await;
}

#[tokio::test]
async fn and_a_pause_with_an_end_ends_by_itself() {
    let db = Database::with_schema().await;
    held::channels(&db).await.open().await;
    both_pools(&db).await;
    let _processor = Processor::start(&db).await;
    for pause in [
        "SELECT pgrelay.pause_for('2 seconds')",
        "SELECT pgrelay.pause_to(clock_timestamp() + interval '2 seconds')",
    ] {
        db.execute(pause).await;
        let ids = enqueue_both(&db).await;
        both_end(&db, ids).await;
        let early: i64 = db
            .query_one(
                "SELECT count(*) FROM pgrelay.log AS l, pgrelay.fleet AS f
                 WHERE l.queue_id = ANY ($1) AND l.started_at < f.paused_until",
                &[&ids.as_slice()],
            )
            .await;
        assert_eq!(early, 0, "events were claimed during {pause}");
    }
}
