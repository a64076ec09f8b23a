//! `[pepsi-failure-bouncer]`: where stuck messages go, as whom, and how often it is looked. Every key but BOUNCE_STAGE is optional.

use serde::Deserialize;
use serde::de::{Deserializer, Error};
use shared::config::{ConfigError, Span, accept};
use shared::logging::{Format, Level};
use std::path::Path;

/// The section `[pepsi-failure-bouncer]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE", deny_unknown_fields, default)]
pub struct BouncerConfig {
    /// The stage that stuck messages are handed to; see [`BouncerConfig::stage`].
    #[serde(deserialize_with = "stage_name")]
    pub bounce_stage: Option<String>,
    /// The operating system account to become when started as root.
    #[serde(deserialize_with = "accept::text")]
    pub user: String,
    /// How often the table is looked through for what no wake-up told of.
    #[serde(deserialize_with = "accept::span::<_, 100, 86_400_000>")]
    pub sweep_interval: Span,
    /// The least severe lines that are written.
    pub log_level: Level,
    /// Where and in which shape.
    pub log_format: Format,
}

impl BouncerConfig {
    /// The name of the section.
    pub const SECTION: &'static str = "pepsi-failure-bouncer";

    /// BOUNCE_STAGE, read from `file`. There is no default: a guess would send messages to a stage that nobody runs.
    pub fn stage(&self, file: &Path) -> Result<&str, ConfigError> {
        self.bounce_stage.as_deref().ok_or_else(|| {
            let detail = format!(
                "missing in {}, and it has no default: expected the name of the stage that bounces messages, such as \"bounce\"",
                file.display()
            );
            ConfigError::setting(Self::SECTION, "BOUNCE_STAGE", detail)
        })
    }
}

impl Default for BouncerConfig {
    fn default() -> Self {
        Self {
            bounce_stage: None,
            user: "pepsi".to_owned(),
            sweep_interval: Span::from_secs(60),
            log_level: Level::Info,
            log_format: Format::Auto,
        }
    }
}

/// Any text that a row can hold and a log line can show.
fn stage_name<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let name = accept::text(from)?;
    if name.chars().any(char::is_control) {
        return Err(D::Error::custom(
            "expected a non-empty string without control characters",
        ));
    }
    Ok(Some(name))
}

#[cfg(test)]
mod tests {
    use super::BouncerConfig;
    use shared::config::Document;
    use std::collections::BTreeSet;
    use std::path::Path;

    const SHIPPED: &str = include_str!("../../conf/pepsi.conf");

    fn section(text: &str) -> Result<BouncerConfig, String> {
        Document::parse("pepsi.conf", text)
            .unwrap()
            .section(BouncerConfig::SECTION)
            .map_err(|error| error.to_string())
    }

    /// The lines of the section in the shipped file.
    fn shipped_lines() -> impl Iterator<Item = &'static str> {
        SHIPPED
            .lines()
            .skip_while(|line| *line != "[pepsi-failure-bouncer]")
            .skip(1)
            .take_while(|line| !line.trim_start_matches('#').starts_with('['))
    }

    #[test]
    fn the_shipped_file_says_what_the_defaults_are() {
        assert_eq!(section(SHIPPED).unwrap(), BouncerConfig::default());
    }

    #[test]
    fn the_shipped_file_holds_every_key_and_no_other() {
        let shipped: BTreeSet<&str> = shipped_lines()
            .filter_map(|line| line.trim_start_matches('#').split_once(" = "))
            .map(|(key, _)| key)
            .filter(|key| key.bytes().all(|b| b.is_ascii_uppercase() || b == b'_'))
            .collect();
        let refused = section("[pepsi-failure-bouncer]\nNO_SUCH_KEY = 1").unwrap_err();
        let (_, known) = refused.split_once("known are ").unwrap();
        assert_eq!(shipped, known.split(", ").collect());
    }

    #[test]
    fn the_bounce_stage_of_the_shipped_file_is_an_example() {
        let line = shipped_lines()
            .find_map(|line| {
                line.strip_prefix('#')
                    .filter(|l| l.starts_with("BOUNCE_STAGE"))
            })
            .unwrap();
        let config = section(&format!("[pepsi-failure-bouncer]\n{line}")).unwrap();
        assert_eq!(config.stage(Path::new("")).unwrap(), "bounce");
    }

    #[test]
    fn a_missing_bounce_stage_is_named() {
        let config = BouncerConfig::default();
        let error = config.stage(Path::new("/a.conf")).unwrap_err().to_string();
        assert!(
            error.starts_with(
                "[pepsi-failure-bouncer] BOUNCE_STAGE: missing in /a.conf, and it has no default"
            ),
            "{error}"
        );
    }

    #[test]
    fn values_that_make_no_sense_are_refused_with_what_would() {
        let table = [
            ("BOUNCE_STAGE = \"\"", "expected a non-empty string"),
            ("BOUNCE_STAGE = 7", "expected a non-empty string"),
            ("BOUNCE_STAGE = \"a\\u0000b\"", "without control characters"),
            ("USER = \"\"", "expected a non-empty string"),
            ("SWEEP_INTERVAL = \"0s\"", "from \"100ms\" to \"1d\""),
            ("SWEEP_INTERVAL = \"2d\"", "from \"100ms\" to \"1d\""),
            ("SWEEP_INTERVAL = 60", "from \"100ms\" to \"1d\""),
            (
                "LOG_LEVEL = \"loud\"",
                "`error`, `warn`, `info`, `debug`, `trace`",
            ),
            ("LOG_FORMAT = \"xml\"", "`auto`, `text`, `json`, `journald`"),
        ];
        for (line, expected) in table {
            let message = section(&format!("[pepsi-failure-bouncer]\n{line}")).expect_err(line);
            let place = format!("pepsi.conf:2: [pepsi-failure-bouncer] {line} is not accepted: ");
            assert!(message.starts_with(&place), "{message}");
            assert!(message.contains(expected), "{message}");
        }
    }
}
