//! One installable package of SQL, as compiled into the binary.

use super::{SchemaError, Version};

/// A package of SQL with the way to it from earlier releases.
#[derive(Debug, Clone, Copy)]
pub struct Bundle {
    /// The name people and CREATE EXTENSION call it by.
    pub name: &'static str,
    /// The schema its objects live in; its function version() tells what is installed.
    pub schema: &'static str,
    /// What it is, in one line.
    pub comment: &'static str,
    /// The packages that must be there first.
    pub requires: &'static [&'static str],
    /// The version that `scripts` install.
    pub version: Version,
    /// The roles that the scripts create where they are missing.
    pub roles: &'static [GroupRole],
    /// Everything a fresh installation runs, in this order.
    pub scripts: &'static [Script],
    /// One step each from a version to a later one, at most one from any version.
    pub upgrades: &'static [Upgrade],
    /// Tables and sequences whose rows pg_dump must keep when the package is an extension.
    pub data: &'static [Data],
}

/// A role that the package needs.
#[derive(Debug, Clone, Copy)]
pub struct GroupRole {
    /// Its name, which needs no quoting.
    pub name: &'static str,
    /// The group roles it is a member of itself.
    pub member_of: &'static [&'static str],
    /// Whether it logs in itself, as the account of the same name; otherwise logins are made members of it.
    pub login: bool,
}

/// One SQL file.
#[derive(Debug, Clone, Copy)]
pub struct Script {
    /// Below the directory of the package.
    pub path: &'static str,
    /// Its text.
    pub sql: &'static str,
}

/// One step of an upgrade; it runs in a transaction of its own.
#[derive(Debug, Clone, Copy)]
pub struct Upgrade {
    /// The version it starts from.
    pub from: Version,
    /// The version it leads to.
    pub to: Version,
    /// Its text.
    pub sql: &'static str,
}

/// A table or sequence with data of the user's.
#[derive(Debug, Clone, Copy)]
pub struct Data {
    /// Its name within the schema.
    pub name: &'static str,
    /// The WHERE clause that leaves out what the script itself inserts; empty for all rows.
    pub filter: &'static str,
}

/// The scripts of a package, compiled in from its folder, in the order given.
macro_rules! scripts {
    ($folder:literal, [$($path:literal),* $(,)?]) => {
        &[$($crate::schema::Script {
            path: $path,
            sql: include_str!(concat!($folder, $path)),
        }),*]
    };
}
pub(super) use scripts;

impl Data {
    /// A table or sequence whose rows are all the user's.
    #[must_use]
    pub const fn all_rows(name: &'static str) -> Self {
        Self { name, filter: "" }
    }
}

impl GroupRole {
    /// A role and the group roles it is a member of.
    #[must_use]
    pub const fn new(name: &'static str, member_of: &'static [&'static str]) -> Self {
        Self {
            name,
            member_of,
            login: false,
        }
    }

    /// A role that logs in itself.
    #[must_use]
    pub const fn login(name: &'static str) -> Self {
        Self {
            name,
            member_of: &[],
            login: true,
        }
    }
}

impl Bundle {
    /// The steps from `installed` to this release, in order.
    pub fn path_from(&self, installed: Version) -> Result<Vec<&'static Upgrade>, SchemaError> {
        let mut steps = Vec::new();
        let mut at = installed;
        while at < self.version {
            let step = self
                .upgrades
                .iter()
                .find(|step| step.from == at && step.to > at && step.to <= self.version);
            let Some(step) = step else {
                return Err(SchemaError::NoPath {
                    name: self.name,
                    installed,
                    release: self.version,
                });
            };
            at = step.to;
            steps.push(step);
        }
        Ok(steps)
    }

    /// All scripts in one text, each under its name.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for script in self.scripts {
            text.push_str("-- ");
            text.push_str(self.name);
            text.push('/');
            text.push_str(script.path);
            text.push('\n');
            text.push_str(script.sql.trim_end());
            text.push_str("\n\n");
        }
        text
    }
}

/// What is asked of every package in its tests.
#[cfg(test)]
pub(super) mod folder {
    use super::Bundle;
    use std::collections::BTreeSet;
    use std::path::Path;

    fn files_below(directory: &Path, prefix: &str, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() {
                files_below(&path, &format!("{prefix}{name}/"), found);
            } else if path.extension().is_some_and(|extension| extension == "sql") {
                found.insert(format!("{prefix}{name}"));
            }
        }
    }

    /// Fails unless a fresh installation runs every file of the folder exactly once.
    pub(in crate::schema) fn is_installed_whole(bundle: &Bundle, folder: &str) {
        let mut files = BTreeSet::new();
        files_below(Path::new(folder), "", &mut files);
        // Steps from earlier releases; a fresh installation does not run them.
        files.retain(|name| !name.starts_with("upgrades/"));
        let listed: Vec<String> = bundle
            .scripts
            .iter()
            .map(|script| script.path.to_owned())
            .collect();
        assert_eq!(listed.len(), files.len(), "a file is listed twice");
        assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), files);
    }
}

#[cfg(test)]
mod tests {
    use super::{Bundle, Upgrade, Version};

    const fn step(from: Version, to: Version) -> Upgrade {
        Upgrade { from, to, sql: "" }
    }

    const fn v(minor: u16) -> Version {
        Version::new(1, minor)
    }

    const BUNDLE: Bundle = Bundle {
        name: "fixture",
        schema: "fixture",
        comment: "",
        requires: &[],
        version: v(4),
        roles: &[],
        scripts: &[],
        upgrades: &[step(v(1), v(2)), step(v(2), v(4)), step(v(0), v(0))],
        data: &[],
    };

    fn path(minor: u16) -> Option<Vec<Version>> {
        let steps = BUNDLE.path_from(v(minor)).ok()?;
        Some(steps.iter().map(|step| step.to).collect())
    }

    #[test]
    fn an_upgrade_takes_every_step_in_between() {
        assert_eq!(path(1), Some(vec![v(2), v(4)]));
        assert_eq!(path(2), Some(vec![v(4)]));
        assert_eq!(path(4), Some(vec![]));
    }

    #[test]
    fn a_version_that_no_step_starts_from_has_no_path() {
        assert_eq!(path(3), None);
        assert_eq!(path(0), None, "a step that leads nowhere is none");
    }
}
