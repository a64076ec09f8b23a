//! The file that systemd reads the secrets of notifications from, `secrets.env` beside the configuration file (`EnvironmentFile=` in the unit).
//!
//! This process never opens it: its variables are in the environment already. Only who else may read or replace it is looked at, and reported,
//! not refused: the secrets are loaded by then, and sql events have no part in it.

use super::Finding;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The file's name.
const NAME: &str = "secrets.env";

/// What is wrong with the file beside `config`, if there is one that this account can see.
#[must_use]
pub fn file_beside(config: &Path) -> Option<Finding> {
    let path = config.with_file_name(NAME);
    let metadata = std::fs::metadata(&path).ok()?;
    let mode = metadata.mode() & 0o7777;
    let owner = metadata.uid();
    let problem = match (owner, mode & 0o077) {
        (0, 0) => return None,
        (0, _) => format!("has mode {mode:04o}, so others than root can get at the secrets in it"),
        (owner, _) => format!("belongs to user id {owner} and not to root"),
    };
    let message = format!("{} {problem}", path.display());
    let hint = format!(
        "chown root:root {0} && chmod 0600 {0}; systemd reads it before the account changes",
        path.display()
    );
    Some(Finding::warning("secrets:file", message).hint(hint))
}

#[cfg(test)]
mod tests {
    use super::file_beside;
    use std::fs::{Permissions, set_permissions, write};
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    #[test]
    fn a_file_that_others_may_read_or_own_is_reported() {
        let directory = tempfile::tempdir().unwrap();
        let config = directory.path().join("pepsi.conf");
        assert_eq!(file_beside(&config), None, "there need not be one");
        let file = directory.path().join("secrets.env");
        write(&file, "A=b\n").unwrap();
        set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        let finding = file_beside(&config).unwrap();
        assert_eq!(finding.code, "secrets:file");
        let owned_by_root = std::fs::metadata(&file).unwrap().uid() == 0;
        if owned_by_root {
            assert!(finding.message.contains("mode 0640"), "{}", finding.message);
        }
        set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        assert_eq!(file_beside(&config).is_none(), owned_by_root);
        if owned_by_root {
            std::os::unix::fs::chown(&file, Some(1), None).unwrap();
            let finding = file_beside(&config).unwrap();
            assert!(finding.message.contains("user id 1"), "{}", finding.message);
        }
    }
}
