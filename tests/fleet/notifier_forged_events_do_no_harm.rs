//! Whoever may enqueue events can name any notification in one of his own. Such an event sends nothing twice that was sent, and destroys nothing that waits.

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;
use fleet_tests::wait;

use crate::notifier_db::{report, seen, with_profiles};
use crate::notify_receiver::Receiver;
use crate::privileges::{self, Role};
use crate::steps::{ended, log_of, refusal};

const ROLES: &[Role] = &[('p', "forger", "pgrelay_producer")];

/// Enqueues an event for a notification of somebody else; the arguments are those after the payload, as SQL.
async fn forge(db: &Database, id: i64, arguments: &str) -> i64 {
    let session = db.as_role(&format!("{}_forger", db.name())).await;
    let sql = format!("SELECT pgrelay.notify('pg_relay_notifier.send', '{id}'{arguments})");
    let row = session.query_one(&sql, &[]).await.expect("a producer's");
    row.get(0)
}

async fn until(db: &Database, id: i64, status: &str) {
    let sql =
        format!("SELECT s.status FROM pgrelay_notifier.notification_status AS s WHERE s.id = {id}");
    db.until_equals(&sql, status.to_owned(), wait::SOON).await;
}

#[tokio::test]
async fn what_was_sent_is_not_sent_again() {
    let receiver = Receiver::start(&[]).await;
    let db = with_profiles().await;
    privileges::create_members(&db, ROLES).await;
    let create = "SELECT pgrelay_notifier.create_profile('here', 'webhook', $1)::text";
    db.query_one::<String>(create, &[&receiver.profile()]).await;
    let _processor = Processor::start(&db).await;
    let id: i64 = db
        .query_one("SELECT pgrelay_notifier.send_webhook('here', '1')", &[])
        .await;
    until(&db, id, "sent").await;
    let stored = "SELECT n::text FROM pgrelay_notifier.notifications AS n WHERE n.id = $1";
    let before: String = db.query_one(stored, &[&id]).await;
    let forged = forge(&db, id, "").await;
    assert_eq!(ended(&db, forged).await, "error");
    let log = log_of(&db, forged).await;
    assert_eq!(log.len(), 1, "no retry: {log:?}");
    assert_eq!(receiver.requests().len(), 1);
    assert_eq!(db.query_one::<String>(stored, &[&id]).await, before);
    privileges::drop_members(&db, ROLES).await;
}

#[tokio::test]
async fn what_waits_is_neither_purged_nor_robbed_of_its_profile() {
    let receiver = Receiver::start(&[]).await;
    let db = with_profiles().await;
    privileges::create_members(&db, ROLES).await;
    let create = "SELECT pgrelay_notifier.create_profile('here', 'webhook', $1)::text";
    db.query_one::<String>(create, &[&receiver.profile()]).await;
    let sql =
        "SELECT pgrelay_notifier.send_webhook('here', '1', p_run_at => now() + interval '1 hour')";
    let id: i64 = db.query_one(sql, &[]).await;
    let _processor = Processor::start(&db).await;
    forge(&db, id, ", expire_at => now() - interval '1 second'").await;
    until(&db, id, "expired").await;
    let purge = "SELECT pgrelay_notifier.purge('0')";
    assert_eq!(db.query_one::<i64>(purge, &[]).await, 0);
    let session = db.connect().await;
    let refused = refusal(&session, "SELECT pgrelay_notifier.drop_profile('here')").await;
    assert_eq!(refused.sqlstate, "PN006", "{refused:?}");
    // Its own event comes, and it is sent after all.
    db.execute("UPDATE pgrelay.queue SET run_at = now() WHERE status = 'pending'")
        .await;
    until(&db, id, "sent").await;
    assert_eq!(receiver.requests().len(), 1);
    assert!(seen(&db, id).await.finished);
    privileges::drop_members(&db, ROLES).await;
}

#[tokio::test]
async fn a_forged_event_of_one_that_was_sent_cannot_be_cancelled_into_another_end() {
    let db = with_profiles().await;
    privileges::create_members(&db, ROLES).await;
    let id: i64 = db
        .query_one("SELECT pgrelay_notifier.send_webhook('hook', '1')", &[])
        .await;
    db.execute("UPDATE pgrelay.queue SET status = 'done', finished_at = now()")
        .await;
    report(&db, id, "'sent', NULL, NULL, 1, 1").await;
    forge(&db, id, "").await;
    let stored = "SELECT n::text FROM pgrelay_notifier.notifications AS n WHERE n.id = $1";
    let before: String = db.query_one(stored, &[&id]).await;
    let cancelled: bool = db
        .query_one("SELECT pgrelay_notifier.cancel($1)", &[&id])
        .await;
    assert!(!cancelled);
    assert_eq!(db.query_one::<String>(stored, &[&id]).await, before);
    privileges::drop_members(&db, ROLES).await;
}
