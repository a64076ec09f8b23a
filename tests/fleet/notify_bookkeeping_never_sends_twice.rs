//! What was sent once is not sent again because recording it failed: `set_status` may raise, hang, defer its complaint to COMMIT or spoil the session.

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;
use fleet_tests::wait;

use crate::notify_receiver::Receiver;
use crate::notify_recorder::{
    before_fetch, before_set_status, database, enqueue, finished, in_flight, log, statuses, store,
    told,
};
use crate::steps::ended;

/// What the operator hears of a report that raised ZZ001.
const LOST: &str =
    "set_status() of the notifier failed for notification 7, its status is lost (SQLSTATE ZZ001)";

/// Sends notification 7, and expects one request and one attempt that the queue calls well.
async fn sent_once(db: &Database) -> Processor {
    let receiver = Receiver::start(&[]).await;
    store(db, 7, "webhook", &receiver.profile()).await;
    let processor = Processor::start(db).await;
    let event = enqueue(db, 7).await;
    assert_eq!(ended(db, event).await, "done");
    assert_eq!(receiver.requests().len(), 1);
    assert_eq!(log(db, 7).await, [("ok".to_owned(), 1, None)]);
    processor
}

#[tokio::test]
async fn a_raising_set_status_loses_its_own_write() {
    let db = database().await;
    before_set_status(&db, "RAISE EXCEPTION 'zanzibar' USING ERRCODE = 'ZZ001'").await;
    let mut processor = sent_once(&db).await;
    processor.wait_for_log(LOST, wait::SOON).await;
    assert!(
        !processor.logs().contains("zanzibar"),
        "its words are in the log"
    );
    assert_eq!(statuses(&db, 7).await, []);
}

#[tokio::test]
async fn a_set_status_that_is_gone_loses_it_too() {
    let db = database().await;
    before_fetch(&db, "NULL").await;
    let (receiver, _processor, event) = in_flight(&db).await;
    db.execute("DROP FUNCTION recorder.set_status").await;
    receiver.open();
    assert_eq!(ended(&db, event).await, "done");
    assert_eq!(receiver.requests().len(), 1);
}

/// A complaint about every row of `table`, deferred to COMMIT.
fn complain_about(table: &str) -> String {
    format!(
        "CREATE FUNCTION recorder.complain() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION USING ERRCODE = 'ZZ001'; END $$;
         CREATE CONSTRAINT TRIGGER complaint AFTER INSERT ON {table} DEFERRABLE INITIALLY DEFERRED
             FOR EACH ROW EXECUTE FUNCTION recorder.complain()"
    )
}

#[tokio::test]
async fn a_complaint_that_is_deferred_to_commit_is_heard_before() {
    let db = database().await;
    db.execute(&complain_about("recorder.calls")).await;
    let mut processor = sent_once(&db).await;
    processor.wait_for_log(LOST, wait::SOON).await;
    assert_eq!(statuses(&db, 7).await, []);
}

#[tokio::test]
async fn one_that_comes_up_in_commit_itself_costs_the_status_too() {
    let db = database().await;
    db.execute(&format!(
        "CREATE TABLE recorder.later (id bigint); {};
         CREATE FUNCTION recorder.put_off() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             SET CONSTRAINTS ALL DEFERRED; INSERT INTO recorder.later VALUES (new.id); RETURN NULL;
         END $$;
         CREATE CONSTRAINT TRIGGER put_off AFTER INSERT ON recorder.calls DEFERRABLE INITIALLY DEFERRED
             FOR EACH ROW EXECUTE FUNCTION recorder.put_off()",
        complain_about("recorder.later")
    ))
    .await;
    let mut processor = sent_once(&db).await;
    let warning = "its settlement failed and is tried again (SQLSTATE ZZ001)";
    processor.wait_for_log(warning, wait::SOON).await;
    assert_eq!(statuses(&db, 7).await, []);
}

