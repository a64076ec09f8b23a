//! What an action's SQL may look like, as far as that can be told without a server.

use thiserror::Error;

/// The keywords an action may begin with: statements that take a parameter and stay inside the
/// transaction. Anything else could end it, change it or reach outside the database.
pub const ALLOWED_KEYWORDS: [&str; 8] = [
    "SELECT", "WITH", "VALUES", "INSERT", "UPDATE", "DELETE", "MERGE", "CALL",
];

/// Why an action cannot run, whatever the database holds.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ActionProblem {
    /// There is no statement in it.
    #[error("the action holds no statement")]
    Empty,
    /// A comment that begins before the statement has no end.
    #[error("a comment before the statement is not closed")]
    OpenComment,
    /// It begins with something else than an allowed keyword.
    #[error("the action begins with {found}; allowed are {}", ALLOWED_KEYWORDS.join(", "))]
    Keyword {
        /// The word, in upper case, or the character.
        found: String,
    },
    /// It has more parameters than the payload.
    #[error("the action has {count} parameters; the payload is the only one, $1")]
    Parameters {
        /// How many.
        count: usize,
    },
}

/// Checks that the statement in `sql` begins with an allowed keyword. White space, comments and
/// opening parentheses may stand before it.
pub fn check_first_keyword(sql: &str) -> Result<(), ActionProblem> {
    let statement = skip_to_statement(sql)?;
    let Some(first) = statement.chars().next() else {
        return Err(ActionProblem::Empty);
    };
    let end = statement
        .find(|c: char| !is_word_character(c))
        .unwrap_or(statement.len());
    let word = &statement[..end];
    if ALLOWED_KEYWORDS
        .iter()
        .any(|keyword| keyword.eq_ignore_ascii_case(word))
    {
        return Ok(());
    }
    let found = match first {
        // It must not reach a terminal.
        control if control.is_control() => control.escape_default().collect(),
        _ if word.is_empty() => first.to_string(),
        _ => shortened(word),
    };
    Err(ActionProblem::Keyword { found })
}

/// Checks the number of parameters that the server found in an action.
pub fn check_parameter_count(count: usize) -> Result<(), ActionProblem> {
    if count > 1 {
        return Err(ActionProblem::Parameters { count });
    }
    Ok(())
}

fn skip_to_statement(sql: &str) -> Result<&str, ActionProblem> {
    let mut rest = sql;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c', '(']);
        if let Some(comment) = rest.strip_prefix("--") {
            rest = comment.find(['\n', '\r']).map_or("", |end| &comment[end..]);
        } else if rest.starts_with("/*") {
            rest = after_block_comment(rest).ok_or(ActionProblem::OpenComment)?;
        } else {
            return Ok(rest);
        }
    }
}

/// Block comments nest, unlike those of C.
fn after_block_comment(text: &str) -> Option<&str> {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0_usize, 0_usize);
    while at < bytes.len() {
        match bytes.get(at..at + 2) {
            Some(b"/*") => {
                depth += 1;
                at += 2;
            }
            Some(b"*/") => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return Some(&text[at..]);
                }
            }
            Some(_) | None => at += 1,
        }
    }
    None
}

/// The server takes every byte beyond ASCII as part of a name.
fn is_word_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$' || !c.is_ascii()
}

fn shortened(word: &str) -> String {
    const LIMIT: usize = 30;
    let short = word.chars().take(LIMIT).collect::<String>().to_uppercase();
    if word.chars().nth(LIMIT).is_some() {
        return short + "…";
    }
    short
}

#[cfg(test)]
mod tests {
    use super::{ActionProblem, check_first_keyword, check_parameter_count};
    use proptest::prelude::*;

    #[test]
    fn allowed_statements_pass_in_any_dress() {
        for sql in [
            "SELECT my_fn($1)",
            "select 1",
            "\t\r\n\x0b\x0cValues (1)",
            "((SELECT 1) UNION (SELECT 2))",
            "-- why\nINSERT INTO t VALUES ($1)",
            "-- why\rUPDATE t SET a = 1",
            "/* a /* nested */ comment */ DELETE FROM t",
            "( /* a */ -- b\n ( SELECT 1))",
            "MERGE INTO t USING u ON true WHEN MATCHED THEN DO NOTHING",
            "call p($1)",
            "WITH x AS (SELECT 1) SELECT 1",
            "SELECT/**/1",
        ] {
            assert_eq!(check_first_keyword(sql), Ok(()), "{sql}");
        }
    }

    #[test]
    fn other_statements_are_named() {
        for (sql, found) in [
            ("COMMIT", "COMMIT"),
            ("  begin", "BEGIN"),
            ("-- SELECT\n vacuum t", "VACUUM"),
            ("/* SELECT */ COPY t TO PROGRAM 'x'", "COPY"),
            ("selection", "SELECTION"),
            ("SELECT$1", "SELECT$1"),
            ("DO $$ BEGIN END $$", "DO"),
            ("\"select\" 1", "\""),
            ("; SELECT 1", ";"),
            ("\u{1b}[2J", "\\u{1b}"),
            ("séléct 1", "SÉLÉCT"),
        ] {
            let expected = ActionProblem::Keyword {
                found: found.to_owned(),
            };
            assert_eq!(check_first_keyword(sql), Err(expected), "{sql}");
        }
    }

    #[test]
    fn a_long_word_is_cut() {
        let problem = check_first_keyword(&"x".repeat(1_000)).unwrap_err();
        assert!(problem.to_string().len() < 150, "{problem}");
    }

    #[test]
    fn nothing_and_nothing_but_comments_hold_no_statement() {
        for sql in ["", " \n", "-- SELECT 1", "/* SELECT 1 */", "(("] {
            assert_eq!(check_first_keyword(sql), Err(ActionProblem::Empty), "{sql}");
        }
        for sql in ["/* SELECT 1", "/* /* */ SELECT 1", "/*/ SELECT 1"] {
            assert_eq!(
                check_first_keyword(sql),
                Err(ActionProblem::OpenComment),
                "{sql}"
            );
        }
    }

    #[test]
    fn the_payload_is_the_only_parameter() {
        assert_eq!(check_parameter_count(0), Ok(()));
        assert_eq!(check_parameter_count(1), Ok(()));
        assert!(check_parameter_count(2).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_judged_without_a_panic(sql in ".*") {
            let passed = check_first_keyword(&sql).is_ok();
            prop_assert!(!passed || sql.len() >= 4);
        }
    }
}
