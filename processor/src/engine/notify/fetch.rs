//! Fetching a notification from its notifier, inside the held transaction.
//!
//! `fetch` runs read only, within a limit, and under a savepoint that is rolled back whatever it did: it cannot take a transaction id or a lock into the
//! send, and one that raises costs its attempt, or a pause if that may pass, and not the settlement.

use super::interface::Servable;
use crate::engine::session::WorkerSession;
use crate::engine::step::{ANSWER_LIMIT, StepError, within};
use crate::engine::verdict::of_companion;
use crate::transport::Notification;
use postgres_types::{FromSql, Type, accepts};
use serde_json::Value;
use serde_json::error::Category;
use shared::failure::Class;
use std::error::Error;
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
        profile: json(row, "profile")?,
        message: json(row, "message")?,
    };
    let debug = column(row, "debug")?;
    Ok(Fetched::Found(Box::new(notification), debug))
}

fn column<'a, T: FromSql<'a>>(row: &'a Row, name: &str) -> Result<T, Wrong> {
    match row.try_get::<_, Option<T>>(name) {
        Ok(Some(value)) => Ok(value),
        Ok(None) => Err(Wrong::answer(&format!("NULL as {name}"))),
        Err(_) => Err(unreadable(name)),
    }
}

fn unreadable(name: &str) -> Wrong {
    Wrong::answer(&format!("a {name} that cannot be read"))
}

fn json(row: &Row, name: &str) -> Result<Value, Wrong> {
    let JsonText(text) = column(row, name)?;
    if has_key_of_numbers(text) {
        let problem = format!("a {name} with the key {KEY_OF_NUMBERS}, which is reserved");
        return Err(Wrong::answer(&problem));
    }
    serde_json::from_str(text).map_err(|error| match error.classify() {
        // PostgreSQL writes no other JSON that is against the syntax here than JSON beyond the depth of this parser.
        Category::Syntax => Wrong::answer(&format!("a {name} that is nested too deeply")),
        Category::Io | Category::Data | Category::Eof => unreadable(name),
    })
}

/// The key by which `serde_json` passes numbers on to itself: it takes an object that begins with it for a number, or for an error.
const KEY_OF_NUMBERS: &str = "$serde_json::private::Number";

/// Whether an object in `text`, at any depth, has that key. Within a string the quote before it would be escaped.
fn has_key_of_numbers(text: &str) -> bool {
    let key = format!("\"{KEY_OF_NUMBERS}\":");
    text.match_indices(&key)
        .any(|(place, _)| text[..place].ends_with(['{', ' ']))
}

/// The text of a jsonb, as PostgreSQL writes it: `{"key": value, "key": value}`, escaping no more than it must.
struct JsonText<'a>(&'a str);

impl<'a> FromSql<'a> for JsonText<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        /// Of the binary format, which is this byte and the text.
        const VERSION: u8 = 1;
        match raw.split_first() {
            Some((&VERSION, text)) => Ok(Self(std::str::from_utf8(text)?)),
            _ => Err("a jsonb of another version".into()),
        }
    }

    accepts!(JSONB);
}

#[cfg(test)]
mod tests {
    use super::has_key_of_numbers;

    #[test]
    fn the_reserved_key_is_found_as_a_key_and_nowhere_else() {
        for text in [
            r#"{"$serde_json::private::Number": "1"}"#,
            r#"[{"a": [{"b": 1, "$serde_json::private::Number": {}}]}]"#,
        ] {
            assert!(has_key_of_numbers(text), "{text}");
        }
        for text in [
            r#"{"a": "$serde_json::private::Number"}"#,
            r#"["$serde_json::private::Number", 1]"#,
            r#"{"a": "{\"$serde_json::private::Number\": 1}"}"#,
            r#"{"a \"$serde_json::private::Number": 1}"#,
            r#"{"$serde_json::private::Numbers": 1}"#,
        ] {
            assert!(!has_key_of_numbers(text), "{text}");
        }
    }
}