#[tokio::test]
async fn a_hanging_set_status_is_given_up_and_tried_again() {
    let db = database().await;
    // A sequence keeps what a rolled back report did.
    db.execute("CREATE SEQUENCE recorder.tries").await;
    let hang = "IF nextval('recorder.tries') = 1 THEN PERFORM pg_sleep(3600); END IF";
    before_set_status(&db, hang).await;
    let processor = sent_once(&db).await;
    let warning = "for notification 7 and is tried again (SQLSTATE 57014)";
    assert!(processor.logs().contains(warning), "{}", processor.logs());
    assert_eq!(statuses(&db, 7).await, told(&[("sent", 1)]));
}

#[tokio::test]
async fn a_report_that_meets_a_lock_is_tried_again_with_the_claim_in_hand() {
    let db = database().await;
    let (receiver, mut processor, event) = in_flight(&db).await;
    let mut somebody = db.connect().await;
    let lock = somebody.transaction().await.expect("a transaction");
    let sql = "LOCK TABLE recorder.calls IN ACCESS EXCLUSIVE MODE";
    lock.batch_execute(sql).await.expect("the lock");
    receiver.open();
    let again = "set_status() of the notifier failed for notification 7 and is tried again (SQLSTATE 55P03)";
    processor.wait_for_log(again, wait::SOON).await;
    let killed: bool = db.query_one("SELECT pgrelay.kill($1)", &[&event]).await;
    assert!(!killed, "its claim was let go");
    lock.rollback().await.expect("the lock to be let go");
    assert_eq!(ended(&db, event).await, "done");
    assert_eq!(statuses(&db, 7).await, told(&[("sent", 1)]));
    assert_eq!(log(&db, 7).await, [("ok".to_owned(), 1, None)]);
    assert_eq!(receiver.requests().len(), 1);
}

#[tokio::test]
async fn a_report_that_fails_again_and_again_is_given_up_and_named() {
    let db = database().await;
    before_set_status(&db, "RAISE EXCEPTION USING ERRCODE = '55P03'").await;
    let receiver = Receiver::start(&[]).await;
    store(&db, 7, "webhook", &receiver.profile()).await;
    let mut processor = Processor::start(&db).await;
    let event = enqueue(&db, 7).await;
    let lost = "set_status() of the notifier failed for notification 7, its status is lost (SQLSTATE 55P03)";
    processor.wait_for_log(lost, wait::SOON * 2).await;
    assert_eq!(ended(&db, event).await, "done");
    assert_eq!(receiver.requests().len(), 1);
    assert_eq!(log(&db, 7).await, [("ok".to_owned(), 1, None)]);
    let set_status = processor.logs().matches("set_status()").count();
    assert_eq!(
        set_status,
        2,
        "one line for all that are tried again: {}",
        processor.logs()
    );
}

#[tokio::test]
async fn a_drain_settles_what_was_sent_without_a_report_that_goes_on_failing() {
    let db = database().await;
    let receiver = Receiver::closed(&[]).await;
    store(&db, 7, "webhook", &receiver.profile()).await;
    let mut processor = Processor::with(&db, |config| config.set("SHUTDOWN_TIMEOUT", "3s")).await;
    let event = enqueue(&db, 7).await;
    receiver.wait_for(1).await;
    let mut somebody = db.connect().await;
    let lock = somebody.transaction().await.expect("a transaction");
    let sql = "LOCK TABLE recorder.calls IN ACCESS EXCLUSIVE MODE";
    lock.batch_execute(sql).await.expect("the lock");
    receiver.open();
    let again = "set_status() of the notifier failed for notification 7 and is tried again (SQLSTATE 57014)";
    processor.wait_for_log(again, wait::SOON).await;
    processor.terminate();
    assert_eq!(processor.wait_exit(wait::SOON).await, 0);
    let logs = processor.logs();
    assert!(!logs.contains("not drained within"), "{logs}");
    let lost = "for notification 7, its status is lost (SQLSTATE 57014)";
    assert!(logs.contains(lost), "{logs}");
    assert_eq!(ended(&db, event).await, "done");
    assert_eq!(log(&db, 7).await, [("ok".to_owned(), 1, None)]);
    lock.rollback().await.expect("the lock to be let go");
}

