//! Recognising a pooler that hands one session of the server to several clients.

use super::connect::{Connector, Session};
use crate::oneshot::{self, DatabaseError};
use tokio_postgres::{Client, SimpleQueryMessage};

/// Tells whether two sessions of ours share one session of the server, as they do behind a
/// PgBouncer in transaction mode. The second one is opened for this, under the name `app`.
pub async fn shares_sessions(
    connector: &Connector,
    first: &Session,
    app: &str,
) -> Result<bool, DatabaseError> {
    /// A pooler hands out the session that was free last, mostly; asking a few times makes sure.
    const ROUNDS: usize = 4;
    let second = oneshot::open(connector, app).await?;
    let (mine, theirs) = (first.backend_pid, second.backend_pid);
    let mut shared = mine == theirs;
    for _ in 0..ROUNDS {
        if shared {
            break;
        }
        // Each must answer as it did when it began, and the two never alike.
        shared = backend_pid(&first.client).await? != mine
            || backend_pid(&second.client).await? != theirs;
    }
    second.close().await;
    Ok(shared)
}

async fn backend_pid(client: &Client) -> Result<i32, DatabaseError> {
    let answer = client
        .simple_query("SELECT pg_catalog.pg_backend_pid()")
        .await
        .map_err(DatabaseError::statement("asking for the backend's id"))?;
    let pid = answer.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0)?.parse().ok(),
        _ => None,
    });
    Ok(pid.unwrap_or(0))
}
