//! A configuration file in memory, and where in it things stand.

use super::ConfigError;
use super::error::setting_name;
use super::known_keys::known_keys;
use serde::de::DeserializeOwned;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue, ValueDeserializer};

/// A configuration file that is valid TOML; its sections are read one by one.
#[derive(Debug, Clone)]
pub struct Document {
    path: PathBuf,
    text: String,
    warnings: Vec<String>,
}

impl Document {
    /// Reads the file at `path`.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let unreadable = |source| ConfigError::unreadable(path, source);
        let text = std::fs::read_to_string(path).map_err(unreadable)?;
        let mode = std::fs::metadata(path).map_err(unreadable)?.mode();
        let mut document = Self::parse(path, &text)?;
        if mode & 0o022 != 0 {
            document.warnings.push(format!(
                "configuration file {} can be written by its group or by everybody (mode {:04o}); chmod 0644 is enough",
                path.display(),
                mode & 0o7777
            ));
        }
        Ok(document)
    }

    /// Takes `text` as the content of the file at `path`, which is used in messages only.
    pub fn parse(path: impl AsRef<Path>, text: &str) -> Result<Self, ConfigError> {
        let path = path.as_ref();
        // The parser's own rendering would quote the offending line.
        DeTable::parse(text).map_err(|error| ConfigError::Syntax {
            path: path.to_owned(),
            line: line_at(text, error.span().map_or(0, |span| span.start)),
            detail: error.message().to_owned(),
        })?;
        Ok(Self {
            path: path.to_owned(),
            text: text.to_owned(),
            warnings: Vec::new(),
        })
    }

    /// Where the document came from.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is dangerous about the file without making it unusable. To be logged by the caller,
    /// because logging starts only after the configuration is known.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Reads the section `name`; one that is missing has all its defaults.
    pub fn section<T: DeserializeOwned + Default>(&self, name: &str) -> Result<T, ConfigError> {
        let mut root = self.root();
        let Some(section) = root.get_mut().remove(name) else {
            return Ok(T::default());
        };
        let span = section.span();
        let DeValue::Table(table) = section.get_ref() else {
            return Err(ConfigError::NotASection {
                path: self.path.clone(),
                line: self.line(span.start),
                section: name.to_owned(),
            });
        };
        let entries: Vec<Entry> = table.iter().map(Entry::new).collect();
        self.refuse_unknown(name, &entries, known_keys::<T>())?;
        T::deserialize(ValueDeserializer::from(section))
            .map_err(|error| self.value_error(name, &entries, span, &error))
    }

    /// Adds file and line to an error that was found after reading, when its key is in the file.
    #[must_use]
    pub fn locate(&self, error: ConfigError) -> ConfigError {
        let ConfigError::Setting {
            at: None,
            setting,
            detail,
        } = error
        else {
            return error;
        };
        let at = self.position(&setting);
        ConfigError::Setting {
            at: at.map(|start| (self.path.clone(), self.line(start))),
            setting,
            detail,
        }
    }

    fn position(&self, setting: &str) -> Option<usize> {
        let (section, key) = setting.strip_prefix('[')?.split_once("] ")?;
        let root = self.root();
        let table = root.get_ref().get(section)?.get_ref().as_table()?;
        let (key, _) = table.get_key_value(key)?;
        Some(key.span().start)
    }

    fn root(&self) -> toml::Spanned<DeTable<'_>> {
        DeTable::parse(&self.text).expect("the text was parsed when the document was made")
    }

    fn refuse_unknown(
        &self,
        section: &str,
        entries: &[Entry],
        known: &'static [&'static str],
    ) -> Result<(), ConfigError> {
        // The table is sorted by name; the first in the file is the one to look at first.
        let unknown = entries
            .iter()
            .filter(|entry| !known.is_empty() && !known.contains(&entry.key.as_str()))
            .min_by_key(|entry| entry.span.start);
        match unknown {
            None => Ok(()),
            Some(entry) => Err(ConfigError::UnknownKey {
                path: self.path.clone(),
                line: self.line(entry.span.start),
                setting: setting_name(section, &entry.key),
                known: known.to_vec(),
            }),
        }
    }

    fn value_error(
        &self,
        section: &str,
        entries: &[Entry],
        whole: Range<usize>,
        error: &toml::de::Error,
    ) -> ConfigError {
        let at = error.span().unwrap_or(whole).start;
        let entry = entries
            .iter()
            .find(|entry| entry.span.start <= at && at < entry.span.end);
        ConfigError::Value {
            path: self.path.clone(),
            line: self.line(at),
            setting: entry.map_or_else(
                || section.to_owned(),
                |entry| setting_name(section, &entry.key),
            ),
            value: entry.map_or_else(String::new, |entry| {
                shown(&entry.key, &self.text[entry.value.clone()])
            }),
            detail: error.message().to_owned(),
        }
    }

    fn line(&self, offset: usize) -> usize {
        line_at(&self.text, offset)
    }
}

/// One key of a section, with the stretches of the file that it and its value take.
struct Entry {
    key: String,
    span: Range<usize>,
    value: Range<usize>,
}

impl Entry {
    fn new<'i>(
        (key, value): (
            &toml::Spanned<toml::de::DeString<'i>>,
            &toml::Spanned<DeValue<'i>>,
        ),
    ) -> Self {
        Self {
            key: key.get_ref().to_string(),
            span: key.span().start..value.span().end.max(key.span().end),
            value: value.span(),
        }
    }
}

/// The value for a message. A password pasted where its file should be named is not repeated.
fn shown(key: &str, value: &str) -> String {
    const LIMIT: usize = 80;
    if ["PASSWORD", "SECRET", "TOKEN"]
        .iter()
        .any(|word| key.contains(word) && !key.starts_with("SECRET_"))
    {
        return "(not shown)".to_owned();
    }
    let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
    match value.char_indices().nth(LIMIT) {
        Some((cut, _)) => format!("{}…", &value[..cut]),
        None => value,
    }
}

fn line_at(text: &str, offset: usize) -> usize {
    let before = text.get(..offset).unwrap_or(text);
    1 + before.matches('\n').count()
}

#[cfg(test)]
mod tests;
