//! SIGTERM and SIGINT: what is held is finished and settled, nothing new is claimed, and the exit code is 0.

use std::time::{Duration, Instant};

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;
use fleet_tests::wait;
use nix::sys::signal::Signal;

use crate::held;
use crate::steps::{ended, log_of, notify};

#[tokio::test]
async fn sigterm_lets_the_held_action_finish() {
    drain_by(Signal::SIGTERM).await;
}

#[tokio::test]
async fn sigint_does_the_same() {
    drain_by(Signal::SIGINT).await;
}

async fn drain_by(signal: Signal) {
    let db = Database::with_schema().await;
    let gate = held::channels(&db).await;
    let mut processor = Processor::start(&db).await;
    let first = held::hold(&db, &gate, "held").await;
    processor.signal(signal);
    let state = "SELECT state FROM pgrelay.processor_status";
    db.until_equals(state, "draining".to_owned(), wait::SOON)
        .await;
    let later = notify(&db, "free", "later").await;
    wait::while_holding("the drain", Duration::from_millis(1500), || async {
        let state: Option<String> = db.query_opt(state, &[]).await;
        let status = held::status(&db, later).await;
        match (state.as_deref(), status.as_str()) {
            (Some("draining"), "pending") => Ok(()),
            seen => Err(format!("{seen:?}")),
        }
    })
    .await;
    gate.open().await;
    assert_eq!(processor.wait_exit(wait::SOON).await, 0);
    assert_eq!(held::status(&db, first).await, "done");
    assert_eq!(log_of(&db, first).await[0].status, "ok");
    assert_eq!(held::status(&db, later).await, "pending");
    assert_eq!(held::effects(&db).await, ["held"]);
    let rows: i64 = db
        .query_one("SELECT count(*) FROM pgrelay.processors", &[])
        .await;
    assert_eq!(rows, 0, "the registry still lists it");
}

#[tokio::test]
async fn what_is_not_finished_within_shutdown_timeout_is_rolled_back() {
    let db = Database::with_schema().await;
    let gate = held::channels(&db).await;
    let mut processor = Processor::with(&db, |config| config.set("SHUTDOWN_TIMEOUT", "2s")).await;
    let id = held::hold(&db, &gate, "held").await;
    let began = Instant::now();
    processor.terminate();
    assert_eq!(processor.wait_exit(Duration::from_secs(6)).await, 0);
    assert!(
        began.elapsed() > Duration::from_millis(1900),
        "it did not wait: {:?}",
        began.elapsed()
    );
    // The gate is still closed: the server itself has to notice that nobody waits for the action any more.
    wait::until(
        "the abandoned action to end",
        Duration::from_secs(5),
        || async {
            match held::holders(&db).await.as_slice() {
                [] => Ok(()),
                seen => Err(format!("backends {seen:?} at the gate")),
            }
        },
    )
    .await;
    assert_eq!(held::status(&db, id).await, "pending");
    gate.open().await;
    let _next = Processor::start(&db).await;
    assert_eq!(ended(&db, id).await, "done");
    assert_eq!(held::effects(&db).await, ["held"]);
}
