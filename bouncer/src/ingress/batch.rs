//! What one batch came to.

use tokio_postgres::Row;

/// A message that was moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// Its id, as text.
    pub id: String,
    /// Whether it had timed out; it had failed otherwise.
    pub timed_out: bool,
}

/// A message that the table did not let go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Its id, as text.
    pub id: String,
    /// The SQLSTATE; the server's words may quote the message.
    pub sqlstate: String,
}

/// What one statement did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// The messages it has moved.
    pub moved: Vec<Moved>,
    /// Those that the table did not let go.
    pub refused: Vec<Refused>,
    /// Where the sweep goes on; `None` at the end of the table.
    pub next: Option<String>,
}

impl Refused {
    /// One line about this message and those that were refused with it, `number` in all.
    #[must_use]
    pub fn line(&self, number: usize) -> String {
        let Self { id, sqlstate } = self;
        let others = match number {
            0 | 1 => String::new(),
            more => format!(" and {} others", more - 1),
        };
        format!(
            "message {id}{others} stuck: pepsi.ingress refuses the move (SQLSTATE {sqlstate}), look at its constraints and triggers"
        )
    }
}

/// The messages of an answer; a row without an id tells of none.
pub(super) fn moved(rows: &[Row]) -> Vec<Moved> {
    rows.iter()
        .filter_map(|row| {
            let id: Option<String> = row.get(0);
            id.map(|id| Moved {
                id,
                timed_out: is_timeout(row, 1),
            })
        })
        .collect()
}

/// Which of the two states a message was in.
pub(super) fn is_timeout(row: &Row, status: usize) -> bool {
    // A column of type character(n) pads its values.
    row.get::<_, &str>(status).trim_end() == "timeout"
}
