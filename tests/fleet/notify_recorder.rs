//! A notifier that only records: what the Processor asks of a notifier and tells it, seen from the other side of the interface.
//!
//! It lives in a schema of another name than the real one, since a Processor finds its notifier through `pgrelay.companions`.

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;
use fleet_tests::wait;
use serde_json::Value;

use crate::notify_receiver::Receiver;
use crate::steps::{literal, notify};

const NOTIFIER: &str = "
    CREATE SCHEMA recorder;
    GRANT USAGE ON SCHEMA recorder TO pgrelay_processor;
    CREATE TABLE recorder.notifications (id bigint PRIMARY KEY, transport text, profile jsonb, message jsonb, debug boolean);
    CREATE TABLE recorder.calls (place bigint GENERATED ALWAYS AS IDENTITY, id bigint, status text, detail text, provider_ref text,
        elapsed_ms integer, attempt integer);
    CREATE TABLE recorder.steps (place bigint GENERATED ALWAYS AS IDENTITY, id bigint, step text, detail text);
    CREATE FUNCTION recorder.interface_version() RETURNS integer LANGUAGE sql AS 'SELECT 1';
    CREATE FUNCTION recorder.fetch(p_id bigint) RETURNS TABLE (transport text, profile jsonb, message jsonb, debug boolean)
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog
        AS 'SELECT n.transport, n.profile, n.message, n.debug FROM recorder.notifications AS n WHERE n.id = p_id';
    CREATE FUNCTION recorder.set_status(p_id bigint, p_status text, p_detail text, p_provider_ref text, p_elapsed_ms integer, p_attempt integer)
        RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog
        AS 'INSERT INTO recorder.calls (id, status, detail, provider_ref, elapsed_ms, attempt)
            VALUES (p_id, p_status, p_detail, p_provider_ref, p_elapsed_ms, p_attempt)';
    CREATE FUNCTION recorder.debug_log(p_id bigint, p_step text, p_detail text) RETURNS void
        LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog
        AS 'INSERT INTO recorder.steps (id, step, detail) VALUES (p_id, p_step, p_detail)';";

/// Announces it, as an install script does last.
pub(crate) const ANNOUNCE: &str =
    "SELECT pgrelay.register_companion('pg_relay_notifier', 'recorder', '1.0')";

/// Puts PL/pgSQL before what `set_status` does.
pub(crate) async fn before_set_status(db: &Database, statements: &str) {
    db.execute(&format!(
        "CREATE OR REPLACE FUNCTION recorder.set_status(p_id bigint, p_status text, p_detail text, p_provider_ref text,
             p_elapsed_ms integer, p_attempt integer) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog
         AS $f$ BEGIN {statements};
             INSERT INTO recorder.calls (id, status, detail, provider_ref, elapsed_ms, attempt)
             VALUES (p_id, p_status, p_detail, p_provider_ref, p_elapsed_ms, p_attempt);
         END $f$"
    ))
    .await;
}

/// Puts PL/pgSQL before what `fetch` does.
pub(crate) async fn before_fetch(db: &Database, statements: &str) {
    db.execute(&format!(
        "CREATE OR REPLACE FUNCTION recorder.fetch(p_id bigint)
             RETURNS TABLE (transport text, profile jsonb, message jsonb, debug boolean)
             LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog
         AS $f$ BEGIN {statements};
             RETURN QUERY SELECT n.transport, n.profile, n.message, n.debug FROM recorder.notifications AS n WHERE n.id = p_id;
         END $f$"
    ))
    .await;
}

/// One call of `set_status`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) status: String,
    pub(crate) attempt: i32,
    pub(crate) detail: Option<String>,
    pub(crate) provider_ref: Option<String>,
    pub(crate) elapsed_ms: i32,
}

/// Creates its schema; nobody knows of it yet.
pub(crate) async fn create(db: &Database) {
    db.execute(NOTIFIER).await;
}

/// Installs it, and a channel `mail` with two retries.
pub(crate) async fn install(db: &Database) {
    create(db).await;
    db.execute(ANNOUNCE).await;
    channel(db, "max_retries := 2").await;
}

