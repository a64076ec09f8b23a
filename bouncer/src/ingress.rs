//! `pepsi.ingress` as one session sees it: the statements that bounce, made for the types this table has.
//!
//! A batch is one conditional UPDATE of rows that it has locked and that nobody else holds, so any number of bouncers may be at work:
//! of two that see the same row, one locks it and the other passes over it. Nothing but id, stage and status is touched, because
//! the table may be somebody else's. A sweep goes through the table by id and never looks back, so what it has moved costs it nothing,
//! however long vacuum is held up.

mod batch;
mod blame;
mod one_by_one;
mod refusals;

pub use batch::{Batch, Moved, Refused};
pub use refusals::Refusals;

use crate::cli::States;
use crate::report::BounceError;
use batch::{is_timeout, locked};
use blame::{Blame, blame};
use shared::db::connect::Session;
use shared::oneshot::DatabaseError;
use std::time::{Duration, Instant};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, Statement, ToStatement};
use tracing::debug;

/// The rows one transaction moves, and so locks, at most.
pub const BATCH: usize = 1_000;

/// The server ends a statement after 30 s; an answer that takes longer will not come.
const ANSWER_LIMIT: Duration = Duration::from_secs(40);
/// A batch that took longer may not be doubled: the next one would come near the server's limit.
const QUICK: Duration = Duration::from_secs(7);
/// How often a batch is tried that runs into somebody else's transaction, such as a row that is moved to another partition.
const TRIES: u32 = 5;
/// For a statement that asks nothing of the server.
const PING_LIMIT: Duration = Duration::from_secs(5);

/// What is bounced, and where to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounce {
    /// The stage that stuck messages are handed to.
    pub stage: String,
    /// The states that count as stuck.
    pub states: States,
}

/// The types of the columns, as a cast spells them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    /// Of the key.
    pub id: String,
    /// Of the stage's name.
    pub stage: String,
    /// Of the status.
    pub status: String,
}

/// The table, in a session of its own.
#[derive(Debug)]
pub struct Ingress {
    session: Session,
    stage: String,
    first: Statement,
    next: Statement,
    by_id: Statement,
    count: Statement,
    peek_first: String,
    peek_next: String,
    /// Of the next batch: [`BATCH`], or less where that many take too long.
    size: i64,
}

/// How many messages are stuck.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stuck {
    /// Failed somewhere else than at the bounce stage.
    pub failed: u64,
    /// Timed out somewhere else than at the bounce stage.
    pub timeout: u64,
    /// At the bounce stage, where they are left alone.
    pub left: u64,
}

impl Ingress {
    /// Prepares the statements; the error is the server's word on types that cannot be worked with.
    pub async fn prepare(
        session: Session,
        columns: &Columns,
        bounce: &Bounce,
    ) -> Result<Self, tokio_postgres::Error> {
        let statement = |text| made_for(text, columns, bounce.states);
        let client = &session.client;
        // Two statements, because an index is followed from a place only when the condition says so without an OR.
        let batch = statement(include_str!("sql/bounce_next.sql"));
        let behind = format!("AND i.id > $3::text::{}", columns.id);
        let first = client.prepare(&batch.replace("{after}", "")).await?;
        let next = client.prepare(&batch.replace("{after}", &behind)).await?;
        let peek = statement(include_str!("sql/peek.sql"));
        let by_id = client
            .prepare(&statement(include_str!("sql/bounce_ids.sql")))
            .await?;
        let count = client
            .prepare(&statement(include_str!("sql/count.sql")))
            .await?;
        Ok(Self {
            session,
            stage: bounce.stage.clone(),
            first,
            next,
            by_id,
            count,
            peek_first: peek.replace("{after}", ""),
            peek_next: peek.replace("{after}", &behind),
            size: largest(),
        })
    }

    /// Moves the first stuck messages behind `after`, or from the beginning. A batch that the server cuts short is halved.
    pub async fn bounce_next(&mut self, after: Option<&str>) -> Result<Batch, BounceError> {
        loop {
            let began = Instant::now();
            match self.bounce_together(after).await {
                Err(BounceError::Refused { sqlstate })
                    if sqlstate == SqlState::QUERY_CANCELED.code() && self.size > 1 =>
                {
                    self.size /= 2;
                    debug!("a batch took too long, the next is of {}", self.size);
                }
                Err(BounceError::Refused { .. }) => return self.one_by_one(after).await,
                batch => {
                    if began.elapsed() < QUICK {
                        self.size = self.size.saturating_mul(2).min(largest());
                    }
                    return batch;
                }
            }
        }
    }

