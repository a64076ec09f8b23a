//! A fresh installation: everything in one transaction, or nothing.

use super::{Bundle, SchemaError, State, Version, state};
use crate::oneshot::{self, DatabaseError, Whereabouts};
use shared::backoff::Backoff;
use shared::db::connect::Connector;
use std::time::Duration;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, GenericClient};

const APP: &str = "pg-relay-processor install";

/// What became of an installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Installed {
    /// It was made now.
    Now,
    /// It was there, in this version.
    Already(Version),
}

impl Installed {
    /// One line for a person.
    #[must_use]
    pub fn describe(self, bundle: &Bundle, connector: &Connector) -> String {
        let target = connector.target();
        match self {
            Self::Now => format!("{} {} installed in {target}\n", bundle.name, bundle.version),
            Self::Already(version) => {
                format!(
                    "{} {version} is already installed in {target}\n",
                    bundle.name
                )
            }
        }
    }
}

/// Installs `bundle` unless it is there. Any number of installers may do so at the same time.
pub async fn install(connector: &Connector, bundle: &Bundle) -> Result<Installed, SchemaError> {
    /// Installers in other databases create the same roles; each collision costs one more try.
    const TRIES: u32 = 10;
    let mut session = oneshot::open(connector, APP).await?;
    let mut backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(1));
    let mut tries = 1;
    let installed = loop {
        match try_once(&mut session.client, bundle).await {
            Err(error) if tries < TRIES && is_collision(&error) => {
                tries += 1;
                tracing::debug!("another installer was at the same rows: {error}");
                tokio::time::sleep(backoff.next()).await;
            }
            result => break result?,
        }
    };
    session.close().await;
    Ok(installed)
}

async fn try_once(client: &mut Client, bundle: &Bundle) -> Result<Installed, SchemaError> {
    let transaction = client
        .transaction()
        .await
        .map_err(DatabaseError::statement("beginning the installation"))?;
    // Twenty installers wait for one; two minutes are far more than it takes.
    transaction
        .batch_execute(
            "SET LOCAL statement_timeout = 0;
             SET LOCAL idle_in_transaction_session_timeout = 0;
             SET LOCAL lock_timeout = '120s'",
        )
        .await
        .map_err(DatabaseError::statement("setting the installer's limits"))?;
    lock(&transaction, bundle).await?;
    let who = oneshot::whereabouts(&transaction).await?;
    let state = state::read(&transaction, bundle).await?;
    let installed = judge(&transaction, bundle, state, &who).await?;
    if installed == Installed::Now {
        may_install(&transaction, bundle, &who).await?;
        for script in bundle.scripts {
            tracing::debug!("running {}/{}", bundle.name, script.path);
            let ran = transaction.batch_execute(script.sql).await;
            ran.map_err(|source| SchemaError::Script {
                script: format!("{}/{}", bundle.name, script.path),
                source: DatabaseError::statement("installing the schema")(source),
            })?;
        }
    }
    transaction
        .commit()
        .await
        .map_err(DatabaseError::statement("committing the installation"))?;
    Ok(installed)
}

/// The lock that installers and upgraders of one package exclude each other with.
async fn lock<C: GenericClient>(client: &C, bundle: &Bundle) -> Result<(), DatabaseError> {
    client
        .execute(
            "SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended($1, 5283400))",
            &[&bundle.name],
        )
        .await
        .map_err(DatabaseError::statement("waiting for other installers"))?;
    Ok(())
}

/// What is to be done about `state`; an error when it cannot be this release's.
async fn judge<C: GenericClient>(
    client: &C,
    bundle: &Bundle,
    state: State,
    who: &Whereabouts,
) -> Result<Installed, SchemaError> {
    let release = bundle.version;
    let name = bundle.name;
    match state {
        State::Absent => Ok(Installed::Now),
        State::Hidden => Err(SchemaError::unreadable(bundle, state, who)),
        State::Foreign => Err(SchemaError::Occupied {
            schema: bundle.schema,
            database: who.database.clone(),
            holds: state::holds(client, bundle).await?,
        }),
        State::Installed { version, .. } if version < release => Err(SchemaError::Older {
            name,
            installed: version,
            release,
        }),
        State::Installed { version, .. } => {
            if version > release {
                let oldest = state::oldest_processor(client, bundle, version).await?;
                SchemaError::refuse_newer(bundle, version, oldest)?;
            }
            Ok(Installed::Already(version))
        }
    }
}

