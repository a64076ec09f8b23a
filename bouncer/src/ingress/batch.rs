//! What one batch came to.

use shared::logging::line::one_line;
use tokio_postgres::Row;

/// Characters of an id that are shown: any bigint or UUID, and enough of a text to find it by.
const ID_SHOWN: usize = 100;

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
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Batch {
    /// The messages it has moved.
    pub moved: Vec<Moved>,
    /// Those that the table did not let go.
    pub refused: Vec<Refused>,
    /// How many stayed where they are without a word: a trigger suppressed the move, or the row has no id.
    pub ignored: u64,
    /// Where the sweep goes on; `None` at the end of the table.
    pub next: Option<String>,
}

impl Moved {
    /// Its id for a log: whoever may choose ids must not be able to forge lines.
    #[must_use]
    pub fn shown(&self) -> String {
        one_line(&self.id, ID_SHOWN)
    }
}

impl Refused {
    /// One line about this message and those that were refused with it, `number` in all.
    #[must_use]
    pub fn line(&self, number: u64) -> String {
        let Self { id, sqlstate } = self;
        let id = one_line(id, ID_SHOWN);
        let others = match number {
            0 | 1 => String::new(),
            more => format!(" and {} others", more - 1),
        };
        format!(
            "message {id}{others} stuck: pepsi.ingress refuses the move (SQLSTATE {sqlstate}), look at its constraints and triggers"
        )
    }
}

impl Batch {
    /// From the answer of one statement, whose third column says how many rows it has locked; a row without an id tells of none that was moved.
    pub(super) fn of(rows: &[Row]) -> Self {
        let messages = rows.iter().filter_map(|row| {
            let id: Option<String> = row.get(0);
            id.map(|id| Moved {
                id,
                timed_out: is_timeout(row, 1),
            })
        });
        let moved: Vec<Moved> = messages.collect();
        let count = u64::try_from(moved.len()).unwrap_or(u64::MAX);
        Self {
            moved,
            ignored: locked(rows).saturating_sub(count),
            ..Self::default()
        }
    }
}

/// How many rows the statement has locked.
pub(super) fn locked(rows: &[Row]) -> u64 {
    let locked: Option<i64> = rows.first().map(|row| row.get(2));
    locked
        .and_then(|locked| u64::try_from(locked).ok())
        .unwrap_or_default()
}

/// Which of the two states a message was in.
pub(super) fn is_timeout(row: &Row, status: usize) -> bool {
    // A column of type character(n) pads its values.
    row.get::<_, &str>(status).trim_end() == "timeout"
}
