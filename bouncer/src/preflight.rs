//! Whether `pepsi.ingress` is there and can be worked with, whoever made it: id, stage and status with types that will do, and the rights
//! to read the three and to change the last two. What passes is a session that is ready to bounce.

mod surroundings;
mod types;

use crate::PROGRAM;
use crate::ingress::{Bounce, Columns, Ingress};
use shared::db::connect::{Connector, Session};
use shared::db::pooler::shares_sessions;
use shared::finding::{Finding, any_blocks};
use shared::oneshot::{self, DatabaseError, Whereabouts};
use tokio_postgres::Client;

/// No hostile default decides how a batch is found. A table that is being altered is not waited for as long as a statement may take.
const SETTINGS: &str = "SET jit = off; SET plan_cache_mode = auto; SET lock_timeout = '5s'";

/// What was found.
#[derive(Debug)]
pub struct Looked {
    /// What a person should know; blocking ones first.
    pub findings: Vec<Finding>,
    /// The table, unless a finding blocks.
    pub ingress: Option<Ingress>,
}

/// Looks at the database in a session of its own. An error says that the looking itself failed, mostly because there is no database;
/// what is wrong in the database is a finding.
pub async fn run(connector: &Connector, bounce: &Bounce) -> Result<Looked, DatabaseError> {
    let session = oneshot::open(connector, PROGRAM).await?;
    let mut findings = Vec::new();
    // First, and with nothing but plain statements: behind such a pooler no other answer counts.
    if shares_sessions(connector, &session, PROGRAM).await? {
        findings.push(transaction_pooler());
        return Ok(blocked(session, findings).await);
    }
    session
        .client
        .batch_execute(SETTINGS)
        .await
        .map_err(DatabaseError::statement("setting up the session"))?;
    let who = oneshot::whereabouts(&session.client).await?;
    let table = match find_table(&session.client, &who).await? {
        Ok(table) => table,
        Err(finding) => {
            findings.push(finding);
            return Ok(blocked(session, findings).await);
        }
    };
    let columns = columns(&session.client, &table, &who, &mut findings).await?;
    if let Some(columns) = &columns {
        findings.extend(types::unusable(&session.client, columns, bounce).await?);
        findings.extend(surroundings::look(&session.client, table.oid, bounce.states).await?);
    }
    findings.sort_by_key(|finding| finding.severity);
    match columns {
        Some(columns) if !any_blocks(&findings) => {
            let prepared = Ingress::prepare(session, &columns, bounce).await;
            match prepared {
                Ok(ingress) => Ok(Looked {
                    findings,
                    ingress: Some(ingress),
                }),
                Err(error) => {
                    findings.insert(0, types::refusal(error)?);
                    Ok(Looked {
                        findings,
                        ingress: None,
                    })
                }
            }
        }
        Some(_) | None => Ok(blocked(session, findings).await),
    }
}

async fn blocked(session: Session, findings: Vec<Finding>) -> Looked {
    session.close().await;
    Looked {
        findings,
        ingress: None,
    }
}

fn transaction_pooler() -> Finding {
    Finding::blocking(
        "bounce:pooler",
        "a pooler hands one server session to several clients (PgBouncer in transaction mode), \
         which can carry neither LISTEN nor prepared statements",
    )
    .hint("connect to PostgreSQL itself, or give this login pool_mode = session")
}

/// The table, and whether its schema may be used.
struct Table {
    oid: u32,
    schema_usable: bool,
}

async fn find_table(
    client: &Client,
    who: &Whereabouts,
) -> Result<Result<Table, Finding>, DatabaseError> {
    let row = client
        .query_opt(
            "SELECT c.oid, c.relkind IN ('r', 'p'), pg_catalog.has_schema_privilege(n.oid, 'USAGE')
             FROM pg_catalog.pg_namespace AS n
             LEFT JOIN pg_catalog.pg_class AS c ON c.relnamespace = n.oid AND c.relname = 'ingress'
             WHERE n.nspname = 'pepsi'",
            &[],
        )
        .await
        .map_err(DatabaseError::statement("looking for pepsi.ingress"))?;
    let database = &who.database;
    let Some(row) = row else {
        let message = format!("schema pepsi is missing in database \"{database}\"");
        return Ok(Err(Finding::blocking("bounce:table", message)
            .hint("run pg-relay-processor install --with pepsi")));
    };
    Ok(match (row.get(0), row.get(1)) {
        (None, _) => Err(Finding::blocking(
            "bounce:table",
            format!("table pepsi.ingress is missing in database \"{database}\""),
        )
        .hint("schema pepsi is there: restore its table ingress")),
        (Some(_), Some(false) | None) => Err(Finding::blocking(
            "bounce:table",
            format!("pepsi.ingress in database \"{database}\" is not a table"),
        )
        .hint("messages must be rows of a table that can be locked and updated")),
        (Some(oid), Some(true)) => Ok(Table {
            oid,
            schema_usable: row.get(2),
        }),
    })
}

/// The types of the three columns, unless one of them or a right is missing.
async fn columns(
    client: &Client,
    table: &Table,
    who: &Whereabouts,
    findings: &mut Vec<Finding>,
) -> Result<Option<Columns>, DatabaseError> {
    let rows = client
        .query(include_str!("sql/columns.sql"), &[&table.oid])
        .await
        .map_err(DatabaseError::statement(
            "looking at the columns of pepsi.ingress",
        ))?;
    let absent: Vec<&str> = rows
        .iter()
        .filter(|row| row.get::<_, Option<&str>>(1).is_none())
        .map(|row| row.get(0))
        .collect();
    if !absent.is_empty() {
        let message = format!("pepsi.ingress has no column {}", absent.join(", "));
        findings.push(
            Finding::blocking("bounce:columns", message)
                .hint("the bouncer needs id, stage and status, and touches nothing else"),
        );
        return Ok(None);
    }
    let mut lacks = Vec::new();
    if !table.schema_usable {
        lacks.push("USAGE on schema pepsi".to_owned());
    }
    for row in &rows {
        let (name, privileges): (&str, Vec<&str>) = (row.get(0), row.get(2));
        lacks.extend(
            privileges
                .iter()
                .map(|privilege| format!("{privilege} ({name}) on pepsi.ingress")),
        );
    }
    if !lacks.is_empty() {
        let role = &who.role;
        findings.push(
            Finding::blocking("bounce:grants", format!("role \"{role}\" lacks {}", lacks.join("; "))).hint(format!(
                "GRANT USAGE ON SCHEMA pepsi TO \"{role}\"; GRANT SELECT (id, stage, status), UPDATE (stage, status) ON pepsi.ingress TO \"{role}\""
            )),
        );
        return Ok(None);
    }
    let mut types = rows.iter().map(|row| row.get(1));
    Ok(Some(Columns {
        id: types.next().unwrap_or_default(),
        stage: types.next().unwrap_or_default(),
        status: types.next().unwrap_or_default(),
    }))
}
