//! Whether the notifier, where one is registered, offers what notify events need. Never blocking:
//! sql events go on without it.

use super::Finding;
use crate::oneshot::DatabaseError;
use shared::db::error_chain::ErrorChain;
use tokio_postgres::Client;

/// How the notifier announces itself in `pgrelay.companions`.
const NAME: &str = "pg_relay_notifier";

/// The interface version this Processor speaks.
const INTERFACE: i32 = 1;

/// Name, argument types and result of the functions of interface version 1.
const FUNCTIONS: [(&str, &str, &str); 4] = [
    ("interface_version", "", "integer"),
    ("fetch", "bigint", "record"),
    (
        "set_status",
        "bigint, text, text, text, integer, integer",
        "void",
    ),
    ("debug_log", "bigint, text, text", "void"),
];

/// Looks at the registered notifier.
pub(super) async fn look(client: &Client) -> Result<Vec<Finding>, DatabaseError> {
    let row = client
        .query_opt(
            "SELECT c.schema_name, n.oid, pg_catalog.has_schema_privilege(n.oid, 'USAGE'), pg_catalog.quote_ident(c.schema_name)
             FROM pgrelay.companions AS c
             LEFT JOIN pg_catalog.pg_namespace AS n ON n.nspname = c.schema_name
             WHERE c.name = $1",
            &[&NAME],
        )
        .await
        .map_err(DatabaseError::statement("looking for the notifier"))?;
    let Some(row) = row else {
        return Ok(Vec::new());
    };
    let schema: String = row.get(0);
    let Some(oid) = row.get::<_, Option<u32>>(1) else {
        let message = format!("{NAME} is registered in schema {schema}, which does not exist");
        return Ok(vec![Finding::warning("notifier:schema", message).hint(
            "install the notifier again, or delete its row from pgrelay.companions",
        )]);
    };
    let (absent, mut refused) = functions(client, oid).await?;
    let mut findings = Vec::new();
    if !absent.is_empty() {
        let message = format!("schema {schema} lacks {}", absent.join("; "));
        findings.push(
            Finding::warning("notifier:functions", message)
                .hint("notify events end in error until the notifier is complete"),
        );
    }
    if row.get::<_, Option<bool>>(2) != Some(true) {
        refused.insert(0, format!("USAGE on schema {schema}"));
    }
    if !refused.is_empty() {
        let message = format!("the role of this session lacks {}", refused.join("; "));
        findings.push(Finding::warning("notifier:grants", message).hint(format!(
            "grant them to pgrelay_processor, as the install script of {NAME} does"
        )));
    }
    if findings.is_empty() {
        findings.extend(interface_version(client, row.get(3)).await);
    }
    Ok(findings)
}

/// The functions that are not there, and those that may not be called.
async fn functions(
    client: &Client,
    schema: u32,
) -> Result<(Vec<String>, Vec<String>), DatabaseError> {
    let names = FUNCTIONS.map(|(name, _, _)| name);
    let arguments = FUNCTIONS.map(|(_, arguments, _)| arguments);
    let results = FUNCTIONS.map(|(_, _, result)| result);
    let rows = client
        .query(
            "SELECT w.name || '(' || w.arguments || ')', p.oid IS NOT NULL, pg_catalog.has_function_privilege(p.oid, 'EXECUTE')
             FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS w (name, arguments, result, place)
             LEFT JOIN pg_catalog.pg_proc AS p
               ON p.pronamespace = $4
              AND p.proname = w.name
              AND pg_catalog.oidvectortypes(p.proargtypes) = w.arguments
              AND pg_catalog.format_type(p.prorettype, NULL) = w.result
              AND p.proretset = (w.result = 'record')
             ORDER BY w.place",
            &[&&names[..], &&arguments[..], &&results[..], &schema],
        )
        .await
        .map_err(DatabaseError::statement("looking at the notifier's functions"))?;
    let (mut absent, mut refused) = (Vec::new(), Vec::new());
    for row in rows {
        let signature: String = row.get(0);
        if !row.get::<_, bool>(1) {
            absent.push(signature);
        } else if row.get::<_, Option<bool>>(2) != Some(true) {
            refused.push(format!("EXECUTE on {signature}"));
        }
    }
    Ok((absent, refused))
}

/// Calls the function; one that fails says as little as one that is not there.
async fn interface_version(client: &Client, schema: &str) -> Option<Finding> {
    let answer = client
        .query_one(&format!("SELECT {schema}.interface_version()"), &[])
        .await;
    match answer.map(|row| row.get::<_, Option<i32>>(0)) {
        Ok(Some(INTERFACE)) => None,
        Ok(version) => {
            let version = version.map_or_else(|| "NULL".to_owned(), |version| version.to_string());
            let message = format!(
                "the notifier has interface version {version}, and this Processor speaks {INTERFACE}"
            );
            Some(
                Finding::warning("notifier:version", message)
                    .hint("notify events end in error until both speak the same version"),
            )
        }
        Err(error) => {
            let message = format!(
                "interface_version() cannot be called: {}",
                ErrorChain(&error)
            );
            Some(Finding::warning("notifier:functions", message))
        }
    }
}
