//! Tests only: what a bundle lists is what its folder holds.

use super::Script;
use std::collections::BTreeSet;
use std::path::Path;

/// Every SQL file below `folder` is among `scripts`, and no other, and none twice.
pub(super) fn exactly_once(folder: &str, scripts: &[Script]) {
    let mut files = BTreeSet::new();
    files_below(Path::new(folder), "", &mut files);
    // Steps from earlier releases; a fresh installation does not run them.
    files.retain(|name| !name.starts_with("upgrades/"));
    let listed: Vec<String> = scripts
        .iter()
        .map(|script| script.path.to_owned())
        .collect();
    assert_eq!(listed.len(), files.len(), "a file is listed twice");
    assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), files);
}

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