#[tokio::test]
async fn prepared_statements_that_the_notifier_dropped_are_prepared_again() {
    let db = database().await;
    before_fetch(&db, "EXECUTE 'DEALLOCATE ALL'").await;
    sent_once(&db).await;
    assert_eq!(statuses(&db, 7).await, told(&[("sent", 1)]));
}

#[tokio::test]
async fn settings_and_roles_that_the_notifier_leaves_behind_are_gone() {
    let db = database().await;
    db.execute("CREATE SCHEMA evil; CREATE FUNCTION evil.now() RETURNS timestamptz LANGUAGE sql AS 'SELECT NULL::timestamptz'")
        .await;
    before_set_status(
        &db,
        "PERFORM set_config('search_path', 'evil', false), set_config('statement_timeout', '1', false), set_config('default_transaction_read_only', 'on', false)",
    )
    .await;
    let _processor = sent_once(&db).await;
    for id in 8..20 {
        let receiver = Receiver::start(&[]).await;
        store(&db, id, "webhook", &receiver.profile()).await;
        enqueue(&db, id).await;
        finished(&db, id).await;
        assert_eq!(statuses(&db, id).await, told(&[("sent", 1)]));
    }
}

#[tokio::test]
async fn a_locked_row_is_waited_for_with_the_claim_in_hand() {
    let db = database().await;
    let (receiver, mut processor, event) = in_flight(&db).await;
    let mut somebody = db.connect().await;
    let lock = somebody.transaction().await.expect("a transaction");
    let sql = "SELECT FROM pgrelay.queue WHERE id = $1 FOR UPDATE";
    lock.execute(sql, &[&event]).await.expect("the row");
    receiver.open();
    let waiting = "its settlement failed and is tried again (SQLSTATE 55P03)";
    processor.wait_for_log(waiting, wait::SOON).await;
    lock.rollback().await.expect("the lock to be let go");
    assert_eq!(ended(&db, event).await, "done");
    assert_eq!(receiver.requests().len(), 1);
    assert_eq!(statuses(&db, 7).await, told(&[("sent", 1)]));
}

#[tokio::test]
async fn who_ends_the_event_meanwhile_has_the_last_word_and_the_attempt_is_recorded() {
    for (answer, told_status, logged) in [(204, "sent", "ok"), (503, "failed", "error")] {
        let db = database().await;
        let receiver = Receiver::closed(&[answer]).await;
        store(&db, 7, "webhook", &receiver.profile()).await;
        let mut processor = Processor::start(&db).await;
        let event = enqueue(&db, 7).await;
        receiver.wait_for(1).await;
        let end = "UPDATE pgrelay.queue SET status = 'expired', finished_at = now() WHERE status = 'pending'";
        db.execute(end).await;
        receiver.open();
        let warning = "was ended by somebody else";
        processor.wait_for_log(warning, wait::SOON).await;
        assert_eq!(statuses(&db, 7).await, told(&[(told_status, 1)]));
        assert_eq!(ended(&db, event).await, "expired");
        let log = log(&db, 7).await;
        assert_eq!(log.len(), 1, "no retry follows: {log:?}");
        assert_eq!(log[0].0, logged);
    }
}

#[tokio::test]
async fn a_notifier_that_takes_the_session_down_sends_three_times_and_no_more() {
    let db = database().await;
    before_set_status(&db, "PERFORM pg_terminate_backend(pg_backend_pid())").await;
    let receiver = Receiver::start(&[]).await;
    store(&db, 7, "webhook", &receiver.profile()).await;
    let _processor = Processor::start(&db).await;
    let event = enqueue(&db, 7).await;
    assert_eq!(ended(&db, event).await, "error");
    assert_eq!(receiver.requests().len(), 3);
    let error = log(&db, 7).await.remove(0).2.unwrap();
    assert!(
        error.contains("the database session was lost 4 times"),
        "{error}"
    );
}
