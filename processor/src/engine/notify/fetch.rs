//! Fetching a notification from its notifier, inside the held transaction.
//!
//! `fetch` runs read only, within a limit, and under a savepoint that is rolled back whatever it did: it cannot take a transaction id or a lock into the
//! send, and one that raises costs its attempt and not the settlement.

use super::interface::Servable;
use crate::engine::session::WorkerSession;
use crate::engine::step::{ANSWER_LIMIT, StepError, within};
use crate::engine::verdict::of_companion;
use crate::transport::Notification;
use postgres_types::{FromSql, Type};
use shared::failure::Class;
use tokio_postgres::{Column, Row};

/// What `fetch` gave.
pub enum Fetched {
    /// The notification, and whether its steps go to `debug_log`.
    Found(Box<Notification>, bool),
    /// The notifier does not know the id.
    Unknown,
    /// Something else than its contract says.
    Wrong(Wrong),
}

/// How `fetch` broke its contract.
#[derive(Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Whether that may pass.
    pub class: Class,
    /// What it raised, if it did.
    pub sqlstate: Option<String>,
    /// What it did, without its words.
    pub problem: String,
}

impl Wrong {
    fn answer(problem: &str) -> Self {
        Self {
            class: Class::Permanent,
            sqlstate: None,
            problem: format!("fetch() of the notifier returned {problem}"),
        }
    }

    fn raised(error: &tokio_postgres::Error) -> Self {
        let state = error.code().map_or("none", |state| state.code());
        Self {
            class: of_companion(error.code()),
            sqlstate: Some(state.to_owned()),
            problem: format!("fetch() of the notifier failed with SQLSTATE {state}"),
        }
    }
}

/// Fetches notification `id`.
pub async fn fetch(
    session: &WorkerSession,
    notifier: &Servable,
    id: i64,
) -> Result<Fetched, StepError> {
    const BEFORE: &str =
        "SAVEPOINT asked; SET LOCAL statement_timeout = 10000; SET TRANSACTION READ ONLY";
    const AFTER: &str = "ROLLBACK TO SAVEPOINT asked; RELEASE SAVEPOINT asked";
    let call = format!(
        "SELECT f.transport, f.profile, f.message, f.debug FROM {}.fetch($1) AS f LIMIT 2",
        notifier.schema
    );
    let client = session.client();
    let flight = async {
        let (before, rows, after) = futures_util::future::join3(
            client.batch_execute(BEFORE),
            client.query_typed(&call, &[(&id, Type::INT8)]),
            client.batch_execute(AFTER),
        )
        .await;
        before?;
        after?;
        Ok(rows)
    };
    match within(ANSWER_LIMIT, flight).await? {
        Ok(rows) => Ok(read(id, &rows)),
        Err(error) if error.as_db_error().is_some() => Ok(Fetched::Wrong(Wrong::raised(&error))),
        Err(error) => Err(error.into()),
    }
}

fn read(id: i64, rows: &[Row]) -> Fetched {
    match rows {
        [] => Fetched::Unknown,
        [row] => read_row(id, row).unwrap_or_else(Fetched::Wrong),
        _ => Fetched::Wrong(Wrong::answer("more than one row")),
    }
}

fn read_row(id: i64, row: &Row) -> Result<Fetched, Wrong> {
    const TYPES: [Type; 4] = [Type::TEXT, Type::JSONB, Type::JSONB, Type::BOOL];
    if !row.columns().iter().map(Column::type_).eq(&TYPES) {
        return Err(Wrong::answer("columns of other types"));
    }
    let notification = Notification {
        id,
        transport: column(row, "transport")?,
        profile: column(row, "profile")?,
        message: column(row, "message")?,
    };
    let debug = column(row, "debug")?;
    Ok(Fetched::Found(Box::new(notification), debug))
}

fn column<'a, T: FromSql<'a>>(row: &'a Row, name: &str) -> Result<T, Wrong> {
    match row.try_get::<_, Option<T>>(name) {
        Ok(Some(value)) => Ok(value),
        Ok(None) => Err(Wrong::answer(&format!("NULL as {name}"))),
        // JSON that our parser does not take: nesting beyond its depth.
        Err(_) => Err(Wrong::answer(&format!("a {name} that cannot be read"))),
    }
}
