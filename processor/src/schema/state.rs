//! What of a package is installed in a database.

use super::{Bundle, Version};
use crate::oneshot::DatabaseError;
use tokio_postgres::GenericClient;

/// What of a package is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Nothing: the schema is not there.
    Absent,
    /// The schema is there, but it does not say its version.
    Foreign,
    /// The schema is there, and this session may not ask it for its version.
    Hidden,
    /// A version of it.
    Installed {
        /// Which.
        version: Version,
        /// Whether it belongs to an extension.
        extension: bool,
    },
}

/// Asks the catalog, and then the schema itself. No statement of this fails because of what is or
/// is not installed, so it may be asked within a transaction.
pub async fn read<C: GenericClient>(client: &C, bundle: &Bundle) -> Result<State, DatabaseError> {
    let doing = "asking for the installed version";
    let found = client
        .query_opt(
            "SELECT EXISTS (
                 SELECT FROM pg_catalog.pg_depend AS d
                 WHERE d.classid = 'pg_catalog.pg_namespace'::pg_catalog.regclass
                   AND d.objid = n.oid
                   AND d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass
                   AND d.deptype = 'e'
             ),
             pg_catalog.has_schema_privilege(n.oid, 'USAGE'),
             pg_catalog.has_function_privilege(v.oid, 'EXECUTE')
             FROM pg_catalog.pg_namespace AS n
             LEFT JOIN pg_catalog.pg_proc AS v
               ON v.pronamespace = n.oid
              AND v.proname = 'version'
              AND v.pronargs = 0
              AND v.prorettype = 'pg_catalog.text'::pg_catalog.regtype
             WHERE n.nspname = $1",
            &[&bundle.schema],
        )
        .await
        .map_err(DatabaseError::statement(doing))?;
    let Some(found) = found else {
        return Ok(State::Absent);
    };
    let callable: Option<bool> = found.get(2);
    match (found.get::<_, bool>(1), callable) {
        (_, None) => return Ok(State::Foreign),
        (false, _) | (_, Some(false)) => return Ok(State::Hidden),
        (true, Some(true)) => {}
    }
    let answer = client
        .query_one(&format!("SELECT {}.version()", bundle.schema), &[])
        .await
        .map_err(DatabaseError::statement(doing))?;
    let version = answer.get::<_, Option<&str>>(0).and_then(Version::parse);
    Ok(version.map_or(State::Foreign, |version| State::Installed {
        version,
        extension: found.get(0),
    }))
}

/// The tables, views and functions of a schema that somebody else made, in words. No more than a few: they are to be recognised.
pub(super) async fn holds<C: GenericClient>(
    client: &C,
    bundle: &Bundle,
) -> Result<String, DatabaseError> {
    const NAMED: usize = 10;
    let rows = client
        .query(
            "SELECT o.what
             FROM (
                 SELECT 1 AS kind, 'table ' || c.relname AS what
                 FROM pg_catalog.pg_class AS c
                 JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
                 WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'f')
                 UNION ALL
                 SELECT 2, 'view ' || c.relname
                 FROM pg_catalog.pg_class AS c
                 JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
                 WHERE n.nspname = $1 AND c.relkind IN ('v', 'm')
                 UNION ALL
                 SELECT 3, 'function ' || p.proname
                 FROM pg_catalog.pg_proc AS p
                 JOIN pg_catalog.pg_namespace AS n ON n.oid = p.pronamespace
                 WHERE n.nspname = $1
             ) AS o
             ORDER BY o.kind, o.what",
            &[&bundle.schema],
        )
        .await
        .map_err(DatabaseError::statement("looking at what the schema holds"))?;
    let mut names: Vec<String> = rows.iter().take(NAMED).map(|row| row.get(0)).collect();
    if names.is_empty() {
        return Ok("nothing".to_owned());
    }
    if rows.len() > NAMED {
        names.push(format!("{} more", rows.len() - NAMED));
    }
    Ok(names.join(", "))
}

/// The oldest Processor that may serve what is installed. A schema that does not say so, or not
/// clearly, needs one as new as itself.
pub async fn oldest_processor<C: GenericClient>(
    client: &C,
    bundle: &Bundle,
    installed: Version,
) -> Result<Version, DatabaseError> {
    let doing = "asking for the oldest Processor that may serve the schema";
    let row = client
        .query_one(
            "SELECT EXISTS (
                 SELECT FROM pg_catalog.pg_proc AS p
                 JOIN pg_catalog.pg_namespace AS n ON n.oid = p.pronamespace
                 WHERE n.nspname = $1
                   AND p.proname = '_oldest_processor'
                   AND p.pronargs = 0
                   AND p.prorettype = 'pg_catalog.text'::pg_catalog.regtype
                   AND pg_catalog.has_function_privilege(p.oid, 'EXECUTE')
             )",
            &[&bundle.schema],
        )
        .await
        .map_err(DatabaseError::statement(doing))?;
    if !row.get::<_, bool>(0) {
        return Ok(installed);
    }
    let answer = client
        .query_one(
            &format!("SELECT {}._oldest_processor()", bundle.schema),
            &[],
        )
        .await
        .map_err(DatabaseError::statement(doing))?;
    let oldest = answer.get::<_, Option<&str>>(0).and_then(Version::parse);
    Ok(oldest.unwrap_or(installed))
}
