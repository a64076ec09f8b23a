use super::Document;
use crate::config::{ConfigError, OneOrMany, PostgresConfig, Span, SslMode};

fn postgres(text: &str) -> Result<PostgresConfig, ConfigError> {
    Document::parse("/etc/pepsi/pepsi.conf", text)?.section(PostgresConfig::SECTION)
}

fn complaint(text: &str) -> String {
    postgres(text).expect_err(text).to_string()
}

#[test]
fn a_missing_section_has_its_defaults() {
    let config = postgres("").unwrap();
    assert_eq!(config, PostgresConfig::default());
    assert_eq!(config.host.as_slice(), ["/var/run/postgresql"]);
    assert_eq!(config.port.as_slice(), [5432]);
    assert_eq!(config.dbname, "pepsi");
    assert_eq!(config.connect_timeout, Span::from_secs(5));
}

#[test]
fn hosts_and_ports_may_be_one_or_many() {
    let config = postgres(
        "[pepsi-postgres]\nHOST = [\"db1\", \"db2\"]\nPORT = [5432, 5433]\nSSLMODE = \"verify-ca\"",
    )
    .unwrap();
    assert_eq!(config.host.as_slice(), ["db1", "db2"]);
    assert_eq!(config.port, OneOrMany::Many(vec![5432, 5433]));
    assert_eq!(config.effective_sslmode(), SslMode::VerifyCa);
}

#[test]
fn foreign_sections_are_left_alone() {
    let text = "[pepsi-dispatch]\nMAX_RUNTIME = \"1h\"\nanything = [1, 2]\n[pepsi-postgres]\nUSER = \"relay\"";
    assert_eq!(postgres(text).unwrap().user.as_deref(), Some("relay"));
}

#[test]
fn an_unknown_key_is_refused_with_the_known_ones() {
    let message = complaint("\n[pepsi-postgres]\nHOST = \"db\"\nHOSTNAME = \"db\"\n");
    assert_eq!(
        message,
        "/etc/pepsi/pepsi.conf:4: [pepsi-postgres] HOSTNAME is not a known key; known are \
         HOST, PORT, DBNAME, USER, PASSWORD_FILE, SSLMODE, SSLROOTCERT, CONNECT_TIMEOUT"
    );
}

#[test]
fn the_first_unknown_key_of_the_file_is_the_one_named() {
    let message = complaint("[pepsi-postgres]\nZEBRA = 1\nALPHA = 2\n");
    assert!(message.contains(":2: [pepsi-postgres] ZEBRA"), "{message}");
}

#[test]
fn a_wrong_value_is_shown_with_its_place_and_what_would_be_accepted() {
    let table = [
        (
            "PORT = 0",
            "PORT = 0 is not accepted: expected a port from 1 to 65535",
        ),
        (
            "PORT = \"5432\"",
            "PORT = \"5432\" is not accepted: expected a port",
        ),
        ("PORT = []", "PORT = [] is not accepted: expected a port"),
        (
            "HOST = \"a,b\"",
            "HOST = \"a,b\" is not accepted: expected a name",
        ),
        (
            "DBNAME = \"\"",
            "DBNAME = \"\" is not accepted: expected a non-empty string",
        ),
        (
            "CONNECT_TIMEOUT = 5",
            "CONNECT_TIMEOUT = 5 is not accepted: expected a duration from \"100ms\" to \"1m\"",
        ),
        (
            "CONNECT_TIMEOUT = \"2m\"",
            "expected a duration from \"100ms\" to \"1m\"",
        ),
        (
            "SSLMODE = \"allow\"",
            "SSLMODE = \"allow\" is not accepted: unknown variant `allow`, expected one of `disable`, `prefer`",
        ),
        (
            "SSLROOTCERT = \"ca.pem\"",
            "expected the absolute path of a file",
        ),
        (
            "HOST = [\n  \"db1\",\n  7,\n]",
            "HOST = [ \"db1\", 7, ] is not accepted",
        ),
    ];
    for (line, expected) in table {
        let message = complaint(&format!("# comment\n\n[pepsi-postgres]\n{line}\n"));
        assert!(message.contains(expected), "{message}");
        assert!(
            message.starts_with("/etc/pepsi/pepsi.conf:4: [pepsi-postgres] "),
            "{message}"
        );
    }
}

#[test]
fn a_password_in_the_wrong_place_is_never_repeated() {
    for line in [
        "PASSWORD = \"swordfish\"",
        "PASSWORD = swordfish",
        "PASSWORD_FILE = \"swordfish\"",
        "PASSWORD_FILE = swordfish",
        "USER = \"a\" PASSWORD = \"swordfish\"",
    ] {
        let message = complaint(&format!("[pepsi-postgres]\n{line}\n"));
        assert!(!message.contains("swordfish"), "{message}");
        assert!(
            message.starts_with("/etc/pepsi/pepsi.conf:2: "),
            "{message}"
        );
    }
}

#[test]
fn a_section_name_used_as_a_key_is_refused() {
    assert_eq!(
        complaint("\npepsi-postgres = 3\n"),
        "/etc/pepsi/pepsi.conf:2: `pepsi-postgres` must be a section, written [pepsi-postgres]"
    );
}

#[test]
fn an_error_found_later_is_located() {
    let document =
        Document::parse("/c", "[pepsi-postgres]\nHOST = \"db\"\nPORT = [1, 2]\n").unwrap();
    let error = ConfigError::setting(PostgresConfig::SECTION, "PORT", "two ports for one host");
    assert_eq!(
        document.locate(error).to_string(),
        "/c:3: [pepsi-postgres] PORT: two ports for one host"
    );
    let absent = ConfigError::setting(PostgresConfig::SECTION, "SSLMODE", "wrong");
    assert_eq!(
        document.locate(absent).to_string(),
        "[pepsi-postgres] SSLMODE: wrong"
    );
}

#[test]
fn a_missing_file_is_named() {
    let error = Document::load(std::path::Path::new("/nonexistent/pepsi.conf")).unwrap_err();
    assert!(
        error.to_string().contains("/nonexistent/pepsi.conf"),
        "{error}"
    );
}

#[test]
fn a_file_that_others_can_write_is_warned_of() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("pepsi.conf");
    std::fs::write(&file, "").unwrap();
    for (mode, warned) in [(0o644, false), (0o600, false), (0o664, true), (0o646, true)] {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        let document = Document::load(&file).unwrap();
        assert_eq!(!document.warnings().is_empty(), warned, "{mode:o}");
    }
}
