//! What stands between us and the tables: a pooler, the encoding, the role itself.

use super::{APP, Finding};
use crate::oneshot::{DatabaseError, Whereabouts};
use shared::db::connect::{Connector, Session};
use shared::db::pooler::shares_sessions;
use tokio_postgres::Client;

/// A pooler that cannot carry a Processor.
pub(super) async fn pooler(
    connector: &Connector,
    first: &Session,
) -> Result<Option<Finding>, DatabaseError> {
    let shared = shares_sessions(connector, first, APP).await?;
    let finding = Finding::blocking(
        "relay:pooler",
        "a pooler hands one server session to several clients (PgBouncer in transaction mode), \
         which can carry neither LISTEN nor session locks nor a held transaction's settings",
    )
    .hint("connect to PostgreSQL itself, or give this login pool_mode = session");
    Ok(shared.then_some(finding))
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