/// Finds out, without changing anything, whether what is there keeps any of `bundles` from being installed: then none of them is.
pub(super) async fn foresee(
    connector: &Connector,
    bundles: &[&'static Bundle],
) -> Result<(), SchemaError> {
    let session = oneshot::open(connector, APP).await?;
    let who = oneshot::whereabouts(&session.client).await?;
    for bundle in bundles {
        let state = state::read(&session.client, bundle).await?;
        judge(&session.client, bundle, state, &who).await?;
    }
    session.close().await;
    Ok(())
}

/// The SQL that [`install`] would run, as a script for psql.
pub(super) async fn dry_run(connector: &Connector, bundle: &Bundle) -> Result<String, SchemaError> {
    let session = oneshot::open(connector, APP).await?;
    let who = oneshot::whereabouts(&session.client).await?;
    let state = state::read(&session.client, bundle).await?;
    let installed = judge(&session.client, bundle, state, &who).await?;
    session.close().await;
    let target = connector.target();
    Ok(match installed {
        Installed::Already(version) => format!(
            "-- {} {version} is already installed in {target}; there is nothing to run\n",
            bundle.name
        ),
        Installed::Now => format!(
            "-- {} is not installed in {target}; install would run this:\nBEGIN;\nSET LOCAL search_path = pg_catalog, pg_temp;\n\n{}COMMIT;\n",
            bundle.name,
            bundle.text()
        ),
    })
}

/// Finds out before the first statement what would otherwise fail in the middle with less to say.
async fn may_install<C: GenericClient>(
    client: &C,
    bundle: &Bundle,
    who: &Whereabouts,
) -> Result<(), SchemaError> {
    let (role, database) = (who.role.clone(), who.database.clone());
    let names: Vec<&str> = bundle.roles.iter().map(|role| role.name).collect();
    let row = client
        .query_one(
            "SELECT
                 pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE'),
                 (SELECT r.rolsuper OR r.rolcreaterole FROM pg_catalog.pg_roles AS r
                  WHERE r.rolname = current_user),
                 ARRAY(SELECT r.rolname::text FROM pg_catalog.pg_roles AS r
                       WHERE r.rolname = ANY ($1::text[])),
                 ARRAY(SELECT m.rolname || ' ' || g.rolname
                       FROM pg_catalog.pg_auth_members AS a
                       JOIN pg_catalog.pg_roles AS m ON m.oid = a.member
                       JOIN pg_catalog.pg_roles AS g ON g.oid = a.roleid
                       WHERE m.rolname = ANY ($1::text[]) AND g.rolname = ANY ($1::text[]))",
            &[&names],
        )
        .await
        .map_err(DatabaseError::statement(
            "looking at the installer's privileges",
        ))?;
    if !row.get::<_, bool>(0) {
        return Err(SchemaError::MayNotCreateSchema { role, database });
    }
    owns_required(client, bundle, &role).await?;
    let statements = missing_roles(
        bundle,
        &row.get::<_, Vec<String>>(2),
        &row.get::<_, Vec<String>>(3),
    );
    if !statements.is_empty() && !row.get::<_, bool>(1) {
        return Err(SchemaError::MayNotCreateRoles { role, statements });
    }
    Ok(())
}

/// The functions of a package run with its owner's rights and call what the packages it needs grant to
/// nobody.
async fn owns_required<C: GenericClient>(
    client: &C,
    bundle: &Bundle,
    role: &str,
) -> Result<(), SchemaError> {
    let foreign = client
        .query_opt(
            "SELECT n.nspname::text, pg_catalog.pg_get_userbyid(n.nspowner)::text
             FROM pg_catalog.pg_namespace AS n
             WHERE n.nspname = ANY ($1::text[]) AND NOT pg_catalog.pg_has_role(n.nspowner, 'USAGE')
             LIMIT 1",
            &[&bundle.requires],
        )
        .await
        .map_err(DatabaseError::statement(
            "looking at the owner of what is needed",
        ))?;
    foreign.map_or(Ok(()), |row| {
        Err(SchemaError::NotOwner {
            name: bundle.name,
            role: role.to_owned(),
            schema: row.get(0),
            owner: row.get(1),
        })
    })
}

/// The statements that an administrator would have to run first.
fn missing_roles(bundle: &Bundle, present: &[String], memberships: &[String]) -> Vec<String> {
    let roles = bundle.roles.iter();
    let create = roles
        .clone()
        .filter(|role| !present.iter().any(|name| name == role.name))
        .map(|role| {
            let login = if role.login { "LOGIN" } else { "NOLOGIN" };
            format!("CREATE ROLE {} {login};", role.name)
        });
    let grant = roles
        .flat_map(|role| role.member_of.iter().map(move |group| (role.name, group)))
        .filter(|(member, group)| {
            let membership = format!("{member} {group}");
            !memberships.contains(&membership)
        })
        .map(|(member, group)| format!("GRANT {group} TO {member};"));
    create.chain(grant).collect()
}

/// Roles and their memberships belong to the whole cluster, where our lock does not reach. XX000 is
/// the server's "tuple concurrently updated".
fn is_collision(error: &SchemaError) -> bool {
    error.sqlstate().is_some_and(|code| {
        *code == SqlState::UNIQUE_VIOLATION
            || *code == SqlState::INTERNAL_ERROR
            || code.code().starts_with("40")
    })
}
