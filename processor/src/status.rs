//! `status`: Processors, channels, backlog and the latest failures, for a person or a script.

mod table;

use crate::oneshot::{self, DatabaseError, Report};
use crate::schema::{PGRELAY, SchemaError, State, Version, installed_version, read_state};
use serde::Serialize;
use serde_json::Value;
use shared::db::connect::Connector;
use table::Table;
use tokio_postgres::Client;

const APP: &str = "pg-relay-processor status";

// Each query gives one JSON object per row, so that the text and --json show the same facts.

const QUEUE: &str = "
SELECT to_jsonb(r) FROM (
    SELECT q.pending_due, q.pending_future,
        extract(epoch FROM q.oldest_due_age)::float8 AS oldest_due_seconds,
        q.paused_until, q.processors_alive, q.events_with_crashes, q.dead_rows,
        q.multixact_age, q.notification_queue_usage
    FROM pgrelay.queue_status AS q
) AS r";

const PROCESSORS: &str = "
SELECT to_jsonb(r) FROM (
    SELECT p.*, extract(epoch FROM pg_catalog.clock_timestamp() - p.last_seen)::float8 AS seen_seconds_ago
    FROM pgrelay.processor_status AS p
    ORDER BY p.host, p.started_at
    LIMIT 200
) AS r";

const CHANNELS: &str = "
SELECT to_jsonb(r) FROM (
    SELECT c.channel, c.registered, c.enabled, c.action_type, c.concurrency_mode, c.max_retries,
        c.node_restricted, c.pending_due, c.pending_future,
        extract(epoch FROM c.oldest_due_age)::float8 AS oldest_due_seconds
    FROM pgrelay.channel_status AS c
    ORDER BY c.pending_due DESC, c.pending_future DESC, c.channel
    LIMIT 200
) AS r";

// The latest 10,000 attempts are looked through: a log without failures must not be read to its end.
const FAILURES: &str = "
SELECT to_jsonb(r) FROM (
    SELECT l.id AS log_id, l.queue_id, l.channel, l.status, l.attempt, l.sqlstate, l.error, l.started_at, l.host
    FROM (
        SELECT n.* FROM pgrelay.log AS n ORDER BY n.id DESC LIMIT 10000
    ) AS l
    WHERE l.status IN ('error', 'max_retries_exceeded', 'expired', 'invalid')
    ORDER BY l.id DESC
    LIMIT 10
) AS r";

/// Everything that is shown.
#[derive(Debug, Serialize)]
struct Status {
    version: String,
    queue: Value,
    processors: Vec<Value>,
    channels: Vec<Value>,
    failures: Vec<Value>,
}

/// `status`.
pub async fn status(connector: &Connector, json: bool) -> Result<Report, SchemaError> {
    let session = oneshot::open(connector, APP).await?;
    let client = &session.client;
    let version = installed(client).await?;
    let status = Status {
        version: version.to_string(),
        queue: read(client, QUEUE).await?.pop().unwrap_or(Value::Null),
        processors: read(client, PROCESSORS).await?,
        channels: read(client, CHANNELS).await?,
        failures: read(client, FAILURES).await?,
    };
    session.close().await;
    Ok(Report::done(if json {
        status.as_json()
    } else {
        format!("{}\n\n{}", connector.target(), status.as_text())
    }))
}

async fn installed(client: &Client) -> Result<Version, SchemaError> {
    let state: State = read_state(client, &PGRELAY).await?;
    let who = oneshot::whereabouts(client).await?;
    installed_version(&PGRELAY, state, &who)
}

async fn read(client: &Client, sql: &str) -> Result<Vec<Value>, DatabaseError> {
    let rows = client
        .query(sql, &[])
        .await
        .map_err(DatabaseError::statement("reading the status"))?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

impl Status {
    fn as_json(&self) -> String {
        serde_json::to_string(self).expect("JSON values can be written as JSON")
    }

    fn as_text(&self) -> String {
        let sections = [
            ("Queue", queue_table(&self.queue)),
            (
                "Processors",
                Table::new(&[
                    ("host", "host"),
                    ("pid", "pid"),
                    ("state", "state"),
                    ("version", "version"),
                    ("node", "node"),
                    ("seen s ago", "seen_seconds_ago"),
                    ("ok", "events_ok"),
                    ("retried", "events_retried"),
                    ("failed", "events_failed"),
                ])
                .rows(&self.processors),
            ),
            (
                "Channels",
                Table::new(&[
                    ("channel", "channel"),
                    ("type", "action_type"),
                    ("mode", "concurrency_mode"),
                    ("enabled", "enabled"),
                    ("due", "pending_due"),
                    ("later", "pending_future"),
                    ("oldest s", "oldest_due_seconds"),
                ])
                .rows(&self.channels),
            ),
            (
                "Latest failures",
                Table::new(&[
                    ("event", "queue_id"),
                    ("channel", "channel"),
                    ("status", "status"),
                    ("attempt", "attempt"),
                    ("at", "started_at"),
                    ("sqlstate", "sqlstate"),
                    ("error", "error"),
                ])
                .rows(&self.failures),
            ),
        ];
        let version = &self.version;
        let sections: Vec<String> = sections
            .iter()
            .map(|(title, table)| format!("{title}\n{table}"))
            .collect();
        format!("pgrelay {version}\n\n{}", sections.join("\n"))
    }
}

fn queue_table(queue: &Value) -> Table {
    Table::new(&[
        ("due", "pending_due"),
        ("later", "pending_future"),
        ("oldest s", "oldest_due_seconds"),
        ("paused until", "paused_until"),
        ("processors", "processors_alive"),
        ("with crashes", "events_with_crashes"),
        ("dead rows", "dead_rows"),
        ("notify queue", "notification_queue_usage"),
    ])
    .rows(std::slice::from_ref(queue))
}
