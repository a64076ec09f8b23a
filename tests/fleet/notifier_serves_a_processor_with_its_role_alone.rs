//! A Processor that is nothing but a member of pgrelay_processor can do all of the interface; what it ends without an attempt is reported.

use std::time::Duration;

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;
use fleet_tests::wait;

use crate::notifier_db::{attempts, seen, with_profiles};
use crate::privileges::{self, Role};

const ROLES: &[Role] = &[('w', "n_processor", "pgrelay_processor")];

async fn until(db: &Database, id: i64, status: &str) {
    let sql =
        format!("SELECT s.status FROM pgrelay_notifier.notification_status AS s WHERE s.id = {id}");
    db.until_equals(&sql, status.to_owned(), wait::SOON).await;
}

#[tokio::test]
async fn ends_are_reported() {
    let db = with_profiles().await;
    privileges::create_members(&db, ROLES).await;
    let role = format!("{}_n_processor", db.name());
    db.execute(&format!(
        "ALTER ROLE {role} LOGIN; SELECT pgrelay.register('off', action_type => 'notify'); SELECT pgrelay.update('off', p_enabled := false)"
    ))
    .await;
    let send = |more: &str| format!("SELECT pgrelay_notifier.send_webhook('hook', '1', {more})");
    let later: i64 = db
        .query_one(&send("p_run_at => now() + interval '1 hour'"), &[])
        .await;
    let late: i64 = db
        .query_one(&send("p_expire_at => now() - interval '1 second'"), &[])
        .await;
    let nowhere: i64 = db.query_one(&send("p_channel => 'off'"), &[]).await;
    // Its profile's variables are not there, which no attempt can help.
    let failing: i64 = db.query_one(&send("p_debug => true"), &[]).await;
    let processor = Processor::with(&db, |config| {
        config.set_in("pepsi-postgres", "USER", role.as_str())
    })
    .await;
    assert!(
        db.query_one::<bool>("SELECT pgrelay_notifier.cancel($1)", &[&later])
            .await
    );
    for (id, status, made) in [
        (later, "expired", 0),
        (late, "expired", 0),
        (nowhere, "invalid", 0),
        (failing, "failed", 1),
    ] {
        until(&db, id, status).await;
        assert_eq!(seen(&db, id).await.attempts, made, "{status}");
        let reports = attempts(&db, id).await;
        assert_eq!(reports.len(), 1, "{reports:?}");
        assert_eq!(reports[0].0, Some(1));
    }
    let reason = seen(&db, failing).await.last_error.unwrap_or_default();
    assert!(reason.contains("HOOK_TOKEN"), "{reason}");
    let steps = format!(
        "SELECT count(*) > 0 FROM pgrelay_notifier.debug_trace AS t WHERE t.notification_id = {failing}"
    );
    db.until_equals(&steps, true, Duration::from_secs(20)).await;
    drop(processor);
    privileges::drop_members(&db, ROLES).await;
}
