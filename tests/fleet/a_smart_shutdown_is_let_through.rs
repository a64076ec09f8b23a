//! A smart shutdown waits for all sessions to leave: a Processor notices it, finishes what it holds, leaves, and comes back later.

use std::time::{Duration, Instant};

use fleet_tests::database::Database;
use fleet_tests::postgres::{PrivateOptions, Server, StopMode};
use fleet_tests::processor::Processor;
use fleet_tests::wait;

use crate::held;
use crate::steps::{ended, notify, register};

#[tokio::test]
async fn although_a_processor_is_connected() {
    let mut server = Server::private(PrivateOptions::default()).await;
    let db = Database::with_schema_on(&server).await;
    held::channels(&db).await.open().await;
    let slow = "INSERT INTO effects SELECT $1 FROM pg_sleep(2)";
    register(&db, "slow", slow, "").await;
    let mut processor = Processor::start(&db).await;
    let id = notify(&db, "slow", "held").await;
    let claimed = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
    db.until_equals(claimed, 1_i64, wait::SOON).await;
    hang_up(&db).await;

    let began = Instant::now();
    server.stop(StopMode::Smart).await;
    let took = began.elapsed();
    assert!(took < Duration::from_secs(26), "it took {took:?}");
    assert_eq!(processor.exit_code(), None);

    server.start().await;
    assert_eq!(
        held::effects(&db).await,
        ["held"],
        "what was held was not finished"
    );
    assert_eq!(held::status(&db, id).await, "done");
    let id = notify(&db, "free", "after").await;
    assert_eq!(ended(&db, id).await, "done");
}

/// Ends the sessions of this test itself, which the server would wait for too.
async fn hang_up(db: &Database) {
    let last = db.connect().await;
    let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
               WHERE application_name = 'fleet-tests' AND pid <> pg_backend_pid()";
    last.query(sql, &[])
        .await
        .expect("ending the test's sessions");
}
