//! What was bounced, in words: the result of one look, and the lines of the service.

use serde::Serialize;
use shared::exit::Exit;
use shared::finding::Finding;
use shared::oneshot::{Complaint, DatabaseError, exit_for};
use thiserror::Error;
use tokio_postgres::error::SqlState;

use crate::ingress::Batch;

/// How many messages were moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Those that had failed.
    pub failed: u64,
    /// Those that had timed out.
    pub timeout: u64,
}

impl Tally {
    /// Both.
    #[must_use]
    pub const fn total(self) -> u64 {
        self.failed + self.timeout
    }

    /// Counts what a batch has moved.
    pub fn add(&mut self, batch: &Batch) {
        for message in &batch.moved {
            if message.timed_out {
                self.timeout += 1;
            } else {
                self.failed += 1;
            }
        }
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { failed, timeout } = self;
        write!(f, "{} (failed {failed}, timeout {timeout})", self.total())
    }
}

/// The result of `--once` or `--dry-run`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// What was moved, or would be.
    pub tally: Tally,
    /// What was left alone, because it is at the bounce stage already.
    pub left: u64,
    /// The bounce stage.
    pub stage: String,
    /// Whether nothing was changed.
    pub dry_run: bool,
}

/// Its shape for machines; scripts rely on the names.
#[derive(Serialize)]
struct Json<'a> {
    bounced: u64,
    failed: u64,
    timeout: u64,
    left: u64,
    stage: &'a str,
    dry_run: bool,
}

impl Outcome {
    /// One line for a person.
    #[must_use]
    pub fn line(&self) -> String {
        let Self {
            tally, left, stage, ..
        } = self;
        let did = if self.dry_run {
            "would bounce"
        } else {
            "bounced"
        };
        format!("{did} {tally}, left {left} at stage {stage}\n")
    }

    /// One object for a machine.
    ///
    /// # Panics
    /// Never: numbers, a text and a boolean can always be written as JSON.
    #[must_use]
    pub fn json(&self) -> String {
        let json = Json {
            bounced: self.tally.total(),
            failed: self.tally.failed,
            timeout: self.tally.timeout,
            left: self.left,
            stage: &self.stage,
            dry_run: self.dry_run,
        };
        let text = serde_json::to_string(&json);
        text.expect("numbers, a text and a boolean can always be written as JSON") + "\n"
    }
}

/// Why nothing, or not everything, was bounced.
#[derive(Debug, Error)]
pub enum BounceError {
    /// The database did not do its part.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The preflight found what keeps the bouncer from working.
    #[error("{}", lines(.0))]
    Blocked(Vec<Finding>),
    /// The server could not run a statement about messages. Without its words: they may quote one.
    #[error("{doing}: the server reports SQLSTATE {sqlstate}")]
    Server {
        /// What was tried.
        doing: &'static str,
        /// The server's SQLSTATE.
        sqlstate: String,
    },
    /// A constraint or a trigger of the table. Without its words: they may quote a message.
    #[error(
        "pepsi.ingress refuses what is to be moved (SQLSTATE {sqlstate}): look at its constraints and triggers"
    )]
    Refused {
        /// The server's SQLSTATE.
        sqlstate: String,
    },
}

impl Complaint for BounceError {
    fn exit(&self) -> Exit {
        match self {
            Self::Database(error) if error.sqlstate().is_some_and(is_about_the_catalog) => {
                Exit::PreflightBlocked
            }
            Self::Database(error) => error.exit(),
            Self::Server { sqlstate, .. } => {
                let code = SqlState::from_code(sqlstate);
                if is_about_the_catalog(&code) {
                    Exit::PreflightBlocked
                } else {
                    exit_for(&code)
                }
            }
            Self::Blocked(_) | Self::Refused { .. } => Exit::PreflightBlocked,
        }
    }
}

/// A table, a column or a right that went away between preflight and work.
fn is_about_the_catalog(code: &SqlState) -> bool {
    code.code().starts_with("42")
}

fn lines(findings: &[Finding]) -> String {
    let texts: Vec<String> = findings.iter().map(Finding::text).collect();
    texts.join("\n")
}

#[cfg(test)]
mod tests {
    use super::{Outcome, Tally};

    fn outcome(dry_run: bool) -> Outcome {
        Outcome {
            tally: Tally {
                failed: 2,
                timeout: 1,
            },
            left: 4,
            stage: "bounce".to_owned(),
            dry_run,
        }
    }

    #[test]
    fn a_line_says_it_all() {
        assert_eq!(
            outcome(false).line(),
            "bounced 3 (failed 2, timeout 1), left 4 at stage bounce\n"
        );
        assert_eq!(
            outcome(true).line(),
            "would bounce 3 (failed 2, timeout 1), left 4 at stage bounce\n"
        );
    }

    #[test]
    fn json_is_one_object() {
        assert_eq!(
            outcome(true).json(),
            "{\"bounced\":3,\"failed\":2,\"timeout\":1,\"left\":4,\"stage\":\"bounce\",\"dry_run\":true}\n"
        );
    }
}
