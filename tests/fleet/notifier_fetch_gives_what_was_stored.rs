//! fetch() gives a Processor the profile and the message as they are stored, and leaves no trace in the held transaction.

use serde_json::{Value, json};

use crate::notifier_db::{report, send, with_profiles};

#[tokio::test]
async fn profile_and_message_come_as_they_are_stored() {
    let db = with_profiles().await;
    db.execute(r#"SELECT pgrelay_notifier.update_profile('mail', '{"host": "_env:MAIL_HOST", "from": "a@example.org", "later": [1]}')"#)
        .await;
    let sql = r#"SELECT pgrelay_notifier.send('mail', '{"to": "b@example.org", "message_id": "<1@example.org>", "later": null}', p_debug => true)"#;
    let id: i64 = db.query_one(sql, &[]).await;
    let sql = "SELECT f.transport, f.profile::text, f.message::text, f.debug FROM pgrelay_notifier.fetch($1) AS f";
    for _ in 0..2 {
        let rows = db.rows(sql, &[&id]).await;
        assert_eq!(rows.len(), 1);
        let json = |column| serde_json::from_str::<Value>(rows[0].get(column)).unwrap();
        assert_eq!(rows[0].get::<_, String>(0), "smtp");
        let profile = json!({"host": "_env:MAIL_HOST", "from": "a@example.org", "later": [1]});
        assert_eq!(json(1), profile);
        let message =
            json!({"to": "b@example.org", "message_id": "<1@example.org>", "later": null});
        assert_eq!(json(2), message);
        assert!(rows[0].get::<_, bool>(3));
    }
}

#[tokio::test]
async fn an_unknown_id_gives_no_row() {
    let db = with_profiles().await;
    for id in ["0", "-1", "9223372036854775807", "NULL"] {
        let sql = format!("SELECT count(*) FROM pgrelay_notifier.fetch({id})");
        assert_eq!(db.query_one::<i64>(&sql, &[]).await, 0, "{id}");
    }
}

#[tokio::test]
async fn what_was_sent_is_not_given_again_and_whatever_else_became_of_it_is_no_obstacle() {
    let db = with_profiles().await;
    for (status, given) in [
        ("retry", 1),
        // pgrelay.redrive() tries these again.
        ("failed", 1),
        ("expired", 1),
        ("invalid", 1),
        ("sent", 0),
    ] {
        let id = send(&db).await;
        report(&db, id, &format!("'{status}', NULL, NULL, 1, 1")).await;
        let sql = "SELECT count(*) FROM pgrelay_notifier.fetch($1)";
        assert_eq!(db.query_one::<i64>(sql, &[&id]).await, given, "{status}");
    }
    // A report that is rolled back, as one before a lost COMMIT is, is none.
    let id = send(&db).await;
    db.execute(&format!(
        "BEGIN; SELECT pgrelay_notifier.set_status({id}, 'sent', NULL, NULL, 1, 1); ROLLBACK"
    ))
    .await;
    let sql = "SELECT count(*) FROM pgrelay_notifier.fetch($1)";
    assert_eq!(db.query_one::<i64>(sql, &[&id]).await, 1);
}

#[tokio::test]
async fn a_held_transaction_stays_without_an_id_and_without_locks() {
    let db = with_profiles().await;
    let id = send(&db).await;
    let held = db.connect().await;
    held.batch_execute("BEGIN").await.unwrap();
    let sql = "SELECT count(*) FROM pgrelay_notifier.fetch($1)";
    let found: i64 = held.query_one(sql, &[&id]).await.unwrap().get(0);
    assert_eq!(found, 1);
    let sql = "SELECT pg_current_xact_id_if_assigned()::text";
    let xid: Option<String> = held.query_one(sql, &[]).await.unwrap().get(0);
    assert_eq!(xid, None);
    // Neither the notification nor its profile is locked against anybody.
    db.execute("UPDATE pgrelay_notifier.notifications SET debug = true; SELECT FROM pgrelay_notifier.profiles FOR UPDATE NOWAIT")
        .await;
    held.batch_execute("COMMIT").await.unwrap();
}

#[tokio::test]
async fn a_changed_profile_holds_for_what_is_queued() {
    let db = with_profiles().await;
    let id = send(&db).await;
    db.execute(r#"SELECT pgrelay_notifier.update_profile('mail', '{"host": "other.example.org", "from": "b@example.org"}')"#)
        .await;
    let sql = "SELECT f.profile ->> 'host' FROM pgrelay_notifier.fetch($1) AS f";
    assert_eq!(
        db.query_one::<String>(sql, &[&id]).await,
        "other.example.org"
    );
}
