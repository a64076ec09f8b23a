//! Wrong command lines, files and logins end with their own exit code and a message that says what to do.

use fleet_tests::database::Database;
use fleet_tests::postgres::{PrivateOptions, Server};
use fleet_tests::processor::{Processor, command, command_at};

#[tokio::test]
async fn an_unreachable_host_is_named() {
    for arguments in [["check"], ["install"], ["upgrade"], ["status"]] {
        let output = command_at("postgres://relay@127.0.0.1:1/pepsi", &arguments).await;
        assert_eq!(output.code, 69, "{arguments:?} {output}");
        assert_eq!(
            output.stderr,
            "pg-relay-processor: cannot reach 127.0.0.1:1 (database \"pepsi\", user \"relay\"): Connection refused (os error 111)\n"
        );
    }
}

#[tokio::test]
async fn a_refused_login_is_told_from_a_missing_database() {
    let server = Server::private(PrivateOptions {
        hba: &["host all locked 127.0.0.1/32 scram-sha-256"],
        ..PrivateOptions::default()
    })
    .await;
    let database = Database::empty_on(&server).await;
    database
        .execute("CREATE ROLE locked LOGIN PASSWORD 'swordfish'")
        .await;
    let (port, name) = (server.port(), database.name());
    let wrong = format!("postgres://locked:guess@127.0.0.1:{port}/{name}");
    let output = command_at(&wrong, &["check"]).await;
    assert_eq!(output.code, 69, "{output}");
    assert_eq!(
        output.stderr,
        format!(
            "pg-relay-processor: login refused by 127.0.0.1:{port} (database \"{name}\", user \"locked\"): \
             password authentication failed for user \"locked\" (28P01)\n"
        )
    );
    let nowhere = format!("postgres://postgres@127.0.0.1:{port}/nowhere");
    let output = command_at(&nowhere, &["install"]).await;
    assert_eq!(output.code, 69, "{output}");
    assert!(
        output
            .stderr
            .contains("database \"nowhere\" does not exist (3D000)"),
        "{output}"
    );
}

#[tokio::test]
async fn wrong_command_lines_end_with_64() {
    let database = Database::empty().await;
    let cases: [(&[&str], &str); 6] = [
        (&["fly"], "unrecognized subcommand 'fly'"),
        (&["check", "--loud"], "unexpected argument '--loud'"),
        (
            &["install", "--with", "tea"],
            "[possible values: notifier, auto-mv, pepsi]",
        ),
        (
            &["install", "--dry-run", "--as-extension", "/tmp"],
            "cannot be used with",
        ),
        (&["demo", "--events", "0"], "invalid value '0'"),
        (
            &["install", "--as-extension", "/nonexistent/directory"],
            "cannot be written",
        ),
    ];
    for (arguments, expected) in cases {
        let output = command(&database, arguments).await;
        assert_eq!(output.code, 64, "{arguments:?} {output}");
        assert!(output.stderr.contains(expected), "{arguments:?} {output}");
    }
    let help = command(&database, &["--help"]).await;
    assert_eq!(help.code, 0, "{help}");
    assert!(help.stdout.contains("upgrade"), "{help}");
    let version = command(&database, &["--version"]).await;
    assert_eq!(version.code, 0, "{version}");
}

#[tokio::test]
async fn wrong_configuration_ends_with_78() {
    let database = Database::empty().await;
    let output = Processor::builder(&database)
        .set("SQL_WORKERS", 99)
        .arg("check")
        .run()
        .await;
    assert_eq!(output.code, 78, "{output}");
    assert!(
        output.stderr.contains("[pg-relay-processor] SQL_WORKERS = 99 is not accepted: expected a whole number from 0 to 64"),
        "{output}"
    );
    let output = command_at("postgres://relay:swordfish@db:port/x", &["check"]).await;
    assert_eq!(output.code, 78, "{output}");
    assert!(output.stderr.contains("--database: "), "{output}");
    assert!(!output.stderr.contains("swordfish"), "{output}");
    let output = command(&database, &["--config", "/nonexistent/pepsi.conf", "check"]).await;
    assert_eq!(output.code, 78, "{output}");
    assert!(
        output
            .stderr
            .contains("configuration file /nonexistent/pepsi.conf cannot be read"),
        "{output}"
    );
}

#[tokio::test]
async fn a_missing_schema_is_told_by_every_command() {
    let database = Database::empty().await;
    for arguments in [["status"], ["upgrade"]] {
        let output = command(&database, &arguments).await;
        assert_eq!(output.code, 76, "{arguments:?} {output}");
        assert_eq!(
            output.stderr,
            format!(
                "pg-relay-processor: pgrelay is not installed in database \"{}\"\nhint: run pg-relay-processor install\n",
                database.name()
            )
        );
    }
    let output = command(&database, &["run"]).await;
    assert_eq!(output.code, 76, "{output}");
    assert!(output.stderr.contains("relay:schema"), "{output}");
}
