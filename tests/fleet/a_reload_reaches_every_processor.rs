//! `request_reload()` has every Processor repeat its preflight within about a second, and a finding that blocks ends it with 76.

use std::time::Duration;

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;
use fleet_tests::wait;

use crate::held;
use crate::steps::{ended, notify, register};

/// About a second is promised; the rest is for a machine under load.
const PROMPTLY: Duration = Duration::from_secs(4);

#[tokio::test]
async fn and_finds_what_has_changed() {
    let db = Database::with_schema().await;
    held::channels(&db).await.open().await;
    let mut first = Processor::start(&db).await;
    let mut second = Processor::start(&db).await;
    register(&db, "broken.later", "SELECT nowhere($1)", "").await;
    assert!(!first.logs().contains("broken.later"));
    db.execute("SELECT pgrelay.request_reload()").await;
    for processor in [&mut first, &mut second] {
        processor.wait_for_log("reload requested", PROMPTLY).await;
        processor
            .wait_for_log("channel:action: channel \"broken.later\"", PROMPTLY)
            .await;
    }
    let id = notify(&db, "free", "after").await;
    assert_eq!(ended(&db, id).await, "done");
}

#[tokio::test]
async fn and_a_blocking_finding_ends_it() {
    let db = Database::with_schema().await;
    let mut processor = Processor::start(&db).await;
    db.execute(
        "CREATE OR REPLACE FUNCTION pgrelay.version() RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT '9.9'::text $$;
         CREATE OR REPLACE FUNCTION pgrelay._oldest_processor() RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT '9.9'::text $$;
         SELECT pgrelay.request_reload()",
    )
    .await;
    assert_eq!(processor.wait_exit(wait::SOON).await, 76);
    assert!(
        processor.logs().contains("relay:version"),
        "no reason given"
    );
}
