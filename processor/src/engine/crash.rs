//! Marks of events whose claim ended in an unexplained lost connection.
//!
//! An event whose action kills its backend leaves no trace: its transaction is rolled back, and it would be claimed for ever. So the worker that
//! held it writes a mark on its next session. A loss is explained when the server said goodbye for reasons of its own, or was restarted meanwhile.

use super::Engine;
use super::session::WorkerSession;
use super::step::{ANSWER_LIMIT, StepError, within};
use postgres_types::ToSql;
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use tokio_postgres::error::SqlState;

/// Only events that are still pending: a COMMIT whose answer was lost may have ended them.
const MARK: &str = "INSERT INTO pgrelay.crashes (queue_id, processor, counted) \
             SELECT q.id, $2, $3 FROM pgrelay.queue AS q WHERE q.id = ANY ($1::bigint[]) AND q.status = 'pending'";

/// Events that the workers of a Processor leave alone for the moment.
///
/// Those whose session was lost and whose mark is not written yet: until it is, the siblings of the worker that held them would only run them into the
/// same end, uncounted. The server says goodbye before it lets go of the claim, so they are here in time. In the notify pool also those that a sibling
/// has claimed: they need not be tried.
#[derive(Debug, Default)]
pub struct Quarantine(Mutex<HashSet<i64>>);

impl Quarantine {
    /// Keeps `ids` from being run.
    pub fn keep(&self, ids: &[i64]) {
        self.lock().extend(ids);
    }

    /// Lets them be run again.
    pub fn release(&self, ids: &[i64]) {
        let mut kept = self.lock();
        for id in ids {
            kept.remove(id);
        }
    }

    /// All that are kept.
    pub fn all(&self) -> Vec<i64> {
        self.lock().iter().copied().collect()
    }

    /// Whether `id` is kept.
    pub fn holds(&self, id: i64) -> bool {
        self.lock().contains(&id)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashSet<i64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a worker held when its session was lost.
#[derive(Debug)]
pub struct Lost {
    ids: Vec<i64>,
    farewell: Option<SqlState>,
    server_started: i64,
}

impl Lost {
    /// The events.
    #[must_use]
    pub fn ids(&self) -> &[i64] {
        &self.ids
    }

    /// Takes down the last words of a session that is over.
    pub async fn of(session: &WorkerSession, ids: Vec<i64>) -> Self {
        session.closed().await;
        Self {
            ids,
            farewell: session.farewell(),
            server_started: session.server_started,
        }
    }

    /// 57P01 explains nothing by itself: an administrator says it, and so does an action that terminates its own backend. It counts as
    /// explained only when the server was restarted. 57P02 is said to the neighbours of a backend that crashed, never to that one.
    fn is_explained(&self, now: &WorkerSession) -> bool {
        let said = self.farewell.as_ref().map(SqlState::code);
        self.ids.is_empty()
            || now.server_started != self.server_started
            || matches!(said, Some("57P02" | "57P03" | "57P05" | "25P03"))
    }

    /// Writes the marks. An event that was alone is to blame; those of a batch are only kept out of batches from now on.
    pub async fn mark(&self, engine: &Engine, now: &WorkerSession) -> Result<(), StepError> {
        if self.is_explained(now) {
            return Ok(());
        }
        let alone = self.ids.len() == 1;
        let parameters: [&(dyn ToSql + Sync); 3] = [&self.ids, &engine.id, &alone];
        let marks = async {
            let ((), marked, ()) = futures_util::future::try_join3(
                now.begin(),
                now.client().execute(MARK, &parameters),
                now.commit(),
            )
            .await?;
            Ok(marked)
        };
        let marked = within(ANSWER_LIMIT, marks).await?;
        if marked > 0 {
            let ids = &self.ids;
            tracing::warn!(
                events = ?ids,
                "the database session was lost while {} ran: {marked} event(s) marked",
                if alone { "one event's action" } else { "a batch" }
            );
        }
        Ok(())
    }
}
