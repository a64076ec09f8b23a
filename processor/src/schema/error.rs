//! Why a schema could not be brought to this release.

use super::{Bundle, PEPSI, State, Version};
use crate::oneshot::{Complaint, DatabaseError, Whereabouts};
use shared::exit::Exit;
use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error;
use tokio_postgres::error::SqlState;

/// Why a schema could not be installed, upgraded or packaged.
#[derive(Debug, Error)]
pub enum SchemaError {
    /// The database did not do its part.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// A script of the package did not run.
    #[error("{script}: {source}")]
    Script {
        /// Package and file.
        script: String,
        /// What the server says.
        source: DatabaseError,
    },
    /// The role may not create a schema in the database.
    #[error("role \"{role}\" may not create a schema in database \"{database}\"")]
    MayNotCreateSchema {
        /// The role of the session.
        role: String,
        /// The database.
        database: String,
    },
    /// Group roles are missing and the role may not create them.
    #[error("role \"{role}\" may not create the group roles that are missing")]
    MayNotCreateRoles {
        /// The role of the session.
        role: String,
        /// What would create them.
        statements: Vec<String>,
    },
    /// What the package builds on belongs to a role whose rights the installing one does not have.
    #[error(
        "{name} must be installed by the owner of schema {schema}, \"{owner}\"; the role of this session is \"{role}\""
    )]
    NotOwner {
        /// The package.
        name: &'static str,
        /// The role of the session.
        role: String,
        /// The schema it builds on.
        schema: String,
        /// Whose that is.
        owner: String,
    },
    /// Nothing is installed that could be upgraded.
    #[error("{name} is not installed in database \"{database}\"")]
    NotInstalled {
        /// The package.
        name: &'static str,
        /// The database.
        database: String,
    },
    /// The schema is there and was not made by us, or not to its end.
    #[error("schema {schema} exists in database \"{database}\", but it does not say its version")]
    Foreign {
        /// The schema.
        schema: &'static str,
        /// The database.
        database: String,
    },
    /// The same, found by an installer; it says what is there, so that it is recognised.
    #[error(
        "schema {schema} exists in database \"{database}\", but install has not made it; it holds {holds}"
    )]
    Occupied {
        /// The schema.
        schema: &'static str,
        /// The database.
        database: String,
        /// Its tables, views and functions.
        holds: String,
    },
    /// The schema is there, and the role may not look into it.
    #[error("role \"{role}\" may not use schema {schema} in database \"{database}\"")]
    Hidden {
        /// The role of the session.
        role: String,
        /// The schema.
        schema: &'static str,
        /// The database.
        database: String,
        /// The role whose members may.
        group: &'static str,
    },
    /// The schema belongs to an extension, which has its own way to change it.
    #[error("{name} {installed} is installed as an extension")]
    IsExtension {
        /// The package.
        name: &'static str,
        /// What is installed.
        installed: Version,
    },
    /// An older version is installed.
    #[error("{name} {installed} is installed, and this release has {release}")]
    Older {
        /// The package.
        name: &'static str,
        /// What is installed.
        installed: Version,
        /// What this binary carries.
        release: Version,
    },
    /// A newer version is installed, and it needs newer binaries than this one.
    #[error(
        "{name} {installed} is installed; it is newer than this release ({release}) and needs pg-relay-processor {oldest} or later"
    )]
    Newer {
        /// The package.
        name: &'static str,
        /// What is installed.
        installed: Version,
        /// What this binary carries.
        release: Version,
        /// The oldest binary that may serve it.
        oldest: Version,
    },
    /// No chain of steps leads from the installed version to this release.
    #[error("there is no upgrade of {name} from {installed} to {release}")]
    NoPath {
        /// The package.
        name: &'static str,
        /// What is installed.
        installed: Version,
        /// What this binary carries.
        release: Version,
    },
    /// Other sessions held what a step had to lock.
    #[error(
        "upgrade of {name} from {from} to {to} got no lock within {limit:?}; everything up to {from} is in place, and nothing of this step"
    )]
    Locked {
        /// The package.
        name: &'static str,
        /// The version the step starts from.
        from: Version,
        /// The version it leads to.
        to: Version,
        /// How long it was tried.
        limit: Duration,
    },
    /// A signal ended it.
    #[error("the upgrade of {name} was interrupted; the step that was under way was rolled back")]
    Interrupted {
        /// The package.
        name: &'static str,
    },
    /// The signals that could interrupt an upgrade cannot be handled.
    #[error("signals cannot be handled: {0}")]
    Signals(std::io::Error),
    /// A step ran and left another version than it promises.
    #[error("upgrade of {name} to {to} left version {found}; it was rolled back")]
    WrongResult {
        /// The package.
        name: &'static str,
        /// What the step promises.
        to: Version,
        /// What the schema says.
        found: String,
    },
    /// A file of the extension cannot be written.
    #[error("{} cannot be written: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
}

