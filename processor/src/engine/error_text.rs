//! Makes any error text fit for the log table: whatever bytes it holds, storing it must not fail.

/// Longest text stored, in bytes.
const LIMIT: usize = 8 * 1024;

/// Escapes control characters (NUL cannot be stored at all) and cuts at 8 KiB, on a character boundary.
#[must_use]
pub fn storable(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(LIMIT));
    for c in text.chars() {
        let keep = !c.is_control() || matches!(c, '\n' | '\t');
        let needed = if keep {
            c.len_utf8()
        } else {
            "\\u{ffff}".len()
        };
        if out.len() + needed > LIMIT - '…'.len_utf8() {
            out.push('…');
            break;
        }
        if keep {
            out.push(c);
        } else {
            out.extend(c.escape_unicode());
        }
    }
    out
}

/// The server's own words about `error`: its message, then DETAIL and HINT where there are any.
#[must_use]
pub fn of_server_error(error: &tokio_postgres::Error) -> String {
    let Some(said) = error.as_db_error() else {
        return storable(&shared::db::error_chain::ErrorChain(error).to_string());
    };
    let mut text = said.message().to_owned();
    for (label, part) in [("DETAIL", said.detail()), ("HINT", said.hint())] {
        if let Some(part) = part {
            text.push('\n');
            text.push_str(label);
            text.push_str(": ");
            text.push_str(part);
        }
    }
    storable(&text)
}

#[cfg(test)]
mod tests {
    use super::{LIMIT, storable};
    use proptest::prelude::*;

    #[test]
    fn odd_characters_are_escaped_and_lines_stay() {
        assert_eq!(storable("a\0b\u{1b}[1m\nc"), "a\\u{0}b\\u{1b}[1m\nc");
    }

    #[test]
    fn a_megabyte_is_cut_and_says_so() {
        let cut = storable(&"é".repeat(500_000));
        assert!(cut.len() <= LIMIT, "{} bytes", cut.len());
        assert!(cut.ends_with('…'));
    }

    proptest! {
        #[test]
        fn any_text_becomes_short_and_free_of_nul(text in ".*") {
            let stored = storable(&text);
            prop_assert!(stored.len() <= LIMIT);
            prop_assert!(!stored.contains('\0'));
        }
    }
}
