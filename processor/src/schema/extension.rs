//! The same SQL, packaged for CREATE EXTENSION.

use super::{Bundle, SchemaError};
use std::path::{Path, PathBuf};

/// Writes the files of the extension into `directory` and returns their paths.
pub fn write_extension(bundle: &Bundle, directory: &Path) -> Result<Vec<PathBuf>, SchemaError> {
    let Bundle { name, version, .. } = bundle;
    let mut files = vec![
        (format!("{name}.control"), control(bundle)),
        (format!("{name}--{version}.sql"), script(bundle)),
    ];
    for step in bundle.upgrades {
        let guard = guard(&format!("ALTER EXTENSION {name} UPDATE"));
        files.push((
            format!("{name}--{}--{}.sql", step.from, step.to),
            guard + step.sql,
        ));
    }
    let mut written = Vec::new();
    for (file, text) in files {
        let path = directory.join(file);
        std::fs::write(&path, text).map_err(|source| SchemaError::Write {
            path: path.clone(),
            source,
        })?;
        written.push(path);
    }
    Ok(written)
}

/// The extension itself is put into pg_catalog, which every database has and which makes the search
/// path of the script a safe one. Its script creates the schema, so that DROP EXTENSION removes it.
fn control(bundle: &Bundle) -> String {
    let comment = bundle.comment;
    let version = bundle.version;
    let mut text = format!(
        "comment = '{comment}'\ndefault_version = '{version}'\nrelocatable = false\nschema = pg_catalog\n"
    );
    if !bundle.requires.is_empty() {
        text += "requires = '";
        text += &bundle.requires.join(", ");
        text += "'\n";
    }
    text
}

fn script(bundle: &Bundle) -> String {
    let mut text = guard(&format!("CREATE EXTENSION {}", bundle.name));
    text += &bundle.text();
    text += "-- The rows of these are the user's: pg_dump keeps them.\n";
    for data in bundle.data {
        let filter = data.filter.replace('\'', "''");
        let schema = bundle.schema;
        text += "SELECT pg_catalog.pg_extension_config_dump('";
        text += &[schema, ".", data.name, "'::regclass, '", &filter, "');\n"].concat();
    }
    text
}

/// Run by psql the file would leave objects that belong to no extension.
fn guard(command: &str) -> String {
    format!("\\echo Use \"{command}\" to load this file. \\quit\n")
}

#[cfg(test)]
mod tests {
    use super::{control, script};
    use crate::schema::{NOTIFIER, PGRELAY};

    #[test]
    fn a_companion_requires_the_queue() {
        assert!(control(&NOTIFIER).contains("\nrequires = 'pgrelay'\n"));
        assert!(!control(&PGRELAY).contains("requires"));
    }

    #[test]
    fn every_table_with_rows_of_the_user_s_is_dumped() {
        let text = script(&NOTIFIER);
        let tables = NOTIFIER
            .scripts
            .iter()
            .filter_map(|script| script.path.strip_prefix("tables/"));
        for table in tables {
            let table = table.trim_end_matches(".sql");
            let mark =
                format!("pg_extension_config_dump('pgrelay_notifier.{table}'::regclass, '')");
            assert!(text.contains(&mark), "{table}");
        }
    }
}
