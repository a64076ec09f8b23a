//! What the server said last.

use std::sync::{Mutex, PoisonError};
use tokio::sync::watch;
use tokio_postgres::error::{DbError, Severity, SqlState};

/// Tells whether a session is over and what the server gave as the reason.
///
/// Only what an administrator or the server itself can say counts: a FATAL or PANIC message of class
/// 57P, or a warning of that class that came last before the end (a server stopping at once says it
/// as a warning). Application code can raise any SQLSTATE, but not as FATAL.
#[derive(Debug)]
pub struct Farewell {
    said: Mutex<Option<Said>>,
    closed: watch::Sender<bool>,
}

#[derive(Debug)]
struct Said {
    sqlstate: SqlState,
    fatal: bool,
}

impl Farewell {
    pub(super) fn new() -> Self {
        Self {
            said: Mutex::new(None),
            closed: watch::Sender::new(false),
        }
    }

    /// Whether the session is over. A session whose network is cut counts as open until keepalives
    /// or a failed statement show it.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        *self.closed.borrow()
    }

    /// The server's reason for ending the session: 57P01 for a shutdown or a terminated backend,
    /// 57P02 for a crash elsewhere in the server, 57P05 for an idle session, and so on. `None` while
    /// the session is open, and when it ended without a word.
    #[must_use]
    pub fn sqlstate(&self) -> Option<SqlState> {
        if !self.is_closed() {
            return None;
        }
        self.lock().as_ref().map(|said| said.sqlstate.clone())
    }

    /// Returns once the session is over.
    pub async fn closed(&self) {
        let mut closed = self.closed.subscribe();
        // The sender is a field of self, so it cannot be gone.
        if let Err(error) = closed.wait_for(|&closed| closed).await {
            tracing::debug!("session end not awaited: {error}");
        }
    }

    /// Takes note of an error that a statement returned. A reason that arrives while a statement
    /// runs is handed to that statement and to nobody else, so whoever ran it passes it on here.
    pub fn note(&self, error: &tokio_postgres::Error) {
        if let Some(said) = error.as_db_error() {
            self.hear(said);
        }
    }

    pub(super) fn hear(&self, said: &DbError) {
        let fatal = matches!(
            said.parsed_severity(),
            Some(Severity::Fatal | Severity::Panic)
        );
        let warning = matches!(said.parsed_severity(), Some(Severity::Warning));
        self.remember(said.code(), fatal, warning);
    }

    fn remember(&self, code: &SqlState, fatal: bool, warning: bool) {
        let mut last = self.lock();
        if last.as_ref().is_some_and(|said| said.fatal) && !fatal {
            return;
        }
        let ends_sessions = code.code().starts_with("57P");
        *last = ((fatal || warning) && ends_sessions).then(|| Said {
            sqlstate: code.clone(),
            fatal,
        });
    }

    pub(super) fn close(&self) {
        self.closed.send_replace(true);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Said>> {
        // Nothing can panic while the lock is held, and a stale value would still be a value.
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::Farewell;
    use std::time::Duration;
    use tokio_postgres::error::SqlState;

    #[test]
    fn nothing_is_told_before_the_end() {
        let farewell = Farewell::new();
        farewell.remember(&SqlState::ADMIN_SHUTDOWN, true, false);
        assert_eq!(farewell.sqlstate(), None);
        farewell.close();
        assert_eq!(farewell.sqlstate(), Some(SqlState::ADMIN_SHUTDOWN));
    }

    #[test]
    fn what_application_code_can_raise_is_not_believed() {
        let farewell = Farewell::new();
        farewell.remember(&SqlState::ADMIN_SHUTDOWN, false, false);
        farewell.remember(&SqlState::CRASH_SHUTDOWN, false, true);
        farewell.remember(&SqlState::WARNING, false, true);
        farewell.close();
        assert_eq!(
            farewell.sqlstate(),
            None,
            "a later message overrules a warning"
        );
    }

    #[test]
    fn the_last_warning_of_a_dying_server_counts() {
        let farewell = Farewell::new();
        farewell.remember(&SqlState::CRASH_SHUTDOWN, false, true);
        farewell.close();
        assert_eq!(farewell.sqlstate(), Some(SqlState::CRASH_SHUTDOWN));
    }

    #[tokio::test]
    async fn the_end_wakes_those_who_wait() {
        let farewell = Farewell::new();
        let waits = tokio::time::timeout(Duration::from_secs(5), farewell.closed());
        let (waited, ()) = tokio::join!(waits, async { farewell.close() });
        waited.expect("closed() did not return");
    }
}
