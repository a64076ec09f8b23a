//! The configuration file of a daemon under test.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::Value;

use crate::database::Database;

/// Sections with keys and values, written as TOML.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConfigFile {
    sections: BTreeMap<String, BTreeMap<String, Value>>,
    password: Option<String>,
}

impl ConfigFile {
    /// With a `[pepsi-postgres]` section that leads to the database.
    pub(crate) fn for_database(database: &Database) -> Self {
        let endpoint = database.endpoint();
        let mut config = Self {
            password: endpoint.password().map(str::to_owned),
            ..Self::default()
        };
        config.set("pepsi-postgres", "HOST", endpoint.host());
        config.set("pepsi-postgres", "PORT", endpoint.port());
        config.set("pepsi-postgres", "DBNAME", database.name());
        config.set("pepsi-postgres", "USER", endpoint.user());
        config.set("pepsi-postgres", "SSLMODE", "disable");
        config
    }

    pub(crate) fn set(&mut self, section: &str, key: &str, value: impl Into<Value>) {
        self.sections
            .entry(section.to_owned())
            .or_default()
            .insert(key.to_owned(), value.into());
    }

    pub(crate) fn unset(&mut self, section: &str, key: &str) {
        if let Some(keys) = self.sections.get_mut(section) {
            keys.remove(key);
        }
    }

    /// Writes the file, and beside it the password file where one is needed.
    pub(crate) fn write(&self, path: &Path) {
        let mut config = self.clone();
        if let Some(password) = &self.password {
            let file = path.with_file_name("password");
            write_private(&file, password);
            config.set(
                "pepsi-postgres",
                "PASSWORD_FILE",
                file.display().to_string(),
            );
        }
        write_private(path, &config.to_toml());
    }

    fn to_toml(&self) -> String {
        let mut text = String::new();
        for (section, keys) in &self.sections {
            let _ = writeln!(text, "[{section}]");
            for (key, value) in keys {
                // JSON's numbers, booleans, strings and arrays of them are TOML as they stand.
                let _ = writeln!(text, "{key} = {value}");
            }
            text.push('\n');
        }
        text
    }
}

fn write_private(path: &Path, text: &str) {
    std::fs::write(path, text).expect("writing a file for the daemon");
    // Password files which others may read are refused by the daemons.
    let owner_only = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(path, owner_only).expect("making a file private");
}
