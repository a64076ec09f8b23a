//! One event from beginning to end, as the log tells it.

use super::DemoError;
use crate::oneshot::DatabaseError;
use std::fmt::Write as _;
use tokio_postgres::Client;

const CHAIN: &str = "
WITH RECURSIVE chain AS (
    SELECT l.* FROM pgrelay.log AS l
    WHERE l.id = (
        SELECT f.id FROM pgrelay.log AS f
        WHERE f.queue_id > $1 AND f.channel = 'pgrelay_demo.stubborn' AND f.attempt = 1 AND f.retry_queue_id IS NOT NULL
        ORDER BY f.id
        LIMIT 1
    )
    UNION ALL
    SELECT l.* FROM chain AS c JOIN pgrelay.log AS l ON l.queue_id = c.retry_queue_id
)
SELECT c.id, c.queue_id, c.attempt, c.status, c.retry_queue_id, coalesce(c.sqlstate, ''), coalesce(c.error, ''),
    extract(epoch FROM c.started_at - min(c.started_at) OVER ())::float8, c.elapsed_ms, c.channel
FROM chain AS c
ORDER BY c.id";

/// The log rows of the first event that needed two retries.
pub(super) async fn tell(client: &Client, baseline: i64) -> Result<String, DemoError> {
    let rows = client.query(CHAIN, &[&baseline]).await;
    let rows = rows.map_err(DatabaseError::statement("reading the story of one event"))?;
    let Some(first) = rows.first() else {
        return Ok(String::new());
    };
    let (event, channel): (i64, String) = (first.get(1), first.get(9));
    let mut text = format!("The story of event {event} of {channel}, from pgrelay.log:\n");
    for row in &rows {
        let (id, event, attempt): (i64, i64, i32) = (row.get(0), row.get(1), row.get(2));
        let (status, next): (String, Option<i64>) = (row.get(3), row.get(4));
        let (sqlstate, error): (String, String) = (row.get(5), row.get(6));
        let (at, took): (f64, f64) = (row.get(7), row.get(8));
        let _ = write!(
            text,
            "  {at:6.2} s  log {id}  event {event}  attempt {attempt}, {took:.1} ms: {status}"
        );
        if !sqlstate.is_empty() {
            let _ = write!(
                text,
                ", SQLSTATE {sqlstate}, {}",
                error.lines().next().unwrap_or_default()
            );
        }
        if let Some(next) = next {
            let _ = write!(text, "; event {next} repeats it");
        }
        text.push('\n');
    }
    Ok(text)
}
