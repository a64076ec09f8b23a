//! A worker's session: one connection, the statements it keeps prepared, and the hygiene between actions.
//!
//! Two sets of settings alternate in it. Our own statements run under [`OWN_SETTINGS`], set for the transaction; an action runs under what
//! RESET ALL returns to: the defaults of its role and database, and the start-up options of the session.

mod start_up;

use super::statements::Statements;
use super::step::{ANSWER_LIMIT, OpenError, StepError, within};
use super::wire::{Payload, Timestamp};
use postgres_types::ToSql;
use shared::db::connect::{Connector, Session};
use std::collections::HashMap;
use std::time::Duration;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Row, Statement};

/// For our own statements, whatever the defaults of the database are. The scan settings leave the planner no way
/// but the pending indexes, in their order, however wrong its statistics are.
pub const OWN_SETTINGS: &str = "SET LOCAL search_path = pg_catalog, pg_temp; \
     SET LOCAL statement_timeout = 30000; \
     SET LOCAL lock_timeout = 5000; \
     SET LOCAL enable_seqscan = off; \
     SET LOCAL enable_bitmapscan = off; \
     SET LOCAL enable_sort = off; \
     SET LOCAL jit = off; \
     SET LOCAL plan_cache_mode = force_generic_plan";

/// No trace of one action for the next (settings, role, temporary tables, cursors).
const RESET: &str = "RESET ALL; RESET ROLE; DISCARD TEMP; CLOSE ALL";

/// Only a superuser can have changed it.
const RESET_OF_SUPERUSER: &str = "RESET SESSION AUTHORIZATION; ";

/// Once for each transaction, since each of them costs a statement: session locks and topics an action left behind.
const RELEASE_AND_COMMIT: &str = "SELECT pg_catalog.pg_advisory_unlock_all(); UNLISTEN *; COMMIT";

/// One worker's connection.
#[derive(Debug)]
pub struct WorkerSession {
    session: Session,
    /// Prepared statements.
    pub statements: Statements,
    /// Prepared actions by their text.
    actions: HashMap<String, Statement>,
    /// [`RESET`], and the start-up settings again where a proxy kept them from the server.
    reset: String,
    /// Name of the database node.
    pub node: String,
    /// When the server was started: tells a restart from a session that died alone.
    pub server_started: i64,
}

impl WorkerSession {
    /// Opens and prepares a session for a worker that may hold a transaction for `longest_hold` without a word.
    pub async fn open(
        connector: &Connector,
        application: &str,
        longest_hold: Duration,
    ) -> Result<Self, OpenError> {
        let settings = start_up::settings(longest_hold);
        let session = connector.connect(application, &settings).await?;
        let prepared = within(ANSWER_LIMIT, prepare(&session.client)).await?;
        let mut reset = RESET.to_owned();
        if prepared.superuser {
            reset.insert_str(0, RESET_OF_SUPERUSER);
        }
        if !session.startup_settings_honoured {
            for (name, value) in &settings {
                reset = format!("{reset}; SET {name} = '{value}'");
            }
        }
        Ok(Self {
            session,
            statements: prepared.statements,
            actions: HashMap::new(),
            reset,
            node: prepared.node,
            server_started: prepared.server_started,
        })
    }

    /// The connection.
    #[must_use]
    pub const fn client(&self) -> &Client {
        &self.session.client
    }

    /// Opens the held transaction. Whatever the defaults of the database are: read committed, because the action
    /// must see what the callers it serves committed after the claim began, and read write.
    pub async fn begin(&self) -> Result<(), tokio_postgres::Error> {
        const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; ";
        self.client()
            .batch_execute(&format!("{BEGIN}{OWN_SETTINGS}"))
            .await
    }

