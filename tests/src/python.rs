//! Python environments with pinned packages, for programs that are independent of ours: they check what ours have made.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::paths;

/// The interpreter of the environment which `tests/python-packages/<name>` lists, made now if it is not there yet.
///
/// `Err`: why it cannot be had, for [`skip!`](crate::skip!).
///
/// # Panics
/// When there is no such list.
pub fn environment(name: &str) -> Result<PathBuf, String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("python-environment");
    let output = Command::new(script)
        .arg(name)
        .arg(paths::build_dir().join("python-environments"))
        .output()
        .expect("starting tests/python-environment");
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    assert!(output.status.code() != Some(64), "{said}");
    if !output.status.success() {
        return Err(said);
    }
    Ok(PathBuf::from(
        String::from_utf8_lossy(&output.stdout).trim(),
    ))
}
