//! Without a notifier, events of notify channels end in an error that says so, and SQL events go on.

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;

use crate::steps::{all_ended, ended, notify, only_log_row, register, run_one};

const ABSENT: &str = "the notifier is not installed: ";

#[tokio::test]
async fn an_event_for_a_missing_notifier_is_an_error_that_names_it() {
    let db = Database::with_schema().await;
    register(&db, "sql", "SELECT $1", "").await;
    db.execute("SELECT pgrelay.register('mail', action_type := 'notify', max_retries := 3)")
        .await;
    let _processor = Processor::start(&db).await;
    let mut mails = Vec::new();
    for number in 0..20 {
        mails.push(notify(&db, "mail", &number.to_string()).await);
        assert_eq!(run_one(&db, "sql", "").await.status, "ok");
    }
    for id in mails {
        let log = only_log_row(&db, id).await;
        assert_eq!(log.status, "error");
        let error = log.error.unwrap();
        assert!(error.starts_with(ABSENT), "{error}");
    }
}

#[tokio::test]
async fn notify_events_expire_and_are_invalid_as_others_are() {
    let db = Database::with_schema().await;
    db.execute("SELECT pgrelay.register('mail', action_type := 'notify'), pgrelay.register('off', action_type := 'notify'); \
                SELECT pgrelay.update('off', p_enabled := false); \
                SELECT pgrelay.notify('mail', '1', expire_at => now()), pgrelay.notify('off', '2'), \
                       pgrelay.notify('mail', '3', run_at => 'infinity'); \
                SELECT pgrelay.kill(3)")
        .await;
    let _processor = Processor::start(&db).await;
    for (id, status) in [(1, "expired"), (2, "invalid"), (3, "expired")] {
        assert_eq!(only_log_row(&db, id).await.status, status, "event {id}");
    }
}

#[tokio::test]
async fn a_notify_channel_of_any_concurrency_mode_is_served() {
    let db = Database::with_schema().await;
    for mode in ["parallel", "serial", "per_payload"] {
        db.execute(&format!(
            "SELECT pgrelay.register('{mode}', action_type := 'notify', concurrency_mode := '{mode}'); \
             SELECT pgrelay.notify_many('{mode}', ARRAY['1', '1', '2'])"
        ))
        .await;
    }
    let _processor = Processor::start(&db).await;
    all_ended(&db).await;
    let sql = "SELECT count(*) FROM pgrelay.log WHERE status = 'error' AND starts_with(error, $1)";
    assert_eq!(db.query_one::<i64>(sql, &[&ABSENT]).await, 9);
}

#[tokio::test]
async fn an_instance_without_notify_workers_leaves_them_to_others() {
    let db = Database::with_schema().await;
    db.execute("SELECT pgrelay.register('mail', action_type := 'notify')")
        .await;
    register(&db, "sql", "SELECT $1", "").await;
    let _none = Processor::with(&db, |config| config.set("NOTIFY_WORKERS", 0)).await;
    let mail = notify(&db, "mail", "").await;
    assert_eq!(run_one(&db, "sql", "").await.status, "ok");
    let sql = "SELECT status FROM pgrelay.queue WHERE id = $1";
    assert_eq!(db.query_one::<String>(sql, &[&mail]).await, "pending");
    let _some = Processor::start(&db).await;
    assert_eq!(ended(&db, mail).await, "error");
}
