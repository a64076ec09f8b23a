//! Why a demo did not come to its end.

use crate::oneshot::{Complaint, DatabaseError};
use crate::schema::SchemaError;
use shared::exit::Exit;
use std::io;
use thiserror::Error;

/// Why a demo did not come to its end.
#[derive(Debug, Error)]
pub enum DemoError {
    /// This machine has no server to start.
    #[error(
        "no PostgreSQL server programs: no initdb where pg_config points to, and none below /usr/lib/postgresql"
    )]
    NoServerPrograms,
    /// The server refuses to run as root, and there is nobody else.
    #[error("a server cannot run as root, and there is no account named postgres")]
    NoServerAccount,
    /// The operating system refused something.
    #[error("{doing}: {source}")]
    System {
        /// What was tried.
        doing: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// A program of the server failed.
    #[error("{program} failed:\n{output}")]
    ServerProgram {
        /// Its name.
        program: &'static str,
        /// What it wrote.
        output: String,
    },
    /// The schema could not be installed.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// A statement of ours failed.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// Somebody else's schema has our name.
    #[error("schema {name} is in the database, and no demo has made it")]
    ForeignSchema {
        /// Its name.
        name: &'static str,
    },
    /// Two demos would count each other's events.
    #[error("another demo is at work in this database")]
    AnotherDemo,
    /// The Processor is gone.
    #[error("the Processor ended with {how}; its log ends with:\n{log}")]
    ProcessorEnded {
        /// Its exit status.
        how: String,
        /// The end of its log.
        log: String,
    },
    /// The bouncer is gone, or never came.
    #[error("pepsi-failure-bouncer ended with {how}; it says:\n{log}")]
    BouncerEnded {
        /// Its exit status, or what it did instead of ending.
        how: String,
        /// Its log.
        log: String,
    },
    /// A message stays where it is.
    #[error("message {id} is still {place}")]
    NotBounced {
        /// The message.
        id: i64,
        /// Its stage and status.
        place: String,
    },
    /// Nothing has moved for too long.
    #[error(
        "nothing was resolved for {seconds} s while {pending} events are pending; the Processor's log ends with:\n{log}"
    )]
    Stalled {
        /// How long.
        seconds: u64,
        /// What is left.
        pending: u64,
        /// The end of the Processor's log.
        log: String,
    },
    /// The notifications have not come to their ends.
    #[error("{unfinished} notifications are not finished after {seconds} s")]
    MailStalled {
        /// How long.
        seconds: u64,
        /// What is left.
        unfinished: u64,
    },
    /// The materialised views were not refreshed.
    #[error("the demo's materialised views were not refreshed within {seconds} s")]
    ViewsStalled {
        /// How long.
        seconds: u64,
    },
    /// Numbers do not agree with the log.
    #[error("{wrong} of {numbers} numbers do not agree with pgrelay.log")]
    Disagreement {
        /// How many do not.
        wrong: usize,
        /// How many there are.
        numbers: usize,
    },
    /// A signal ended the demo.
    #[error("interrupted by signal {signal}")]
    Interrupted {
        /// Its number.
        signal: i32,
    },
}

impl DemoError {
    /// Wraps an error of the operating system; for `map_err`.
    pub(super) fn system(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { doing, source }
    }
}

impl Complaint for DemoError {
    fn exit(&self) -> Exit {
        match self {
            Self::Schema(error) => error.exit(),
            Self::Database(error) => error.exit(),
            Self::NoServerPrograms
            | Self::NoServerAccount
            | Self::System { .. }
            | Self::ServerProgram { .. } => Exit::DatabaseUnavailable,
            Self::ForeignSchema { .. } | Self::AnotherDemo => Exit::Usage,
            Self::ProcessorEnded { .. }
            | Self::BouncerEnded { .. }
            | Self::NotBounced { .. }
            | Self::Stalled { .. }
            | Self::MailStalled { .. }
            | Self::ViewsStalled { .. }
            | Self::Disagreement { .. }
            | Self::Interrupted { .. } => Exit::Bug,
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Schema(error) => return error.hint(),
            Self::Database(error) => return error.hint(),
            Self::NoServerPrograms => {
                "install the package postgresql, or name a database with --database URL"
            }
            Self::NoServerAccount => "run the demo as an ordinary user, or use --database URL",
            Self::ForeignSchema { .. } => "use another database",
            Self::AnotherDemo => "wait until it has ended",
            Self::Stalled { .. } => {
                "with --database, look whether the fleet is paused: SELECT * FROM pgrelay.queue_status"
            }
            Self::System { .. }
            | Self::ServerProgram { .. }
            | Self::ProcessorEnded { .. }
            | Self::BouncerEnded { .. }
            | Self::NotBounced { .. }
            | Self::MailStalled { .. }
            | Self::ViewsStalled { .. }
            | Self::Disagreement { .. }
            | Self::Interrupted { .. } => return None,
        };
        Some(hint.to_owned())
    }
}
