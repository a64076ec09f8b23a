//! What stands between us and the tables: a pooler, the encoding, the role itself.

use super::{APP, Finding};
use crate::oneshot::{self, DatabaseError, Whereabouts};
use shared::db::connect::{Connector, Session};
use tokio_postgres::{Client, SimpleQueryMessage};

/// Tells whether two sessions of ours share one session of the server, as they do behind a
/// PgBouncer in transaction mode.
pub(super) async fn pooler(
    connector: &Connector,
    first: &Session,
) -> Result<Option<Finding>, DatabaseError> {
    /// A pooler hands out the session that was free last, mostly; asking a few times makes sure.
    const ROUNDS: usize = 4;
    let second = oneshot::open(connector, APP).await?;
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
    let finding = Finding::blocking(
        "relay:pooler",
        "a pooler hands one server session to several clients (PgBouncer in transaction mode), \
         which can carry neither LISTEN nor session locks nor a held transaction's settings",
    )
    .hint("connect to PostgreSQL itself, or give this login pool_mode = session");
    Ok(shared.then_some(finding))
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

/// What works and still deserves a word.
pub(super) async fn encoding_and_role(
    client: &Client,
    whereabouts: &Whereabouts,
) -> Result<Vec<Finding>, DatabaseError> {
    let row = client
        .query_one(
            "SELECT pg_catalog.current_setting('server_encoding'), r.rolsuper
             FROM pg_catalog.pg_roles AS r
             WHERE r.rolname = current_user",
            &[],
        )
        .await
        .map_err(DatabaseError::statement("asking for encoding and role"))?;
    let Whereabouts { role, database } = whereabouts;
    let mut findings = Vec::new();
    if row.get::<_, &str>(0) == "SQL_ASCII" {
        findings.push(
            Finding::warning(
                "relay:encoding",
                format!("database \"{database}\" has encoding SQL_ASCII: payloads that are not valid UTF-8 cannot be passed on"),
            )
            .hint("use a database with encoding UTF8"),
        );
    }
    if row.get(1) {
        findings.push(
            Finding::warning(
                "relay:role",
                format!("role \"{role}\" is a superuser, and every action runs with its rights"),
            )
            .hint("use a login of its own that is a member of pgrelay_processor"),
        );
    }
    Ok(findings)
}
