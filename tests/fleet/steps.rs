//! Steps that many tests take: register a channel, enqueue, and wait for what becomes of the event.

use fleet_tests::database::{Database, describe};
use fleet_tests::wait;
use tokio_postgres::Client;

/// A row of `pgrelay.log`, without its times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Logged {
    pub(crate) queue_id: i64,
    pub(crate) retry_queue_id: Option<i64>,
    pub(crate) served_by: Option<i64>,
    pub(crate) status: String,
    pub(crate) attempt: i32,
    pub(crate) sqlstate: Option<String>,
    pub(crate) error: Option<String>,
}

/// What the server said when it refused a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) sqlstate: String,
    pub(crate) message: String,
    pub(crate) detail: Option<String>,
    pub(crate) hint: Option<String>,
}

/// Text as an SQL literal.
pub(crate) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Registers a channel; `settings` are further arguments, such as `max_retries := 3`.
pub(crate) async fn register(db: &Database, channel: &str, action: &str, settings: &str) {
    let comma = if settings.is_empty() { "" } else { ", " };
    let (channel, action) = (literal(channel), literal(action));
    db.execute(&format!(
        "SELECT pgrelay.register({channel}, {action}{comma}{settings})"
    ))
    .await;
}

/// Enqueues an event in a transaction of its own.
pub(crate) async fn notify(db: &Database, channel: &str, payload: &str) -> i64 {
    notify_with(db, channel, &literal(payload)).await
}

/// The same with arguments as SQL, such as `'a', run_at => now()`.
pub(crate) async fn notify_with(db: &Database, channel: &str, arguments: &str) -> i64 {
    let sql = format!("SELECT pgrelay.notify({}, {arguments})", literal(channel));
    db.query_one(&sql, &[]).await
}

/// Waits until the event is resolved, and gives its status.
pub(crate) async fn ended(db: &Database, id: i64) -> String {
    let sql = "SELECT q.status FROM pgrelay.queue AS q WHERE q.id = $1";
    let what = format!("event {id} to be resolved");
    wait::until(&what, wait::SOON, || async {
        match db.query_opt::<String>(sql, &[&id]).await {
            Some(status) if status != "pending" => Ok(status),
            seen => Err(format!("{seen:?}")),
        }
    })
    .await
}

/// Waits until no event of any channel is pending.
pub(crate) async fn all_ended(db: &Database) {
    let sql = "SELECT count(*) FROM pgrelay.queue WHERE status = 'pending'";
    db.until_equals(sql, 0_i64, wait::SOON * 3).await;
}

/// The log rows of one event, in the order of their ids.
pub(crate) async fn log_of(db: &Database, id: i64) -> Vec<Logged> {
    let sql = "SELECT l.* FROM pgrelay.log AS l WHERE l.queue_id = $1 ORDER BY l.id";
    let rows = db.rows(sql, &[&id]).await;
    rows.iter()
        .map(|row| Logged {
            queue_id: row.get("queue_id"),
            retry_queue_id: row.get("retry_queue_id"),
            served_by: row.get("served_by"),
            status: row.get("status"),
            attempt: row.get("attempt"),
            sqlstate: row.get("sqlstate"),
            error: row.get("error"),
        })
        .collect()
}

/// Waits for the end of the event and gives its only log row.
pub(crate) async fn only_log_row(db: &Database, id: i64) -> Logged {
    ended(db, id).await;
    let mut rows = log_of(db, id).await;
    assert_eq!(rows.len(), 1, "log rows of event {id}: {rows:?}");
    rows.remove(0)
}

/// Enqueues an event, waits for its end and gives its only log row.
pub(crate) async fn run_one(db: &Database, channel: &str, payload: &str) -> Logged {
    let id = notify(db, channel, payload).await;
    only_log_row(db, id).await
}

/// Runs a statement that the server must refuse.
pub(crate) async fn refusal(session: &Client, sql: &str) -> Refusal {
    let error = match session.query(sql, &[]).await {
        Ok(rows) => panic!("{sql} was not refused and gave {} rows", rows.len()),
        Err(error) => error,
    };
    let Some(said) = error.as_db_error() else {
        panic!("{sql}: {}", describe(&error));
    };
    Refusal {
        sqlstate: said.code().code().to_owned(),
        message: said.message().to_owned(),
        detail: said.detail().map(str::to_owned),
        hint: said.hint().map(str::to_owned),
    }
}
