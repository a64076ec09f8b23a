//! An event meets a notifier that the Processor cannot use: it is withheld, the registry is read again, and only what that confirms ends it.

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;
use fleet_tests::wait;

use crate::notify_receiver::Receiver;
use crate::notify_recorder::{
    ANNOUNCE, channel, create, database, enqueue, finished, install, log, statuses, store, told,
};
use crate::steps::{ended, log_of, notify, register, run_one};

/// Announces the notifier and tells nobody: the Processors' copies become outdated.
const ANNOUNCE_SILENTLY: &str = "INSERT INTO pgrelay.companions (name, schema_name, version) VALUES ('pg_relay_notifier', 'recorder', '1.0')";

/// The error of the event of notification 7, which is sent now; sql events go on meanwhile.
async fn error_of_one(db: &Database) -> String {
    register(db, "sql", "SELECT $1", "").await;
    let event = enqueue(db, 7).await;
    assert_eq!(run_one(db, "sql", "").await.status, "ok");
    assert_eq!(ended(db, event).await, "error");
    let log = log_of(db, event).await;
    assert_eq!(log.len(), 1, "{log:?}");
    assert_eq!((log[0].status.as_str(), log[0].attempt), ("error", 1));
    log[0].error.clone().expect("an error")
}

/// The error when the Processor starts after `sql` was run on an installed notifier, and when it was running before; nobody is told.
async fn both_ways(sql: &str, expected: &str) {
    for before_start in [true, false] {
        let db = database().await;
        let receiver = Receiver::start(&[]).await;
        store(&db, 7, "webhook", &receiver.profile()).await;
        let login = format!("{}_login", db.name());
        let processor =
            |db: &Database| Processor::builder(db).set_in("pepsi-postgres", "USER", login.clone());
        db.execute(&format!(
            "CREATE ROLE {login} LOGIN; GRANT pgrelay_processor TO {login}"
        ))
        .await;
        let mut running = None;
        if !before_start {
            let mut started = Processor::from_daemon(processor(&db).arg("run").spawn());
            started.wait_ready(&db).await;
            running = Some(started);
        }
        db.execute(sql).await;
        if before_start {
            let mut started = Processor::from_daemon(processor(&db).arg("run").spawn());
            started.wait_ready(&db).await;
            running = Some(started);
        }
        let error = error_of_one(&db).await;
        assert!(
            error.contains(expected),
            "before the start: {before_start}: {error}"
        );
        assert_eq!(receiver.requests(), [], "it was sent");
        drop(running);
        db.execute(&format!("DROP OWNED BY {login}; DROP ROLE {login}"))
            .await;
    }
}

#[tokio::test]
async fn not_registered() {
    both_ways(
        "DELETE FROM pgrelay.companions; DROP SCHEMA recorder CASCADE",
        "the notifier is not installed: pgrelay.companions has no row named pg_relay_notifier",
    )
    .await;
}

#[tokio::test]
async fn its_schema_is_gone() {
    both_ways(
        "DROP SCHEMA recorder CASCADE",
        "pg_relay_notifier is registered in schema recorder, which does not exist",
    )
    .await;
}

#[tokio::test]
async fn a_function_is_missing() {
    both_ways(
        "DROP FUNCTION recorder.fetch",
        "schema recorder lacks fetch(bigint)",
    )
    .await;
}

#[tokio::test]
async fn a_function_returns_something_else() {
    both_ways(
        "DROP FUNCTION recorder.fetch;
         CREATE FUNCTION recorder.fetch(p_id bigint) RETURNS TABLE (transport text, profile json, message json, debug boolean)
             LANGUAGE sql AS 'SELECT ''webhook'', ''{}''::json, ''{}''::json, false'",
        "schema recorder lacks fetch(bigint)",
    )
    .await;
}

#[tokio::test]
async fn a_function_is_not_granted() {
    both_ways(
        "REVOKE EXECUTE ON FUNCTION recorder.fetch FROM PUBLIC",
        "the role of this session lacks EXECUTE on fetch(bigint)",
    )
    .await;
}

#[tokio::test]
async fn the_schema_is_not_granted() {
    both_ways(
        "REVOKE USAGE ON SCHEMA recorder FROM pgrelay_processor",
        "the role of this session lacks USAGE on schema recorder",
    )
    .await;
}

#[tokio::test]
async fn an_unsupported_version_is_named_with_ours() {
    let db = Database::with_schema().await;
    create(&db).await;
    let version = "CREATE OR REPLACE FUNCTION recorder.interface_version() RETURNS integer LANGUAGE sql AS 'SELECT 2'";
    db.execute(version).await;
    db.execute(ANNOUNCE).await;
    channel(&db, "max_retries := 2").await;
    let receiver = Receiver::start(&[]).await;
    store(&db, 7, "webhook", &receiver.profile()).await;
    let _processor = Processor::start(&db).await;
    let error = error_of_one(&db).await;
    let expected = "the notifier has interface version 2, and this Processor speaks 1";
    assert!(error.contains(expected), "{error}");
    assert_eq!(
        statuses(&db, 7).await,
        [],
        "it was called with the wrong interface"
    );
    assert_eq!(receiver.requests(), []);
}