/// A database with the queue, this notifier and a channel `mail` with two retries.
pub(crate) async fn database() -> Database {
    let db = Database::with_schema().await;
    install(&db).await;
    db
}

/// Registers the channel `mail`; `settings` are further arguments.
pub(crate) async fn channel(db: &Database, settings: &str) {
    db.execute(&format!(
        "SELECT pgrelay.register('mail', action_type := 'notify', {settings})"
    ))
    .await;
}

/// Stores a notification.
pub(crate) async fn store(db: &Database, id: i64, transport: &str, profile: &Value) {
    let message = serde_json::json!({"body": {"id": id}});
    let sql = "INSERT INTO recorder.notifications VALUES ($1, $2, $3, $4, false)";
    db.rows(sql, &[&id, &transport, profile, &message]).await;
}

/// Stores one that no host can send: nobody listens at port 1.
pub(crate) async fn store_refused(db: &Database, id: i64) {
    let profile = serde_json::json!({"url": "http://127.0.0.1:1/", "allow_private_network": true});
    store(db, id, "webhook", &profile).await;
}

/// Enqueues the event of notification `id`, and gives the event's id.
pub(crate) async fn enqueue(db: &Database, id: i64) -> i64 {
    notify(db, "mail", &id.to_string()).await
}

/// Has a Processor send notification 7 to a receiver that does not answer yet, and returns when the request is there, with the event's id.
pub(crate) async fn in_flight(db: &Database) -> (Receiver, Processor, i64) {
    let receiver = Receiver::closed(&[]).await;
    store(db, 7, "webhook", &receiver.profile()).await;
    let processor = Processor::start(db).await;
    let event = enqueue(db, 7).await;
    receiver.wait_for(1).await;
    (receiver, processor, event)
}

/// The calls of `set_status` for a notification so far, in order.
pub(crate) async fn calls(db: &Database, id: i64) -> Vec<Call> {
    let sql = "SELECT c.* FROM recorder.calls AS c WHERE c.id = $1 ORDER BY c.place";
    let rows = db.rows(sql, &[&id]).await;
    rows.iter()
        .map(|row| Call {
            status: row.get("status"),
            attempt: row.get("attempt"),
            detail: row.get("detail"),
            provider_ref: row.get("provider_ref"),
            elapsed_ms: row.get("elapsed_ms"),
        })
        .collect()
}

/// Status and attempt of those calls.
pub(crate) async fn statuses(db: &Database, id: i64) -> Vec<(String, i32)> {
    let calls = calls(db, id).await;
    calls.into_iter().map(|c| (c.status, c.attempt)).collect()
}

/// What `statuses` gives, written down.
pub(crate) fn told(expected: &[(&str, i32)]) -> Vec<(String, i32)> {
    expected
        .iter()
        .map(|(status, attempt)| ((*status).to_owned(), *attempt))
        .collect()
}

/// The log of all events of notification `id`: status, attempt and error, in the order of their ids.
pub(crate) async fn log(db: &Database, id: i64) -> Vec<(String, i32, Option<String>)> {
    let sql = "SELECT l.status, l.attempt, l.error FROM pgrelay.log AS l JOIN pgrelay.queue AS q ON q.id = l.queue_id \
               WHERE q.payload = $1 ORDER BY l.id";
    let rows = db.rows(sql, &[&id.to_string()]).await;
    rows.iter()
        .map(|row| (row.get(0), row.get(1), row.get(2)))
        .collect()
}

/// Waits until no event of the notification is pending; retries are made due at once.
pub(crate) async fn finished(db: &Database, id: i64) {
    let what = format!("notification {id} to be finished");
    let pending = "SELECT count(*) FROM pgrelay.queue WHERE payload = $1 AND status = 'pending'";
    let hurry = format!(
        "UPDATE pgrelay.queue SET run_at = now() WHERE payload = {} AND status = 'pending' AND retry_count > 0 AND run_at > now()",
        literal(&id.to_string())
    );
    wait::until(&what, wait::SOON, || async {
        db.execute(&hurry).await;
        match db.query_one::<i64>(pending, &[&id.to_string()]).await {
            0 => Ok(()),
            left => Err(format!("{left} events pending, {:?}", log(db, id).await)),
        }
    })
    .await;
}
