//! `[pg-relay-processor]`: how this instance works. Every key is optional.

use serde::Deserialize;
use shared::config::{Span, accept};
use shared::logging::{Format, Level};

/// The section `[pg-relay-processor]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE", deny_unknown_fields, default)]
pub struct ProcessorConfig {
    /// Workers for channels of type `sql`, each with one connection; 0 for none.
    #[serde(deserialize_with = "accept::whole_number::<_, _, 0, 64>")]
    pub sql_workers: u16,
    /// Workers for channels of type `notify`, each with one connection; 0 for none.
    #[serde(deserialize_with = "accept::whole_number::<_, _, 0, 64>")]
    pub notify_workers: u16,
    /// Globs; a channel is served when one of them matches its name.
    #[serde(deserialize_with = "accept::names")]
    pub channels: Vec<String>,
    /// Globs; a channel that one of them matches is not served, whatever CHANNELS says.
    #[serde(deserialize_with = "accept::names")]
    pub exclude_channels: Vec<String>,
    /// How long a drain may take before what is still held is rolled back.
    #[serde(deserialize_with = "accept::span::<_, 1_000, 3_600_000>")]
    pub shutdown_timeout: Span,
    /// How long an idle worker sleeps at most; wake-ups only shorten it. At most a second, because
    /// an event may wait that long when its wake-up is lost.
    #[serde(deserialize_with = "accept::span::<_, 10, 1_000>")]
    pub poll_interval: Span,
    /// Globs; secrets whose name one of them matches may be used by notifications.
    #[serde(deserialize_with = "accept::names")]
    pub secret_allow: Vec<String>,
    /// Globs; secrets that one of them matches may not, whatever SECRET_ALLOW says.
    #[serde(deserialize_with = "accept::names")]
    pub secret_deny: Vec<String>,
    /// The least severe lines that are written.
    pub log_level: Level,
    /// Where and in which shape.
    pub log_format: Format,
}

impl ProcessorConfig {
    /// The name of the section.
    pub const SECTION: &'static str = "pg-relay-processor";

    /// Whether this instance serves `channel`. Exclusion wins.
    #[must_use]
    pub fn serves(&self, channel: &str) -> bool {
        allowed(&self.channels, &self.exclude_channels, channel)
    }

    /// Whether notifications may use the secret `name`. Denial wins.
    #[must_use]
    pub fn may_use_secret(&self, name: &str) -> bool {
        allowed(&self.secret_allow, &self.secret_deny, name)
    }
}

impl Default for ProcessorConfig {
    fn default() -> Self {
        let everything = || vec!["*".to_owned()];
        Self {
            sql_workers: 4,
            notify_workers: 2,
            channels: everything(),
            exclude_channels: Vec::new(),
            shutdown_timeout: Span::from_secs(30),
            poll_interval: Span::from_secs(1),
            secret_allow: everything(),
            secret_deny: Vec::new(),
            log_level: Level::Info,
            log_format: Format::Auto,
        }
    }
}

fn allowed(allow: &[String], deny: &[String], name: &str) -> bool {
    let matched_by = |globs: &[String]| globs.iter().any(|glob| shared::glob::matches(glob, name));
    matched_by(allow) && !matched_by(deny)
}

#[cfg(test)]
mod tests {
    use super::ProcessorConfig;
    use shared::config::{Document, PostgresConfig};
    use std::collections::BTreeSet;

    const SHIPPED: &str = include_str!("../../conf/pepsi.conf");

    /// The keys that a section has in the shipped file, `KEY = value` and `#KEY = value` alike.
    fn keys_in_file(section: &str) -> BTreeSet<String> {
        let header = format!("[{section}]");
        SHIPPED
            .lines()
            .skip_while(|line| *line != header)
            .skip(1)
            .take_while(|line| !line.trim_start_matches('#').starts_with('['))
            .filter_map(|line| line.trim_start_matches('#').split_once(" = "))
            .map(|(key, _)| key.to_owned())
            .filter(|key| key.bytes().all(|b| b.is_ascii_uppercase() || b == b'_'))
            .collect()
    }

