//! Events of a disabled or vanished channel resolve as invalid when they are due; a channel that is back in time serves them.

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;

use crate::steps::{ended, notify, notify_with, only_log_row, register};

#[tokio::test]
async fn a_disabled_channel_accepts_events_and_resolves_them_as_invalid() {
    let db = Database::with_schema().await;
    register(&db, "c", "SELECT $1", "").await;
    let _processor = Processor::start(&db).await;
    db.execute("SELECT pgrelay.update('c', p_enabled := false)")
        .await;
    let id = notify(&db, "c", "").await;
    let log = only_log_row(&db, id).await;
    assert_eq!(
        (log.status.as_str(), log.error.as_deref()),
        ("invalid", Some("the channel is disabled"))
    );
    assert_eq!(ended(&db, id).await, "invalid");
}

#[tokio::test]
async fn an_event_whose_channel_was_unregistered_is_invalid() {
    let db = Database::with_schema().await;
    register(&db, "c", "SELECT $1", "").await;
    register(&db, "serial", "SELECT $1", "concurrency_mode := 'serial'").await;
    let ids = [notify(&db, "c", "").await, notify(&db, "serial", "").await];
    db.execute("SELECT pgrelay.unregister('c'), pgrelay.unregister('serial')")
        .await;
    let _processor = Processor::start(&db).await;
    for id in ids {
        let log = only_log_row(&db, id).await;
        assert_eq!(
            (log.status.as_str(), log.error.as_deref()),
            ("invalid", Some("the channel is not registered"))
        );
    }
}

#[tokio::test]
async fn an_event_is_judged_when_it_is_due_and_not_before() {
    let db = Database::with_schema().await;
    register(&db, "c", "SELECT $1", "").await;
    register(&db, "back", "SELECT 1 / 0", "").await;
    let _processor = Processor::start(&db).await;
    let later = "'', run_at => now() + interval '1 hour'";
    let ids = [
        notify_with(&db, "c", later).await,
        notify_with(&db, "back", later).await,
    ];
    db.execute("SELECT pgrelay.update('c', p_enabled := false), pgrelay.unregister('back')")
        .await;
    // Something that is due is resolved in between, so a look has passed over the two.
    register(&db, "other", "SELECT $1", "").await;
    let other = notify(&db, "other", "").await;
    assert_eq!(ended(&db, other).await, "done");
    db.execute(
        "SELECT pgrelay.update('c', p_enabled := true), pgrelay.register('back', 'SELECT $1')",
    )
    .await;
    db.execute("UPDATE pgrelay.queue SET run_at = now() WHERE status = 'pending'")
        .await;
    for id in ids {
        assert_eq!(ended(&db, id).await, "done");
    }
}

#[tokio::test]
async fn expiry_comes_before_the_channel() {
    let db = Database::with_schema().await;
    register(&db, "c", "SELECT $1", "").await;
    let id = notify_with(&db, "c", "'', expire_at => now()").await;
    db.execute("SELECT pgrelay.unregister('c')").await;
    let _processor = Processor::start(&db).await;
    assert_eq!(ended(&db, id).await, "expired");
}
