//! SIGHUP re-reads the configuration: LOG_LEVEL binds at once, other changes are said to need a restart, a broken file changes nothing.

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;
use fleet_tests::wait;
use nix::sys::signal::Signal;

use crate::held;
use crate::steps::{ended, notify};

async fn hang_up_and_expect(processor: &mut Processor, line: &str) {
    let before = processor.logs().matches(line).count();
    processor.signal(Signal::SIGHUP);
    let processor = &*processor;
    wait::until(&format!("{line:?}"), wait::SOON, || async {
        let log = processor.logs();
        if log.matches(line).count() > before {
            Ok(())
        } else {
            Err(log)
        }
    })
    .await;
}

/// Whether a debug line was written about an event run now.
async fn speaks_of(db: &Database, processor: &mut Processor, payload: &str) -> bool {
    let id = notify(db, "free", payload).await;
    assert_eq!(ended(db, id).await, "done");
    // A second event after it: when that one has ended too, the line about the first was written or never will be.
    let next = notify(db, "free", payload).await;
    assert_eq!(ended(db, next).await, "done");
    processor
        .logs()
        .contains(&format!("event {id} of free: attempt 1 succeeded"))
}

#[tokio::test]
async fn and_says_what_needs_a_restart() {
    let db = Database::with_schema().await;
    held::channels(&db).await.open().await;
    let mut processor = Processor::with(&db, |config| {
        config.set("LOG_LEVEL", "info").set("SQL_WORKERS", 1)
    })
    .await;
    assert!(!speaks_of(&db, &mut processor, "at info").await);

    processor.reconfigure("LOG_LEVEL", "debug");
    hang_up_and_expect(
        &mut processor,
        "configuration read again, LOG_LEVEL is debug",
    )
    .await;
    assert!(speaks_of(&db, &mut processor, "at debug").await);
    let needs_restart = "other keys than LOG_LEVEL have changed: they need a restart";
    assert!(!processor.logs().contains(needs_restart));

    processor.reconfigure("SQL_WORKERS", 7);
    hang_up_and_expect(&mut processor, needs_restart).await;
    let workers: i32 = db
        .query_one("SELECT sql_workers FROM pgrelay.processors", &[])
        .await;
    assert_eq!(workers, 1);

    processor.reconfigure("SQL_WORKERS", 1);
    hang_up_and_expect(
        &mut processor,
        "configuration read again, LOG_LEVEL is debug",
    )
    .await;
    let elsewhere = std::fs::read_to_string(processor.config_path())
        .expect("the configuration file")
        .replace("DBNAME = ", "DBNAME = \"elsewhere\" # ");
    std::fs::write(processor.config_path(), elsewhere).expect("changing the file");
    hang_up_and_expect(&mut processor, needs_restart).await;

    let broken = "[pg-relay-processor]\nLOG_LEVEL = \"loud\"\n";
    std::fs::write(processor.config_path(), broken).expect("breaking the file");
    hang_up_and_expect(&mut processor, "the configuration stays as it was").await;
    let log = processor.logs();
    assert!(
        log.contains(":2: [pg-relay-processor] LOG_LEVEL = \"loud\" is not accepted"),
        "{log}"
    );
    assert!(
        speaks_of(&db, &mut processor, "still at debug").await,
        "a broken file took effect"
    );
}
