//! A file of the system that one process sees with another content: bound over it in a mount namespace of its own.

use std::path::Path;
use std::process::{Command, Stdio};

/// The words that start a program with `file` in `place`; `None` where that is not allowed.
pub(crate) fn launcher(file: &Path, place: &str) -> Option<Vec<String>> {
    let bind = format!(
        r#"mount --bind "{}" {place} && exec "$0" "$@""#,
        file.display()
    );
    let words = ["unshare", "--mount", "sh", "-c", &bind].map(str::to_owned);
    let mut trial = Command::new(&words[0]);
    trial.args(&words[1..]).arg("true").stderr(Stdio::null());
    trial
        .status()
        .is_ok_and(|status| status.success())
        .then(|| words.into())
}
