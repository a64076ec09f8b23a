//! Steps of the tests that send mail with the notifier: a profile, a message, and what becomes of it.

use fleet_tests::database::Database;
use fleet_tests::wait;
use serde_json::{Value, json};
use std::time::Duration;

use crate::notifier_db::{Seen, seen};

/// Three attempts at most, each a few seconds long, on a busy machine.
const FINISH_LIMIT: Duration = Duration::from_secs(40);

/// A database with the notifier, and nothing in it.
pub(crate) async fn database() -> Database {
    Database::with_companion("notifier").await
}

/// A profile for a server on this host, without encryption, changed by `settings`.
pub(crate) fn plain(port: u16, settings: Value) -> Value {
    let mut profile = json!({
        "host": "127.0.0.1", "port": port, "security": "none", "from": "App <app@test.example>", "timeout_seconds": 10,
    });
    let Value::Object(settings) = settings else {
        panic!("settings are an object");
    };
    let members = profile.as_object_mut().expect("an object");
    members.extend(settings);
    profile
}

/// Creates a profile of transport smtp.
pub(crate) async fn profile(db: &Database, name: &str, settings: &Value) {
    let sql = "SELECT pgrelay_notifier.create_profile($1, 'smtp', $2)::text";
    db.query_one::<String>(sql, &[&name, settings]).await;
}

/// Sends a message in a transaction of its own.
pub(crate) async fn send(db: &Database, profile: &str, message: &Value) -> i64 {
    let sql = "SELECT pgrelay_notifier.send($1, $2)";
    db.query_one(sql, &[&profile, message]).await
}

/// A message with little in it.
pub(crate) fn to(recipient: &str) -> Value {
    json!({"to": recipient, "subject": "Hello", "text": "Hello.\n"})
}

/// Waits for the end of a notification; its retries are made due at once.
pub(crate) async fn finished(db: &Database, id: i64) -> Seen {
    wait::until(
        &format!("the end of notification {id}"),
        FINISH_LIMIT,
        || async {
            hurry(db).await;
            let seen = seen(db, id).await;
            if seen.finished {
                Ok(seen)
            } else {
                Err(format!("{seen:?}"))
            }
        },
    )
    .await
}

/// Waits until a notification has a status.
pub(crate) async fn reaches(db: &Database, id: i64, status: &str) {
    let sql = format!("SELECT status FROM pgrelay_notifier.notification_status WHERE id = {id}");
    db.until_equals(&sql, status.to_owned(), FINISH_LIMIT).await;
}

/// Makes every retry due. A retry is never due earlier than now but by this.
pub(crate) async fn hurry(db: &Database) {
    db.execute(
        "UPDATE pgrelay.queue SET run_at = now()
         WHERE status = 'pending' AND action_type = 'notify' AND retry_count > 0 AND run_at > now()",
    )
    .await;
}

/// The log of a notification's events: status, attempt and error, in order.
pub(crate) async fn log_of(db: &Database, id: i64) -> Vec<(String, i32, Option<String>)> {
    let sql = "SELECT l.status, l.attempt, l.error FROM pgrelay.log AS l JOIN pgrelay.queue AS q ON q.id = l.queue_id
               WHERE q.action_type = 'notify' AND q.payload = $1::int8::text ORDER BY l.id";
    let rows = db.rows(sql, &[&id]).await;
    rows.iter()
        .map(|row| (row.get(0), row.get(1), row.get(2)))
        .collect()
}

/// The Message-ID it was given, without angle brackets.
pub(crate) async fn message_id(db: &Database, id: i64) -> String {
    let sql = "SELECT btrim(n.message ->> 'message_id', '<>') FROM pgrelay_notifier.notifications AS n WHERE n.id = $1";
    db.query_one(sql, &[&id]).await
}
