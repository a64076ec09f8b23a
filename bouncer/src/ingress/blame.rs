//! Whose an error of a statement that moves messages is: the server's, or the table's, whose triggers may raise what they like.

use tokio_postgres::error::SqlState;

/// Who has to act on an SQLSTATE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blame {
    /// Nobody: the same statement may succeed at once.
    Chance,
    /// Whoever runs the server: lost connections, a session that takes no statements, exhausted resources, a locked table, operator intervention,
    /// defects. No message can be moved in this session.
    Server,
    /// Whoever made the table; time limits count here, for they depend on how much is moved at once.
    Table,
}

/// Judges by the class (PostgreSQL: Appendix A, Error Codes); no text is looked at.
pub(super) fn blame(code: &SqlState) -> Blame {
    const SERVER: [&str; 8] = ["08", "25", "26", "53", "55P03", "57", "58", "XX"];
    let is_in = |class: &str| code.code().starts_with(class);
    if is_in("40") {
        Blame::Chance
    } else if *code != SqlState::QUERY_CANCELED && SERVER.into_iter().any(is_in) {
        Blame::Server
    } else {
        Blame::Table
    }
}

#[cfg(test)]
mod tests {
    use super::{Blame, blame};
    use tokio_postgres::error::SqlState;

    #[test]
    fn the_table_of_blame() {
        let table = [
            (Blame::Chance, &["40001", "40P01"] as &[_]),
            (
                Blame::Server,
                &[
                    "08006", "25006", "26000", "53200", "55P03", "57P01", "58030", "XX000",
                ],
            ),
            (
                Blame::Table,
                &[
                    "22P02", "23514", "42501", "42P01", "0A000", "55000", "57014", "P0001", "PE001",
                ],
            ),
        ];
        for (expected, codes) in table {
            for code in codes {
                assert_eq!(blame(&SqlState::from_code(code)), expected, "{code}");
            }
        }
    }
}
