//! What the commands that end by themselves share: their session, their words and their exit codes.

use crate::db::connect::{ConnectError, Connector, Session};
use crate::db::error_chain::ErrorChain;
use crate::exit::Exit;
use std::fmt;
use std::io::{self, Write};
use std::time::Duration;
use thiserror::Error;
use tokio_postgres::GenericClient;
use tokio_postgres::error::SqlState;

/// What a command has found or done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// For standard output; whole lines.
    pub text: String,
    /// The exit code that goes with it.
    pub exit: Exit,
}

impl Report {
    /// A command that did what was asked.
    #[must_use]
    pub fn done(text: impl Into<String>) -> Self {
        let mut text = text.into();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        Self {
            text,
            exit: Exit::Drained,
        }
    }

    /// Writes the text to standard output. A reader that has seen enough, such as `head`, is no
    /// failure.
    pub fn print(&self) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        let written = stdout
            .write_all(self.text.as_bytes())
            .and_then(|()| stdout.flush());
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written,
        }
    }
}

/// An error that knows how the process ends because of it.
pub trait Complaint: std::error::Error {
    /// The exit code.
    fn exit(&self) -> Exit;

    /// What a person can do about it.
    fn hint(&self) -> Option<String> {
        None
    }
}

/// Writes an error of `program`, and what to do about it, to standard error.
#[must_use]
pub fn complain(program: &str, complaint: &(impl Complaint + ?Sized)) -> Exit {
    let mut text = format!("{program}: {complaint}\n");
    if let Some(hint) = complaint.hint() {
        text.push_str("hint: ");
        text.push_str(&hint);
        text.push('\n');
    }
    // Without standard error there is nobody left to tell; the exit code still says it.
    io::stderr().write_all(text.as_bytes()).unwrap_or_default();
    complaint.exit()
}

/// Why the database did not do what a command needed.
#[derive(Debug, Error)]
pub enum DatabaseError {
    /// No session could be had.
    #[error("{0}")]
    Connect(Box<ConnectError>),
    /// A statement of ours failed.
    #[error("{doing}: {}", Words(source))]
    Statement {
        /// What was tried.
        doing: &'static str,
        /// What the server or the driver says.
        source: tokio_postgres::Error,
    },
    /// A statement of ours was not answered; the connection may be half open.
    #[error("{doing}: no answer within {limit:?}")]
    Silent {
        /// What was tried.
        doing: &'static str,
        /// How long it was waited for.
        limit: Duration,
    },
}

impl From<ConnectError> for DatabaseError {
    fn from(error: ConnectError) -> Self {
        Self::Connect(Box::new(error))
    }
}

impl DatabaseError {
    /// Wraps the error of one statement; for `map_err`.
    pub fn statement(doing: &'static str) -> impl FnOnce(tokio_postgres::Error) -> Self {
        move |source| Self::Statement { doing, source }
    }

    /// The server's SQLSTATE, when a statement failed.
    #[must_use]
    pub fn sqlstate(&self) -> Option<&SqlState> {
        match self {
            Self::Statement { source, .. } => source.code(),
            Self::Connect(error) => error.sqlstate(),
            Self::Silent { .. } => None,
        }
    }
}

impl Complaint for DatabaseError {
    fn exit(&self) -> Exit {
        match self {
            Self::Connect(_) | Self::Silent { .. } => Exit::DatabaseUnavailable,
            Self::Statement { source, .. } => match source.code() {
                Some(code) => exit_for(code),
                None if source.is_closed() => Exit::DatabaseUnavailable,
                None => Exit::Bug,
            },
        }
    }
}

/// How a command ends when a statement of ours fails with `code`.
#[must_use]
pub fn exit_for(code: &SqlState) -> Exit {
    if *code == SqlState::INSUFFICIENT_PRIVILEGE {
        Exit::PreflightBlocked
    } else if is_the_servers_trouble(code) {
        Exit::DatabaseUnavailable
    } else {
        Exit::Bug
    }
}

/// Lost connections, exhausted resources, operator intervention, system errors, and a lock or a
/// time limit that did not allow for us.
fn is_the_servers_trouble(code: &SqlState) -> bool {
    ["08", "25006", "40", "53", "55P03", "57", "58"]
        .iter()
        .any(|class| code.code().starts_with(class))
}

/// An error with the server's detail and hint, which tokio-postgres keeps to itself.
struct Words<'a>(&'a tokio_postgres::Error);

impl fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ErrorChain(self.0).fmt(f)?;
        let said = self.0.as_db_error();
        if let Some(detail) = said.and_then(|said| said.detail()) {
            write!(f, "; {detail}")?;
        }
        if let Some(hint) = said.and_then(|said| said.hint()) {
            write!(f, " ({hint})")?;
        }
        Ok(())
    }
}

/// Opens the session of a one-shot command. Whatever the defaults of role and database are, our
/// statements mean the same in it.
pub async fn open(connector: &Connector, app: &str) -> Result<Session, DatabaseError> {
    let settings = [
        ("search_path", "pg_catalog, pg_temp"),
        ("statement_timeout", "30s"),
        ("lock_timeout", "0"),
        ("idle_in_transaction_session_timeout", "60s"),
        ("default_transaction_isolation", "read committed"),
        ("default_transaction_read_only", "off"),
        ("default_transaction_deferrable", "off"),
        ("standard_conforming_strings", "on"),
        ("check_function_bodies", "on"),
        ("default_table_access_method", "heap"),
        ("client_min_messages", "warning"),
        ("row_security", "on"),
        ("DateStyle", "ISO, MDY"),
        ("IntervalStyle", "postgres"),
        ("TimeZone", "UTC"),
    ]
    .map(|(name, value)| (name, value.to_owned()));
    Ok(connector.connect(app, &settings).await?)
}

/// Who the session is, for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whereabouts {
    /// The role that privileges are checked for.
    pub role: String,
    /// The database.
    pub database: String,
}

/// Asks the session who it is.
pub async fn whereabouts<C: GenericClient>(client: &C) -> Result<Whereabouts, DatabaseError> {
    let row = client
        .query_one(
            "SELECT current_user::text, pg_catalog.current_database()::text",
            &[],
        )
        .await
        .map_err(DatabaseError::statement("asking for role and database"))?;
    Ok(Whereabouts {
        role: row.get(0),
        database: row.get(1),
    })
}

#[cfg(test)]
mod tests {
    use super::{Report, is_the_servers_trouble};
    use tokio_postgres::error::SqlState;

    #[test]
    fn a_report_ends_with_a_line_break() {
        assert_eq!(Report::done("a").text, "a\n");
        assert_eq!(Report::done("a\n").text, "a\n");
    }

    #[test]
    fn a_full_disk_is_not_our_defect_and_a_missing_column_is() {
        assert!(is_the_servers_trouble(&SqlState::DISK_FULL));
        assert!(is_the_servers_trouble(&SqlState::QUERY_CANCELED));
        assert!(!is_the_servers_trouble(&SqlState::UNDEFINED_COLUMN));
    }
}
