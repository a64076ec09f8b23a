//! Through PgBouncer in session mode everything works, whether it refuses start-up options or drops them; in transaction mode `run` ends with 76.

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;
use fleet_tests::{skip, wait};

use crate::held;
use crate::pooler::Pooler;
use crate::steps::{all_ended, ended, log_of, notify, register};

#[tokio::test]
async fn that_refuses_startup_options() {
    work_through("").await;
}

#[tokio::test]
async fn that_drops_startup_options() {
    work_through("ignore_startup_parameters = options").await;
}

async fn work_through(settings: &str) {
    let db = Database::with_schema().await;
    let Some(pooler) = Pooler::start(&db, "session", settings) else {
        skip!("pooler", "pgbouncer is not installed");
    };
    held::channels(&db).await.open().await;
    register(&db, "fails", "SELECT 1 / 0", "").await;
    let setting = "INSERT INTO effects SELECT 'lock_timeout ' || current_setting('lock_timeout') || \
                   set_config('lock_timeout', '1234', false)";
    register(&db, "changes.settings", setting, "").await;
    db.execute("SELECT pgrelay.notify('free', n::text) FROM generate_series(1, 500) AS n")
        .await;
    let port = pooler.port().await;
    let _processor = Processor::with(&db, |config| {
        config
            .set_in("pepsi-postgres", "HOST", "127.0.0.1")
            .set_in("pepsi-postgres", "PORT", port)
            .set("SQL_WORKERS", 1)
    })
    .await;
    all_ended(&db).await;
    assert_eq!(held::effects(&db).await.len(), 500);
    let failed = notify(&db, "fails", "x").await;
    assert_eq!(ended(&db, failed).await, "error");
    assert_eq!(
        log_of(&db, failed).await[0].sqlstate.as_deref(),
        Some("22012")
    );

    db.execute("TRUNCATE effects").await;
    for payload in ["1", "2"] {
        let id = notify(&db, "changes.settings", payload).await;
        assert_eq!(ended(&db, id).await, "done");
    }
    assert_eq!(
        held::effects(&db).await,
        ["lock_timeout 01234ms", "lock_timeout 01234ms"],
        "one action's setting reached the next"
    );
    let listens = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'pg-relay-processor listener'";
    let listening: i64 = db.query_one(listens, &[]).await;
    assert_eq!(listening, 1, "nobody listens through the pooler");
}

#[tokio::test]
async fn but_not_one_in_transaction_mode() {
    let db = Database::with_schema().await;
    let Some(pooler) = Pooler::start(&db, "transaction", "") else {
        skip!("pooler", "pgbouncer is not installed");
    };
    let port = pooler.port().await;
    let daemon = Processor::builder(&db)
        .set_in("pepsi-postgres", "HOST", "127.0.0.1")
        .set_in("pepsi-postgres", "PORT", port)
        .arg("run")
        .spawn();
    let mut processor = Processor::from_daemon(daemon);
    assert_eq!(processor.wait_exit(wait::SOON).await, 76);
    let log = processor.logs();
    assert!(
        log.contains("relay:pooler: a pooler hands one server session to several clients"),
        "{log}"
    );
}