impl SchemaError {
    /// The server's SQLSTATE, when it was a statement that failed.
    pub(super) fn sqlstate(&self) -> Option<&SqlState> {
        match self {
            Self::Database(error) | Self::Script { source: error, .. } => error.sqlstate(),
            _ => None,
        }
    }

    /// About a schema that does not tell its version.
    pub(super) fn unreadable(bundle: &Bundle, state: State, who: &Whereabouts) -> Self {
        let schema = bundle.schema;
        let Whereabouts { role, database } = who.clone();
        match state {
            State::Hidden => Self::Hidden {
                role,
                schema,
                database,
                group: bundle.roles.first().map_or(schema, |role| role.name),
            },
            State::Absent | State::Foreign | State::Installed { .. } => {
                Self::Foreign { schema, database }
            }
        }
    }

    /// Refuses an installed version that needs newer binaries than this one.
    pub(super) fn refuse_newer(
        bundle: &Bundle,
        installed: Version,
        oldest: Version,
    ) -> Result<(), Self> {
        if oldest <= Version::OF_THIS_BINARY {
            return Ok(());
        }
        Err(Self::Newer {
            name: bundle.name,
            installed,
            release: bundle.version,
            oldest,
        })
    }
}

/// The installed version; an error when there is none to speak of.
pub fn installed_version(
    bundle: &Bundle,
    state: State,
    who: &Whereabouts,
) -> Result<Version, SchemaError> {
    match state {
        State::Installed { version, .. } => Ok(version),
        State::Absent => Err(SchemaError::NotInstalled {
            name: bundle.name,
            database: who.database.clone(),
        }),
        State::Foreign | State::Hidden => Err(SchemaError::unreadable(bundle, state, who)),
    }
}

impl Complaint for SchemaError {
    fn exit(&self) -> Exit {
        match self {
            Self::Database(error) | Self::Script { source: error, .. } => error.exit(),
            Self::Write { .. } => Exit::Usage,
            Self::MayNotCreateSchema { .. }
            | Self::MayNotCreateRoles { .. }
            | Self::NotOwner { .. }
            | Self::NotInstalled { .. }
            | Self::Foreign { .. }
            | Self::Occupied { .. }
            | Self::Hidden { .. }
            | Self::IsExtension { .. }
            | Self::Older { .. }
            | Self::Newer { .. }
            | Self::NoPath { .. } => Exit::PreflightBlocked,
            Self::Locked { .. } | Self::Interrupted { .. } => Exit::DatabaseUnavailable,
            Self::Signals(_) | Self::WrongResult { .. } => Exit::Bug,
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::MayNotCreateSchema { role, database } => {
                format!("GRANT CREATE ON DATABASE \"{database}\" TO \"{role}\";")
            }
            Self::MayNotCreateRoles { role, statements } => format!(
                "have an administrator run {} or ALTER ROLE \"{role}\" CREATEROLE;",
                statements.join(" ")
            ),
            Self::NotOwner { role, owner, .. } => {
                format!("connect as \"{owner}\", or GRANT \"{owner}\" TO \"{role}\";")
            }
            Self::Hidden { role, group, .. } => format!("GRANT {group} TO \"{role}\";"),
            Self::NotInstalled { .. } => "run pg-relay-processor install".to_owned(),
            Self::Occupied { schema, holds, .. } if holds == "nothing" => {
                format!("DROP SCHEMA {schema}; install creates it")
            }
            Self::Occupied { schema, .. } if *schema == PEPSI.schema => {
                "nothing was changed; a pepsi.ingress of another origin is served as it is: pepsi-failure-bouncer --check"
                    .to_owned()
            }
            Self::Foreign { schema, .. } | Self::Occupied { schema, .. } => {
                format!("rename or drop schema {schema} after a look at what it holds")
            }
            Self::IsExtension { name, .. } => format!("ALTER EXTENSION {name} UPDATE;"),
            Self::Older { .. } => "run pg-relay-processor upgrade".to_owned(),
            Self::Newer { oldest, .. } => format!("install pg-relay-processor {oldest} or later"),
            Self::Interrupted { .. } => "run pg-relay-processor upgrade again".to_owned(),
            Self::NoPath { .. } => {
                "upgrade with the releases in between, one after the other".to_owned()
            }
            Self::Locked { .. } => {
                "run upgrade again when no long transaction holds the tables; pg_locks shows who does"
                    .to_owned()
            }
            Self::Database(_)
            | Self::Script { .. }
            | Self::Signals(_)
            | Self::WrongResult { .. }
            | Self::Write { .. } => return None,
        };
        Some(hint)
    }
}