#[tokio::test]
async fn one_that_was_installed_meanwhile_sends_what_waited_and_reloads_once() {
    let db = Database::with_schema().await;
    create(&db).await;
    channel(&db, "max_retries := 2").await;
    let receiver = Receiver::start(&[]).await;
    let mut processor = Processor::with(&db, |config| config.set("NOTIFY_WORKERS", 8)).await;
    for id in 1..=40 {
        store(&db, id, "webhook", &receiver.profile()).await;
    }
    db.execute(&format!(
        "{ANNOUNCE_SILENTLY}; SELECT pgrelay.notify('mail', i::text) FROM generate_series(1, 40) AS i"
    ))
    .await;
    for id in 1..=40 {
        finished(&db, id).await;
        assert_eq!(statuses(&db, id).await, told(&[("sent", 1)]));
        assert_eq!(log(&db, id).await, [("ok".to_owned(), 1, None)]);
    }
    let reload = "the notifier has changed: preflight and new sessions";
    processor.wait_for_log(reload, wait::SOON).await;
    assert_eq!(processor.logs().matches(reload).count(), 1);
}

#[tokio::test]
async fn one_that_moved_to_another_schema_is_found_there() {
    let db = database().await;
    let receiver = Receiver::start(&[]).await;
    store(&db, 7, "webhook", &receiver.profile()).await;
    let _processor = Processor::start(&db).await;
    db.execute("ALTER SCHEMA recorder RENAME TO old; CREATE SCHEMA elsewhere; GRANT USAGE ON SCHEMA elsewhere TO pgrelay_processor;
                ALTER FUNCTION old.interface_version SET SCHEMA elsewhere; ALTER FUNCTION old.fetch SET SCHEMA elsewhere;
                ALTER FUNCTION old.set_status SET SCHEMA elsewhere; ALTER FUNCTION old.debug_log SET SCHEMA elsewhere;
                ALTER SCHEMA old RENAME TO recorder;
                UPDATE pgrelay.companions SET schema_name = 'elsewhere'")
        .await;
    enqueue(&db, 7).await;
    finished(&db, 7).await;
    assert_eq!(statuses(&db, 7).await, told(&[("sent", 1)]));
}

#[tokio::test]
async fn an_announced_installation_is_picked_up_within_a_second_or_so() {
    let db = Database::with_schema().await;
    let mut processor = Processor::start(&db).await;
    install(&db).await;
    processor
        .wait_for_log("reload requested", std::time::Duration::from_secs(3))
        .await;
    let receiver = Receiver::start(&[]).await;
    store(&db, 7, "webhook", &receiver.profile()).await;
    enqueue(&db, 7).await;
    finished(&db, 7).await;
    assert_eq!(statuses(&db, 7).await, told(&[("sent", 1)]));
}

#[tokio::test]
async fn the_end_of_an_event_is_told_even_when_the_copy_is_outdated() {
    let db = Database::with_schema().await;
    create(&db).await;
    channel(&db, "max_retries := 2").await;
    let _processor = Processor::start(&db).await;
    db.execute(&format!(
        "{ANNOUNCE_SILENTLY}; SELECT pgrelay.notify('mail', '7', expire_at => now())"
    ))
    .await;
    finished(&db, 7).await;
    assert_eq!(statuses(&db, 7).await, told(&[("expired", 1)]));
}

#[tokio::test]
async fn a_payload_that_is_no_id_needs_no_notifier_to_be_judged() {
    let db = Database::with_schema().await;
    channel(&db, "max_retries := 2").await;
    let _processor = Processor::start(&db).await;
    let event = notify(&db, "mail", "x").await;
    assert_eq!(ended(&db, event).await, "error");
    let error = log_of(&db, event).await.remove(0).error;
    assert_eq!(
        error.as_deref(),
        Some("the payload is not a notification id")
    );
}

#[tokio::test]
async fn one_that_ends_its_session_ends_its_events_and_nothing_else() {
    let db = database().await;
    db.execute(
        "CREATE OR REPLACE FUNCTION recorder.interface_version() RETURNS integer LANGUAGE sql
                    AS 'SELECT pg_terminate_backend(pg_backend_pid()); SELECT 1'",
    )
    .await;
    register(&db, "sql", "SELECT $1", "").await;
    let _processor = Processor::start(&db).await;
    assert_eq!(run_one(&db, "sql", "").await.status, "ok");
    let event = enqueue(&db, 7).await;
    assert_eq!(ended(&db, event).await, "error");
    let error = log_of(&db, event).await.remove(0).error.expect("an error");
    assert!(error.contains("the database session was lost"), "{error}");
}
