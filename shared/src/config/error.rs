//! What can be wrong with the configuration.

use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A configuration that cannot be used. The message names the place and what would be accepted; it
/// never holds a password.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("configuration file {} cannot be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The file is not TOML.
    #[error("{}:{line}: not valid TOML: {detail}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// The parser's words, without the line itself: it may hold a password.
        detail: String,
    },
    /// A section name stands for something other than a section.
    #[error("{}:{line}: `{section}` must be a section, written [{section}]", path.display())]
    NotASection {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// The name.
        section: String,
    },
    /// A section holds a key that nobody reads.
    #[error("{}:{line}: {setting} is not a known key; known are {}", path.display(), known.join(", "))]
    UnknownKey {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// The section and key.
        setting: String,
        /// The keys the section may hold.
        known: Vec<&'static str>,
    },
    /// A key has a value that is not accepted.
    #[error("{}:{line}: {setting} = {value} is not accepted: {detail}", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// The section and key.
        setting: String,
        /// The value as written.
        value: String,
        /// What would be accepted.
        detail: String,
    },
    /// A setting is wrong in the light of others, of the machine or of the command line.
    #[error("{}{setting}: {detail}", place(at.as_ref()))]
    Setting {
        /// File and line, once known; see [`super::Document::locate`].
        at: Option<(PathBuf, usize)>,
        /// The section and key, or the command-line option.
        setting: String,
        /// What is wrong and what would be accepted.
        detail: String,
    },
}

impl ConfigError {
    /// An error about `key` of `section` whose place in the file is not known yet.
    #[must_use]
    pub fn setting(section: &str, key: &str, detail: impl Into<String>) -> Self {
        Self::Setting {
            at: None,
            setting: setting_name(section, key),
            detail: detail.into(),
        }
    }

    /// An error about a command-line option.
    #[must_use]
    pub fn option(name: &str, detail: impl Into<String>) -> Self {
        Self::Setting {
            at: None,
            setting: name.to_owned(),
            detail: detail.into(),
        }
    }

    pub(super) fn unreadable(path: &Path, source: io::Error) -> Self {
        Self::Unreadable {
            path: path.to_owned(),
            source,
        }
    }
}

/// How messages name a key of a section.
pub(super) fn setting_name(section: &str, key: &str) -> String {
    format!("[{section}] {key}")
}

fn place(at: Option<&(PathBuf, usize)>) -> String {
    at.map(|(path, line)| format!("{}:{line}: ", path.display()))
        .unwrap_or_default()
}
