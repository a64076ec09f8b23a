//! Where the database password comes from.

use super::{ConfigError, PostgresConfig};
use secrecy::SecretString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The name of the systemd credential that holds the password (`LoadCredential=` in the unit).
const CREDENTIAL: &str = "pepsi-postgres-password";

/// The password that `config` points at: the content of PASSWORD_FILE, or else the systemd
/// credential `pepsi-postgres-password`, or else none (peer authentication, a trusted socket).
///
/// One newline at the end is not part of the password. A PASSWORD_FILE that its group or others can
/// read is refused; a credential is not checked, because systemd guards the directory it is in.
pub fn read_password(config: &PostgresConfig) -> Result<Option<SecretString>, ConfigError> {
    let credentials = std::env::var_os("CREDENTIALS_DIRECTORY").map(PathBuf::from);
    read_password_from(config.password_file.as_deref(), credentials.as_deref())
}

fn read_password_from(
    file: Option<&Path>,
    credentials: Option<&Path>,
) -> Result<Option<SecretString>, ConfigError> {
    if let Some(file) = file {
        if !credentials.is_some_and(|directory| file.starts_with(directory)) {
            refuse_readable_by_others(file)?;
        }
        return content(file).map(Some);
    }
    match credentials.map(|directory| directory.join(CREDENTIAL)) {
        Some(credential) if credential.exists() => content(&credential).map(Some),
        Some(_) | None => Ok(None),
    }
}

fn refuse_readable_by_others(file: &Path) -> Result<(), ConfigError> {
    let metadata = std::fs::metadata(file).map_err(|error| unreadable(file, &error))?;
    if !metadata.is_file() {
        return Err(wrong(format!("{} is not a regular file", file.display())));
    }
    let mode = metadata.mode();
    let for_others = mode & 0o077;
    if for_others == 0 {
        return Ok(());
    }
    Err(wrong(format!(
        "{} has mode {:04o}, so other accounts can get at the password; run chmod 0600 on it",
        file.display(),
        mode & 0o7777
    )))
}

fn content(file: &Path) -> Result<SecretString, ConfigError> {
    let mut text = std::fs::read_to_string(file).map_err(|error| unreadable(file, &error))?;
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    if text.is_empty() {
        return Err(wrong(format!("{} is empty", file.display())));
    }
    Ok(SecretString::from(text))
}

fn unreadable(file: &Path, error: &std::io::Error) -> ConfigError {
    wrong(format!("{} cannot be read: {error}", file.display()))
}

fn wrong(detail: String) -> ConfigError {
    ConfigError::setting(PostgresConfig::SECTION, "PASSWORD_FILE", detail)
}

#[cfg(test)]
mod tests {
    use super::{CREDENTIAL, read_password_from};
    use secrecy::ExposeSecret;
    use std::fs::{Permissions, set_permissions, write};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_password_file_that_others_can_read_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("password");
        write(&file, "swordfish\n").unwrap();
        for mode in [0o640, 0o604, 0o620, 0o777] {
            set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            let error = read_password_from(Some(&file), None)
                .expect_err("readable by others")
                .to_string();
            assert!(error.contains("chmod 0600"), "{error}");
            assert!(
                error.starts_with("[pepsi-postgres] PASSWORD_FILE"),
                "{error}"
            );
            assert!(!error.contains("swordfish"), "{error}");
        }
    }

    #[test]
    fn one_newline_at_the_end_is_not_part_of_the_password() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("password");
        for (text, expected) in [
            ("a b\n", "a b"),
            ("x\r\n", "x"),
            ("y\n\n", "y\n"),
            (" z", " z"),
        ] {
            write(&file, text).unwrap();
            set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
            let password = read_password_from(Some(&file), None).unwrap().unwrap();
            assert_eq!(password.expose_secret(), expected);
        }
        write(&file, "\n").unwrap();
        assert!(read_password_from(Some(&file), None).is_err());
    }

    #[test]
    fn the_credential_is_used_when_no_file_is_named() {
        let directory = tempfile::tempdir().unwrap();
        assert!(
            read_password_from(None, Some(directory.path()))
                .unwrap()
                .is_none()
        );
        let credential = directory.path().join(CREDENTIAL);
        write(&credential, "swordfish").unwrap();
        set_permissions(&credential, Permissions::from_mode(0o440)).unwrap();
        let password = read_password_from(None, Some(directory.path())).unwrap();
        assert_eq!(password.unwrap().expose_secret(), "swordfish");
        assert!(read_password_from(Some(&credential), Some(directory.path())).is_ok());
        assert!(read_password_from(Some(&credential), None).is_err());
    }
}
