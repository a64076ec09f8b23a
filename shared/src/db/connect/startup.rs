//! The settings a session starts with.

use std::time::Duration;

/// How long a silent peer may stay silent before probing begins, between probes, and how many
/// unanswered probes end the connection: 10 s + 3 × 5 s, so that a host that vanished is noticed by
/// the other side within 30 s and its transactions are rolled back.
pub(super) const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
pub(super) const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
pub(super) const KEEPALIVE_COUNT: u32 = 3;
/// The same limit for data that was sent and not acknowledged, which keepalives do not cover.
pub(super) const USER_TIMEOUT: Duration = Duration::from_secs(25);

/// A setting that only our start-up options can bring in: when the server does not know it, a proxy
/// dropped the options.
pub(super) const MARK: (&str, &str) = ("pgrelay.startup_options", "yes");

/// The server's half of keepalive, no end for a session because it is idle (most of ours listen or wait), and then the caller's settings, which win.
pub(super) fn all_settings(settings: &[(&str, String)]) -> Vec<(String, String)> {
    let ours = [
        ("tcp_keepalives_idle", KEEPALIVE_IDLE.as_secs().to_string()),
        (
            "tcp_keepalives_interval",
            KEEPALIVE_INTERVAL.as_secs().to_string(),
        ),
        ("tcp_keepalives_count", KEEPALIVE_COUNT.to_string()),
        ("tcp_user_timeout", USER_TIMEOUT.as_millis().to_string()),
        ("idle_session_timeout", "0".to_owned()),
    ];
    ours.iter()
        .chain(settings)
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect()
}

/// The start-up parameter `options`: what the operator gave, then one `-c name=value` each.
pub(super) fn options(given: Option<&str>, settings: &[(String, String)]) -> String {
    let mut words: Vec<String> = given.map(str::to_owned).into_iter().collect();
    words.extend(
        settings
            .iter()
            .map(|(name, value)| format!("-c {}", escape(&format!("{name}={value}")))),
    );
    words.push(format!("-c {}={}", MARK.0, MARK.1));
    words.join(" ")
}

/// The server splits at white space and takes a backslash as "the next character is meant".
fn escape(word: &str) -> String {
    let mut escaped = String::with_capacity(word.len());
    for c in word.chars() {
        if c == '\\' || c.is_ascii_whitespace() || c == '\x0b' {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// The statement that sets everything for the rest of the session.
pub(super) fn set_statement(settings: &[(String, String)]) -> String {
    let calls: Vec<String> = settings
        .iter()
        .map(|(name, value)| {
            format!(
                "pg_catalog.set_config({}, {}, false)",
                literal(name),
                literal(value)
            )
        })
        .collect();
    format!("SELECT {}", calls.join(", "))
}

fn literal(text: &str) -> String {
    format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::{all_settings, escape, options, set_statement};
    use proptest::prelude::*;

    /// The server's rule, as in its pg_split_opts().
    fn split(options: &str) -> Vec<String> {
        let mut words = Vec::new();
        let mut chars = options.chars().peekable();
        loop {
            while chars.next_if(char::is_ascii_whitespace).is_some() {}
            if chars.peek().is_none() {
                return words;
            }
            let mut word = String::new();
            while let Some(c) = chars.next_if(|c| !c.is_ascii_whitespace()) {
                match c {
                    '\\' => word.extend(chars.next()),
                    c => word.push(c),
                }
            }
            words.push(word);
        }
    }

    proptest! {
        #[test]
        fn the_server_reads_back_what_was_written(value in "[ -~\t\n]{0,30}") {
            let word = format!("name={value}");
            let sent = format!("-c {} -c x=y", escape(&word));
            let expected = vec!["-c".to_owned(), word, "-c".to_owned(), "x=y".to_owned()];
            prop_assert_eq!(split(&sent), expected);
        }
    }

    #[test]
    fn given_options_come_first_and_the_callers_settings_last() {
        let settings = all_settings(&[("lock_timeout", "5ms".to_owned())]);
        let words = options(Some("-c jit=off"), &settings);
        assert!(
            words.starts_with("-c jit=off -c tcp_keepalives_idle=10 "),
            "{words}"
        );
        assert!(words.contains(" -c lock_timeout=5ms "), "{words}");
    }

    #[test]
    fn values_are_quoted_in_statements() {
        let settings = [("search_path".to_owned(), "a'b\\c".to_owned())];
        assert_eq!(
            set_statement(&settings),
            "SELECT pg_catalog.set_config(E'search_path', E'a''b\\\\c', false)"
        );
    }
}
