//! Why no session could be had.

use crate::db::error_chain::{ErrorChain, server_words};
use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::time::Duration;
use thiserror::Error;
use tokio_postgres::error::{DbError, SqlState};

/// Where a session was sought, and as whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Host and port, or the socket.
    pub host: String,
    /// The database.
    pub database: String,
    /// The database role.
    pub user: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            host,
            database,
            user,
        } = self;
        write!(f, "{host} (database \"{database}\", user \"{user}\")")
    }
}

/// Why no session could be had. The message is one sentence that names the place and repeats the
/// server's own words with their SQLSTATE.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// Nobody answers there, or the connection broke off before the session began.
    #[error("cannot reach {target}: {source}")]
    Unreachable {
        /// Where.
        target: Place,
        /// What the operating system says.
        source: io::Error,
    },
    /// The server did not let us have a session within the limit.
    #[error("no session with {target} within {limit:?}")]
    Timeout {
        /// Where.
        target: Place,
        /// CONNECT_TIMEOUT.
        limit: Duration,
    },
    /// The server refused role, password or database; a person has to act.
    #[error("login refused by {target}: {reason}")]
    Refused {
        /// Where.
        target: Place,
        /// The server's words.
        reason: String,
        /// The server's SQLSTATE; `None` when we gave up before the server did.
        sqlstate: Option<SqlState>,
    },
    /// Every host that answered is in recovery: a physical standby that awaits its promotion.
    #[error("{host} is a standby, and no primary answers")]
    Standby {
        /// The last standby that answered.
        host: Place,
    },
    /// The server is starting up, shutting down or recovering (57P03).
    #[error("{target} takes no sessions now: {reason}")]
    NotAccepting {
        /// Where.
        target: Place,
        /// The server's words.
        reason: String,
        /// 57P03, or the shutdown that struck while the session began.
        sqlstate: SqlState,
    },
    /// The TLS that SSLMODE insists on could not be had.
    #[error("no TLS with {target}: {source}")]
    Tls {
        /// Where.
        target: Place,
        /// What the TLS library says.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// No user is configured, and the process's own account has no name.
    #[error("{0}")]
    NoAccount(String),
    /// Anything else, such as too many connections (53300).
    #[error("no session with {target}: {}", ErrorChain(source))]
    Other {
        /// Where.
        target: Place,
        /// What tokio-postgres says.
        source: tokio_postgres::Error,
    },
}

impl ConnectError {
    /// Whether the server refused role, password or database: waiting does not help.
    #[must_use]
    pub const fn is_login_refused(&self) -> bool {
        matches!(self, Self::Refused { .. } | Self::NoAccount(_))
    }

    /// The server's SQLSTATE, when it was the server that answered.
    #[must_use]
    pub fn sqlstate(&self) -> Option<&SqlState> {
        match self {
            Self::Refused { sqlstate, .. } => sqlstate.as_ref(),
            Self::NotAccepting { sqlstate, .. } => Some(sqlstate),
            Self::Other { source, .. } => source.code(),
            Self::Unreachable { .. }
            | Self::Timeout { .. }
            | Self::Standby { .. }
            | Self::Tls { .. }
            | Self::NoAccount(_) => None,
        }
    }

    /// How much the error says when several hosts failed: an answer that a person must act on says
    /// more than silence.
    pub(super) const fn weight(&self) -> u8 {
        match self {
            Self::NoAccount(_) => 7,
            Self::Refused { .. } => 6,
            Self::Tls { .. } => 5,
            Self::Standby { .. } => 4,
            Self::NotAccepting { .. } => 3,
            Self::Other { .. } => 2,
            Self::Timeout { .. } => 1,
            Self::Unreachable { .. } => 0,
        }
    }

    /// Sorts out what tokio-postgres reports while a session begins.
    pub(super) fn new(target: Place, error: tokio_postgres::Error) -> Self {
        if let Some(said) = error.as_db_error() {
            return match Answer::of(said) {
                Answer::Refused => Self::Refused {
                    target,
                    reason: server_words(said),
                    sqlstate: Some(said.code().clone()),
                },
                Answer::NotAccepting => Self::NotAccepting {
                    target,
                    reason: server_words(said),
                    sqlstate: said.code().clone(),
                },
                Answer::Other => Self::Other {
                    target,
                    source: error,
                },
            };
        }
        // tokio-postgres keeps its kinds private. Its own fixed words are the only way to tell a
        // missing TLS offer from a missing password; the tests pin both.
        let about_tls = error.to_string() == "error performing TLS handshake";
        let has_other_cause =
            StdError::source(&error).is_some_and(|cause| !cause.is::<io::Error>());
        if !has_other_cause {
            return Self::broken_off(target, error);
        }
        match error.into_source() {
            Some(source) if about_tls => Self::Tls { target, source },
            source => Self::Refused {
                target,
                reason: match source.map(|source| source.to_string()) {
                    Some(text) if text == "password missing" => {
                        "it asks for a password, and none is configured".to_owned()
                    }
                    text => text.unwrap_or_default(),
                },
                sqlstate: None,
            },
        }
    }

    fn broken_off(target: Place, error: tokio_postgres::Error) -> Self {
        let kind = StdError::source(&error)
            .and_then(|cause| cause.downcast_ref::<io::Error>())
            .map(io::Error::kind);
        if matches!(
            kind,
            Some(io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData)
        ) {
            // Not a broken connection but bytes that make no sense.
            return Self::Other {
                target,
                source: error,
            };
        }
        let cause = error.into_source().and_then(|cause| cause.downcast().ok());
        let source = cause.map_or_else(
            || {
                io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "the server closed the connection",
                )
            },
            |cause: Box<io::Error>| *cause,
        );
        Self::Unreachable { target, source }
    }
}

/// What a server's error during login comes to.
enum Answer {
    Refused,
    NotAccepting,
    Other,
}

impl Answer {
    fn of(said: &DbError) -> Self {
        let code = said.code();
        let refused = [
            SqlState::INVALID_CATALOG_NAME,
            // No CONNECT privilege on the database.
            SqlState::INSUFFICIENT_PRIVILEGE,
        ];
        if code.code().starts_with("28") || refused.contains(code) {
            Self::Refused
        } else if code.code().starts_with("57P") {
            Self::NotAccepting
        } else {
            Self::Other
        }
    }
}
