//! Steps of a conversation with the server: each has a limit, and an error tells whether the session outlived it.

use shared::db::connect::ConnectError;
use std::time::Duration;
use thiserror::Error;
use tokio_postgres::error::{Severity, SqlState};

/// Longest wait for an answer to a statement of ours: longer than its statement_timeout, so that it is the network that failed.
pub const ANSWER_LIMIT: Duration = Duration::from_secs(40);

/// A step that did not succeed.
#[derive(Debug, Error)]
pub enum StepError {
    /// The server or the connection reported an error.
    #[error(transparent)]
    Reported(#[from] tokio_postgres::Error),
    /// Nothing was heard in time; the session is given up.
    #[error("no answer within {} s", .0.as_secs())]
    Silent(Duration),
    /// An action dropped the statements this session had prepared; the session is given up.
    #[error("an action dropped the session's prepared statements")]
    Spoiled,
    /// The session ended while a notification was on its way.
    #[error("the session was lost during a send")]
    LostDuringSend,
}

impl StepError {
    /// The server's SQLSTATE, if it was the server that spoke.
    #[must_use]
    pub fn sqlstate(&self) -> Option<&SqlState> {
        match self {
            Self::Reported(error) => error.code(),
            Self::Silent(_) | Self::Spoiled | Self::LostDuringSend => None,
        }
    }

    /// Whether the session is over. User code can raise any SQLSTATE, but neither a FATAL error nor a closed socket.
    #[must_use]
    pub fn ends_session(&self) -> bool {
        match self {
            Self::Reported(error) => error.as_db_error().is_none_or(|said| {
                matches!(
                    said.parsed_severity(),
                    Some(Severity::Fatal | Severity::Panic)
                )
            }),
            Self::Silent(_) | Self::Spoiled | Self::LostDuringSend => true,
        }
    }

    /// Whether a prepared statement is gone. Of a statement of ours it says that an action dropped it (DEALLOCATE ALL).
    #[must_use]
    pub fn misses_statement(&self) -> bool {
        self.sqlstate() == Some(&SqlState::INVALID_SQL_STATEMENT_NAME)
    }
}

/// A session that could not be had.
#[derive(Debug, Error)]
pub enum OpenError {
    /// No connection.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// Connected, but our statements could not be prepared: a wrong schema or a missing grant.
    #[error("the queue's statements cannot be prepared: {0}")]
    Prepare(#[from] StepError),
}

/// Waits for `step`, but not for ever.
pub async fn within<T>(
    limit: Duration,
    step: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, StepError> {
    match tokio::time::timeout(limit, step).await {
        Ok(result) => Ok(result?),
        Err(_) => Err(StepError::Silent(limit)),
    }
}
