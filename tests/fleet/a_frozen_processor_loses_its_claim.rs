//! A Processor that stops in the middle of a transaction, its sockets open, loses its claim after half a minute, and goes on when it wakes up.

use std::time::Duration;

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;
use fleet_tests::{long_run, wait};
use nix::sys::signal::Signal;

use crate::held;
use crate::steps::{ended, log_of, notify};

#[tokio::test]
async fn and_the_event_runs_elsewhere() {
    if !long_run() {
        return;
    }
    let db = Database::with_schema().await;
    let gate = held::channels(&db).await;
    let mut first = Processor::start(&db).await;
    let id = held::hold(&db, &gate, "held").await;
    let second = Processor::start(&db).await;
    first.signal(Signal::SIGSTOP);
    // The action ends now, and nobody goes on from there.
    gate.open().await;
    let idle = "SELECT count(*) FROM pg_stat_activity
                WHERE datname = current_database() AND state = 'idle in transaction' AND backend_xid IS NOT NULL";
    db.until_equals(idle, 1_i64, wait::SOON).await;
    assert_eq!(held::status(&db, id).await, "pending");
    let done = "SELECT count(*) FROM pgrelay.queue WHERE status = 'done'";
    db.until_equals(done, 1_i64, Duration::from_secs(45)).await;
    assert_eq!(held::effects(&db).await, ["held"]);

    drop(second);
    first.signal(Signal::SIGCONT);
    let after = notify(&db, "free", "after").await;
    assert_eq!(ended(&db, after).await, "done");
    assert_eq!(held::effects(&db).await, ["after", "held"]);
    for event in [id, after] {
        let log = log_of(&db, event).await;
        assert_eq!(log.len(), 1, "{log:?}");
    }
    let marks: i64 = db
        .query_one("SELECT count(*) FROM pgrelay.crashes", &[])
        .await;
    assert_eq!(marks, 0, "the server explained the loss");
}