    async fn bounce_together(&self, after: Option<&str>) -> Result<Batch, BounceError> {
        let (statement, parameters): (_, Vec<&(dyn ToSql + Sync)>) = match &after {
            None => (&self.first, vec![&self.stage, &self.size]),
            Some(after) => (&self.next, vec![&self.stage, &self.size, after]),
        };
        let rows = self.bounce(statement, &parameters).await?;
        // One row short of the limit, and the table has come to its end.
        let is_full = i64::try_from(locked(&rows)) == Ok(self.size);
        Ok(Batch {
            next: rows.first().filter(|_| is_full).and_then(|row| row.get(3)),
            ..Batch::of(&rows)
        })
    }

    /// Moves those of the messages `ids` that are stuck, all or none: an id that is none counts as a refusal.
    pub async fn bounce_ids(&self, ids: &[String]) -> Result<Batch, BounceError> {
        let rows = self.bounce(&self.by_id, &[&self.stage, &ids]).await?;
        Ok(Batch::of(&rows))
    }

    /// Counts without changing anything.
    pub async fn count(&self) -> Result<Stuck, BounceError> {
        let rows = self
            .ask("counting stuck messages", &self.count, &[&self.stage])
            .await?;
        let mut stuck = Stuck::default();
        for row in rows {
            let number = |index| u64::try_from(row.get::<_, i64>(index)).unwrap_or_default();
            if is_timeout(&row, 0) {
                stuck.timeout += number(1);
            } else {
                stuck.failed += number(1);
            }
            stuck.left += number(2);
        }
        Ok(stuck)
    }

    /// Finds out whether the session still answers.
    pub async fn ping(&self) -> Result<(), DatabaseError> {
        let doing = "asking the server for a sign of life";
        let answer =
            tokio::time::timeout(PING_LIMIT, self.session.client.batch_execute("SELECT 1"));
        answer
            .await
            .map_err(|_| DatabaseError::Silent {
                doing,
                limit: PING_LIMIT,
            })?
            .map_err(DatabaseError::statement(doing))
    }

    /// Returns once the session is over, with what is known about it.
    pub async fn lost(&self) -> String {
        self.session.farewell.closed().await;
        match self.session.farewell.sqlstate() {
            Some(state) => format!("the server ended the session ({})", state.code()),
            None => "the connection was lost".to_owned(),
        }
    }

    /// Says goodbye to the server.
    pub async fn close(self) {
        self.session.close().await;
    }

    /// One statement that moves messages, again while only chance is to blame. What goes on failing is the table's refusal.
    async fn bounce(
        &self,
        statement: &Statement,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, BounceError> {
        let mut tries = 1;
        loop {
            let failed = match self.ask("bouncing messages", statement, parameters).await {
                Err(BounceError::Server { doing, sqlstate }) => (doing, sqlstate),
                answer => return answer,
            };
            let (doing, sqlstate) = failed;
            match blame(&SqlState::from_code(&sqlstate)) {
                Blame::Chance if tries < TRIES => tries += 1,
                Blame::Chance | Blame::Table => return Err(BounceError::Refused { sqlstate }),
                Blame::Server => return Err(BounceError::Server { doing, sqlstate }),
            }
        }
    }

    /// One statement. The server's words are left out of its error: triggers, policies and constraints may have it quote a message.
    async fn ask<S: ToStatement + ?Sized>(
        &self,
        doing: &'static str,
        statement: &S,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, BounceError> {
        let answer = self.session.client.query(statement, parameters);
        let answer = tokio::time::timeout(ANSWER_LIMIT, answer)
            .await
            .map_err(|_| DatabaseError::Silent {
                doing,
                limit: ANSWER_LIMIT,
            })?;
        answer.map_err(|error| {
            self.session.farewell.note(&error);
            match error.code() {
                Some(code) => BounceError::Server {
                    doing,
                    sqlstate: code.code().to_owned(),
                },
                None => DatabaseError::statement(doing)(error).into(),
            }
        })
    }
}

/// [`BATCH`] as the server counts.
fn largest() -> i64 {
    i64::try_from(BATCH).unwrap_or(i64::MAX)
}

/// Puts the types and the states into a statement. The types come from the catalog, which quotes them; the states are our own.
fn made_for(text: &str, columns: &Columns, states: States) -> String {
    let states: Vec<String> = states
        .names()
        .iter()
        .map(|name| format!("'{name}'"))
        .collect();
    text.replace("{id}", &columns.id)
        .replace("{stage}", &columns.stage)
        .replace("{states}", &states.join(", "))
}

#[cfg(test)]
mod tests {
    use super::{Columns, States, made_for};

    #[test]
    fn a_statement_names_states_and_types_as_literals() {
        let columns = Columns {
            id: "uuid".to_owned(),
            stage: "character varying(20)".to_owned(),
            status: "text".to_owned(),
        };
        let text = made_for(include_str!("sql/bounce_next.sql"), &columns, States::All);
        assert!(text.contains("i.status IN ('failed', 'timeout')"), "{text}");
        assert!(text.contains("$1::text::character varying(20)"), "{text}");
        assert!(!text.replace("{after}", "").contains(['{', '}']), "{text}");
    }
}
