//! `check` reports a secrets file that somebody else than root can get at, and says nothing of one as it should be.

use fleet_tests::database::Database;
use fleet_tests::processor::command_at;
use std::fs::{Permissions, set_permissions, write};
use std::os::unix::fs::PermissionsExt as _;

#[tokio::test]
async fn and_a_file_that_others_may_read_is_reported_without_its_content() {
    if !nix::unistd::Uid::effective().is_root() {
        fleet_tests::skip!("root", "the file has to belong to root");
    }
    let db = Database::with_schema().await;
    let directory = tempfile::tempdir().expect("a directory");
    let config = directory.path().join("pepsi.conf");
    write(&config, "").expect("a configuration file");
    let secrets = directory.path().join("secrets.env");
    write(&secrets, "MAIL_PASSWORD=swordfish\n").expect("a secrets file");
    let arguments = ["--config", config.to_str().expect("a path"), "check"];

    set_permissions(&secrets, Permissions::from_mode(0o644)).expect("a mode");
    let output = command_at(&db.url(), &arguments).await;
    assert_eq!(output.code, 0, "a warning does not block: {output}");
    let finding = output
        .stdout
        .lines()
        .find(|line| line.starts_with("warning secrets:file: "));
    let finding = finding.unwrap_or_else(|| panic!("no finding: {output}"));
    assert!(finding.contains("has mode 0644"), "{finding}");
    assert!(finding.contains("chmod 0600"), "{finding}");
    assert!(!output.stdout.contains("swordfish"), "{output}");

    set_permissions(&secrets, Permissions::from_mode(0o600)).expect("a mode");
    let output = command_at(&db.url(), &arguments).await;
    assert!(!output.stdout.contains("secrets:file"), "{output}");
}