    /// One look at the queue, in a transaction of its own and in one round trip. Never without a transaction: there the settings are those of
    /// the database, under whose search path the server would read a prepared statement anew.
    pub async fn look(
        &self,
        statement: &Statement,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, StepError> {
        let look = async {
            let ((), rows, ()) = futures_util::future::try_join3(
                self.begin(),
                self.client().query(statement, parameters),
                self.client().batch_execute("ROLLBACK"),
            )
            .await?;
            Ok(rows)
        };
        within(ANSWER_LIMIT, look).await
    }

    /// Text that makes the session ready for the action of event `id`.
    #[must_use]
    pub fn before_action(&self, id: i64) -> String {
        format!("{}; SET LOCAL pgrelay.event_id = '{id}'", self.reset)
    }

    /// Text that has deferred constraints and triggers speak, under the settings of actions.
    #[must_use]
    pub fn check_constraints(&self) -> String {
        format!("{}; SET CONSTRAINTS ALL IMMEDIATE", self.reset)
    }

    /// Text that makes the session ready for our own statements after an action.
    #[must_use]
    pub fn after_action(&self) -> String {
        format!("{}; {OWN_SETTINGS}", self.reset)
    }

    /// Lets go of what actions left behind in the session and commits.
    pub async fn commit(&self) -> Result<(), tokio_postgres::Error> {
        self.client().batch_execute(RELEASE_AND_COMMIT).await
    }

    /// Ends the transaction without a trace.
    pub async fn rollback(&self) -> Result<(), StepError> {
        let text = format!(
            "ROLLBACK; {}; SELECT pg_catalog.pg_advisory_unlock_all()",
            self.reset
        );
        within(ANSWER_LIMIT, self.client().batch_execute(&text)).await
    }

    /// Ends a transaction in which a claim found nothing.
    pub async fn rollback_empty(&self) -> Result<(), StepError> {
        within(ANSWER_LIMIT, self.client().batch_execute("ROLLBACK")).await
    }

    /// The same, and returns the time at which there was nothing.
    pub async fn rollback_empty_at(&self) -> Result<Timestamp, StepError> {
        let both = async {
            let (row, ()) = futures_util::future::try_join(
                self.client().query_one(&self.statements.now, &[]),
                self.client().batch_execute("ROLLBACK"),
            )
            .await?;
            Ok(row.get(0))
        };
        within(ANSWER_LIMIT, both).await
    }

    /// The prepared action, if this session has it already.
    #[must_use]
    pub fn action(&self, sql: &str) -> Option<&Statement> {
        self.actions.get(sql)
    }

    /// Prepares an action; its parameter types are the server's to infer.
    pub async fn prepare_action(&mut self, sql: &str) -> Result<Statement, tokio_postgres::Error> {
        /// Beyond this the cache starts anew: channels whose text keeps changing must not fill the server's memory.
        const KEPT: usize = 1_000;
        if self.actions.len() >= KEPT {
            self.actions.clear();
        }
        let statement = self.session.client.prepare(sql).await?;
        self.actions.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    /// Forgets a prepared action that no longer fits the catalog.
    pub fn forget_action(&mut self, sql: &str) {
        self.actions.remove(sql);
    }

    /// Drops the statements which actions prepared by SQL and left behind; ours are not prepared that way.
    pub async fn deallocate_left_over(&self) -> Result<(), StepError> {
        const LEFT_OVER: &str = "SELECT name FROM pg_prepared_statements WHERE from_sql";
        let rows = within(ANSWER_LIMIT, self.client().query(LEFT_OVER, &[])).await?;
        let quoted = rows.iter().map(|row| {
            let name: String = row.get(0);
            format!("DEALLOCATE \"{}\"", name.replace('"', "\"\""))
        });
        let text = quoted.collect::<Vec<_>>().join("; ");
        within(ANSWER_LIMIT, self.client().batch_execute(&text)).await
    }

    /// Runs an action and discards its rows as they stream in.
    pub async fn run_action(
        &self,
        action: &Statement,
        payload: Option<&str>,
    ) -> Result<(), tokio_postgres::Error> {
        let payload = Payload(payload);
        let parameters = action.params().iter().map(|_| &payload);
        self.client().execute_raw(action, parameters).await?;
        Ok(())
    }

    /// Passes on what an error said about the end of the session.
    pub fn note(&self, error: &StepError) {
        if let StepError::Reported(error) = error {
            self.session.farewell.note(error);
        }
    }

    /// Whether the session is over.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.session.farewell.is_closed() || self.client().is_closed()
    }

    /// What the server gave as the reason for ending it.
    #[must_use]
    pub fn farewell(&self) -> Option<SqlState> {
        self.session.farewell.sqlstate()
    }

    /// Waits until the end of the session is known, since its reason arrives with it.
    pub async fn closed(&self) {
        const LIMIT: Duration = Duration::from_secs(1);
        if tokio::time::timeout(LIMIT, self.session.farewell.closed())
            .await
            .is_err()
        {
            tracing::debug!("the socket of a lost session is still open");
        }
    }

    /// Returns when the session is over, however long that takes.
    pub async fn over(&self) {
        self.session.farewell.closed().await;
    }

    /// Prepares our own statements once more, inside the held transaction: somebody's DEALLOCATE ALL took them away.
    pub async fn prepare_again(&mut self) -> Result<(), StepError> {
        self.statements = within(ANSWER_LIMIT, Statements::prepare(self.client())).await?;
        Ok(())
    }

    /// Says goodbye.
    pub async fn close(self) {
        self.session.close().await;
    }
}

/// What a new session is asked for.
struct Prepared {
    statements: Statements,
    node: String,
    server_started: i64,
    superuser: bool,
}

async fn prepare(client: &Client) -> Result<Prepared, tokio_postgres::Error> {
    const ASK: &str = "SELECT pgrelay.node_name() AS node, \
            (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint AS server_started, \
            current_setting('is_superuser') = 'on' AS superuser";
    client
        .batch_execute("SET statement_timeout = 30000; SET search_path = pg_catalog, pg_temp")
        .await?;
    let statements = Statements::prepare(client).await?;
    let row = client.query_one(ASK, &[]).await?;
    client
        .batch_execute("RESET search_path; RESET statement_timeout")
        .await?;
    Ok(Prepared {
        statements,
        node: row.get("node"),
        server_started: row.get("server_started"),
        superuser: row.get("superuser"),
    })
}