    /// The shipped file with its commented keys of `section` put into force.
    fn uncommented(section: &str) -> String {
        let keys = keys_in_file(section);
        let lines = SHIPPED.lines().map(|line| match line.strip_prefix('#') {
            Some(rest)
                if rest
                    .split_once(" = ")
                    .is_some_and(|(key, _)| keys.contains(key)) =>
            {
                rest
            }
            Some(_) | None => line,
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The keys a section accepts, from the error about one it does not.
    fn known_keys<T: serde::de::DeserializeOwned + Default>(section: &str) -> BTreeSet<String> {
        let text = format!("[{section}]\nNO_SUCH_KEY = 1");
        let error = Document::parse("pepsi.conf", &text)
            .unwrap()
            .section::<T>(section)
            .err()
            .expect("an unknown key is refused");
        let message = error.to_string();
        let (_, known) = message
            .split_once("known are ")
            .expect("the known keys are listed");
        known.split(", ").map(str::to_owned).collect()
    }

    fn section(text: &str) -> Result<ProcessorConfig, String> {
        Document::parse("pepsi.conf", text)
            .unwrap()
            .section(ProcessorConfig::SECTION)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_shipped_file_says_what_the_defaults_are() {
        let shipped = Document::parse("pepsi.conf", SHIPPED).unwrap();
        let postgres: PostgresConfig = shipped.section(PostgresConfig::SECTION).unwrap();
        let processor: ProcessorConfig = shipped.section(ProcessorConfig::SECTION).unwrap();
        assert_eq!(postgres, PostgresConfig::default());
        assert_eq!(processor, ProcessorConfig::default());
    }

    #[test]
    fn the_shipped_file_holds_every_key_and_no_other() {
        assert_eq!(
            keys_in_file(ProcessorConfig::SECTION),
            known_keys::<ProcessorConfig>(ProcessorConfig::SECTION)
        );
        assert_eq!(
            keys_in_file(PostgresConfig::SECTION),
            known_keys::<PostgresConfig>(PostgresConfig::SECTION)
        );
    }

    #[test]
    fn the_commented_keys_of_the_shipped_file_are_valid_too() {
        let text = uncommented(PostgresConfig::SECTION);
        let document = Document::parse("pepsi.conf", &text).unwrap();
        let postgres: PostgresConfig = document.section(PostgresConfig::SECTION).unwrap();
        assert!(postgres.user.is_some() && postgres.sslmode.is_some());
    }

    #[test]
    fn values_out_of_range_are_refused_with_the_range() {
        let table = [
            ("SQL_WORKERS = 65", "expected a whole number from 0 to 64"),
            (
                "NOTIFY_WORKERS = -1",
                "expected a whole number from 0 to 64",
            ),
            (
                "SQL_WORKERS = \"four\"",
                "expected a whole number from 0 to 64",
            ),
            ("POLL_INTERVAL = \"2s\"", "from \"10ms\" to \"1s\""),
            ("POLL_INTERVAL = \"0s\"", "from \"10ms\" to \"1s\""),
            ("SHUTDOWN_TIMEOUT = 30", "from \"1s\" to \"1h\""),
            ("CHANNELS = \"*\"", "expected an array of non-empty strings"),
            (
                "SECRET_DENY = [\"\"]",
                "expected an array of non-empty strings",
            ),
            (
                "LOG_LEVEL = \"loud\"",
                "`error`, `warn`, `info`, `debug`, `trace`",
            ),
            ("LOG_FORMAT = \"xml\"", "`auto`, `text`, `json`, `journald`"),
        ];
        for (line, expected) in table {
            let message = section(&format!("[pg-relay-processor]\n{line}")).expect_err(line);
            let place = format!("pepsi.conf:2: [pg-relay-processor] {line} is not accepted: ");
            assert!(message.starts_with(&place), "{message}");
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn exclusion_wins_over_inclusion() {
        let config = section(
            "[pg-relay-processor]\nCHANNELS = [\"orders.*\", \"mail\"]\nEXCLUDE_CHANNELS = [\"*.slow\"]",
        )
        .unwrap();
        assert!(config.serves("orders.ship"));
        assert!(config.serves("mail"));
        assert!(!config.serves("orders.slow"));
        assert!(!config.serves("stock"));
        assert!(ProcessorConfig::default().serves("anything"));
        assert!(ProcessorConfig::default().may_use_secret("anything"));
    }
}
