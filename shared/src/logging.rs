//! Where log lines go: the journal under systemd, otherwise stderr as text or JSON.

pub mod line;
pub mod repeat;

use serde::Deserialize;
use std::fmt;
use std::io::{self, IsTerminal};
use tracing::level_filters::LevelFilter;
use tracing_journald::{Priority, PriorityMappings};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry, fmt as text, reload};

/// The least severe kind of line that is written, as `LOG_LEVEL` spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Only what a person must act on.
    Error,
    /// Also what is degraded and going on.
    Warn,
    /// Also life-cycle and verdicts.
    #[default]
    Info,
    /// Also every step.
    Debug,
    /// Also what libraries say to themselves.
    Trace,
}

impl Level {
    /// As written in the configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }

    const fn filter(self) -> LevelFilter {
        match self {
            Self::Error => LevelFilter::ERROR,
            Self::Warn => LevelFilter::WARN,
            Self::Info => LevelFilter::INFO,
            Self::Debug => LevelFilter::DEBUG,
            Self::Trace => LevelFilter::TRACE,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The shape of log lines, as `LOG_FORMAT` spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// The journal when systemd connected stderr to it, text otherwise.
    #[default]
    Auto,
    /// Lines for people, on stderr.
    Text,
    /// One JSON object per line, on stderr.
    Json,
    /// The journal; text on stderr when there is none.
    Journald,
}

/// Changes the level of a running process.
#[derive(Debug, Clone)]
pub struct LogHandle {
    level: reload::Handle<LevelFilter, Registry>,
}

impl LogHandle {
    /// Takes effect for every later line.
    pub fn set_level(&self, level: Level) {
        // The only error is that the subscriber is gone, and it lives as long as the process.
        if let Err(error) = self.level.modify(|filter| *filter = level.filter()) {
            tracing::warn!("log level not changed to {level}: {error}");
        }
    }
}

/// Sets up logging for the whole process; to be called once, before the first line.
///
/// The error says that somebody else has already done so.
pub fn init(
    level: Level,
    format: Format,
) -> Result<LogHandle, tracing_subscriber::util::TryInitError> {
    let (filter, handle) = reload::Layer::new(level.filter());
    let (sink, no_journal) = sink(format);
    tracing_subscriber::registry()
        .with(filter)
        .with(sink)
        .try_init()?;
    if let Some(error) = no_journal {
        tracing::warn!("the journal cannot be reached ({error}); logging to stderr");
    }
    Ok(LogHandle { level: handle })
}

type Filtered = tracing_subscriber::layer::Layered<reload::Layer<LevelFilter, Registry>, Registry>;
type Sink = Box<dyn Layer<Filtered> + Send + Sync>;

fn sink(format: Format) -> (Sink, Option<io::Error>) {
    let format = match format {
        Format::Auto if std::env::var_os("JOURNAL_STREAM").is_some() => Format::Journald,
        Format::Auto => Format::Text,
        chosen @ (Format::Text | Format::Json | Format::Journald) => chosen,
    };
    match format {
        Format::Json => {
            let json = text::layer().json().with_writer(io::stderr);
            (json.boxed(), None)
        }
        Format::Journald => match tracing_journald::layer() {
            Ok(journal) => {
                let journal = journal.with_priority_mappings(journal_priorities());
                (journal.boxed(), None)
            }
            Err(error) => (plain_text(), Some(error)),
        },
        Format::Auto | Format::Text => (plain_text(), None),
    }
}

fn plain_text() -> Sink {
    text::layer()
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .with_target(false)
        .boxed()
}

/// The library writes info as "notice" and debug as "info"; operators filter with
/// `journalctl -p info` and expect the names to agree.
fn journal_priorities() -> PriorityMappings {
    PriorityMappings {
        error: Priority::Error,
        warn: Priority::Warning,
        info: Priority::Informational,
        debug: Priority::Debug,
        trace: Priority::Debug,
    }
}

#[cfg(test)]
mod tests {
    use super::{Format, Level};
    use serde::Deserialize;

    #[derive(Deserialize)]
    struct Keys {
        level: Level,
        format: Format,
    }

    #[test]
    fn levels_and_formats_are_spelled_in_lower_case() {
        for level in [
            Level::Error,
            Level::Warn,
            Level::Info,
            Level::Debug,
            Level::Trace,
        ] {
            let text = format!("level = \"{level}\"\nformat = \"journald\"");
            let keys: Keys = toml::from_str(&text).unwrap();
            assert_eq!(keys.level, level);
            assert_eq!(keys.format, Format::Journald);
        }
        assert!(toml::from_str::<Keys>("level = \"INFO\"\nformat = \"text\"").is_err());
    }
}
