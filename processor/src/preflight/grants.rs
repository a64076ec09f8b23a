//! Whether the role may do what a Processor does.

use super::Finding;
use crate::oneshot::{DatabaseError, Whereabouts};
use tokio_postgres::Client;

/// What a Processor does with each relation of the schema.
const RELATIONS: [(&str, &[&str]); 9] = [
    ("channels", &["SELECT"]),
    ("queue", &["SELECT", "INSERT", "UPDATE", "DELETE"]),
    ("log", &["SELECT", "INSERT", "DELETE"]),
    ("crashes", &["SELECT", "INSERT", "DELETE"]),
    ("processors", &["SELECT", "INSERT", "UPDATE", "DELETE"]),
    ("fleet", &["SELECT"]),
    ("companions", &["SELECT"]),
    ("node", &["SELECT"]),
    ("twin_floor", &["SELECT", "UPDATE"]),
];

/// The functions it calls itself; actions call others.
const FUNCTIONS: [&str; 11] = [
    "version",
    "_oldest_processor",
    "node_name",
    "_twin_key",
    "_lane",
    "_claim_key",
    "_close_shared",
    "_publish_twin_floor",
    "_prune_queue",
    "_prune_log",
    "_prune_registry",
];

/// The finding for a role that may not even look into the schema.
pub(super) async fn no_usage(
    client: &Client,
    whereabouts: &Whereabouts,
) -> Result<Finding, DatabaseError> {
    lacking(client, whereabouts, &["USAGE on schema pgrelay".to_owned()]).await
}

/// Everything the role lacks, in one finding, and another for objects that are not there at all.
pub(super) async fn missing(
    client: &Client,
    whereabouts: &Whereabouts,
) -> Result<Vec<Finding>, DatabaseError> {
    let mut absent = Vec::new();
    let mut lacks: Vec<String> = Vec::new();
    for (name, exists, privileges) in ask(client).await? {
        if exists {
            lacks.push(format!("{} on pgrelay.{name}", privileges.join(", ")));
        } else {
            absent.push(format!("pgrelay.{name}"));
        }
    }
    let mut findings = Vec::new();
    if !absent.is_empty() {
        findings.push(
            Finding::blocking(
                "relay:schema",
                format!("the installation is incomplete: {} missing", absent.join(", ")),
            )
            .hint("restore what was dropped, for example from the output of install --dry-run on an empty database"),
        );
    }
    if !lacks.is_empty() {
        findings.push(lacking(client, whereabouts, &lacks).await?);
    }
    Ok(findings)
}

/// Name, whether it exists, and which privileges are lacking, of every object where something is.
async fn ask(client: &Client) -> Result<Vec<(String, bool, Vec<String>)>, DatabaseError> {
    let wanted = RELATIONS
        .iter()
        .flat_map(|(name, privileges)| privileges.iter().map(move |p| (*name, *p)))
        .chain(FUNCTIONS.iter().map(|name| (*name, "EXECUTE")));
    let (names, privileges): (Vec<&str>, Vec<&str>) = wanted.unzip();
    let rows = client
        .query(
            "SELECT w.name, pg_catalog.bool_and(o.oid IS NOT NULL), pg_catalog.array_agg(w.privilege ORDER BY w.place)
             FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS w (name, privilege, place)
             LEFT JOIN LATERAL (
                 SELECT c.oid, CASE c.relkind
                     WHEN 'S' THEN pg_catalog.has_sequence_privilege(c.oid, w.privilege)
                     ELSE pg_catalog.has_table_privilege(c.oid, w.privilege)
                 END AS granted
                 FROM pg_catalog.pg_class AS c
                 WHERE c.relname = w.name AND w.privilege <> 'EXECUTE'
                   AND c.relnamespace = (SELECT n.oid FROM pg_catalog.pg_namespace AS n WHERE n.nspname = 'pgrelay')
                 UNION ALL
                 SELECT p.oid, pg_catalog.has_function_privilege(p.oid, 'EXECUTE')
                 FROM pg_catalog.pg_proc AS p
                 WHERE p.proname = w.name AND w.privilege = 'EXECUTE'
                   AND p.pronamespace = (SELECT n.oid FROM pg_catalog.pg_namespace AS n WHERE n.nspname = 'pgrelay')
             ) AS o ON true
             WHERE o.granted IS NOT TRUE
             GROUP BY w.name
             ORDER BY pg_catalog.min(w.place)",
            &[&names, &privileges],
        )
        .await
        .map_err(DatabaseError::statement("looking at the grants"))?;
    Ok(rows
        .iter()
        .map(|row| (row.get(0), row.get(1), row.get(2)))
        .collect())
}

async fn lacking(
    client: &Client,
    whereabouts: &Whereabouts,
    lacks: &[String],
) -> Result<Finding, DatabaseError> {
    let role = &whereabouts.role;
    let row = client
        .query_one(
            "SELECT
                 coalesce(bool_or(pg_catalog.pg_has_role(r.oid, 'MEMBER')), false),
                 coalesce(bool_or(pg_catalog.pg_has_role(r.oid, 'USAGE')), false)
             FROM pg_catalog.pg_roles AS r
             WHERE r.rolname = 'pgrelay_processor'",
            &[],
        )
        .await
        .map_err(DatabaseError::statement(
            "looking at the role's memberships",
        ))?;
    let hint = match (row.get(0), row.get(1)) {
        (false, _) => format!("GRANT pgrelay_processor TO \"{role}\""),
        (true, false) => format!("ALTER ROLE \"{role}\" INHERIT"),
        (true, true) => "pgrelay_processor has lost grants that install gave it".to_owned(),
    };
    Ok(Finding::blocking(
        "relay:grants",
        format!("role \"{role}\" lacks {}", lacks.join("; ")),
    )
    .hint(hint))
}
