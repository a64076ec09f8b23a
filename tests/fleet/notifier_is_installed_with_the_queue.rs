//! `install --with notifier` brings the queue and the notifier, once; `upgrade` looks after both; only the queue's owner may install it.

use fleet_tests::database::Database;
use fleet_tests::postgres::{PrivateOptions, Server};
use fleet_tests::processor::{command, command_at};

use crate::steps::refusal;

const WITH: &[&str] = &["install", "--with", "notifier"];

#[tokio::test]
async fn a_second_installation_finds_the_first() {
    let database = Database::empty().await;
    let first = command(&database, WITH).await;
    assert_eq!(first.code, 0, "{first}");
    assert!(
        first.stdout.contains("pgrelay 1.1 installed in")
            && first.stdout.contains("pg_relay_notifier 1.0 installed in"),
        "{first}"
    );
    let second = command(&database, WITH).await;
    assert_eq!(second.code, 0, "{second}");
    assert!(
        second
            .stdout
            .contains("pg_relay_notifier 1.0 is already installed in"),
        "{second}"
    );
    for arguments in [&["upgrade"] as &[_], &["upgrade", "--dry-run"]] {
        let upgrade = command(&database, arguments).await;
        assert_eq!(upgrade.code, 0, "{upgrade}");
        assert!(
            upgrade.stdout.contains("pgrelay is already at 1.1 in")
                && upgrade
                    .stdout
                    .contains("pg_relay_notifier is already at 1.0 in"),
            "{upgrade}"
        );
    }
    let check = command(&database, &["check"]).await;
    assert!(!check.stdout.contains("notifier:"), "{check}");
}

#[tokio::test]
async fn an_upgrade_says_nothing_of_what_is_not_there() {
    let database = Database::with_schema().await;
    let upgrade = command(&database, &["upgrade"]).await;
    assert_eq!(upgrade.code, 0, "{upgrade}");
    assert!(!upgrade.stdout.contains("notifier"), "{upgrade}");
    // A schema of that name that is somebody else's is not passed over in silence.
    database.execute("CREATE SCHEMA pgrelay_notifier").await;
    let upgrade = command(&database, &["upgrade"]).await;
    assert_eq!(upgrade.code, 76, "{upgrade}");
    assert!(
        upgrade.stderr.contains("schema pgrelay_notifier exists"),
        "{upgrade}"
    );
}

#[tokio::test]
async fn ten_installers_at_once_all_end_well() {
    let database = Database::with_schema().await;
    let mut running = tokio::task::JoinSet::new();
    for _ in 0..10 {
        let url = database.url();
        running.spawn(async move { command_at(&url, WITH).await });
    }
    let outputs = running.join_all().await;
    assert!(outputs.iter().all(|output| output.code == 0), "{outputs:?}");
    let made = outputs
        .iter()
        .filter(|output| output.stdout.contains("notifier 1.0 installed in"));
    assert_eq!(made.count(), 1, "{outputs:?}");
}

#[tokio::test]
async fn a_dry_run_prints_a_script_that_psql_could_run() {
    let database = Database::with_schema().await;
    let output = command(&database, &["install", "--with", "notifier", "--dry-run"]).await;
    assert_eq!(output.code, 0, "{output}");
    database.execute(&output.stdout).await;
    let version: String = database
        .query_one("SELECT pgrelay_notifier.version()", &[])
        .await;
    assert_eq!(version, "1.0");
}

#[tokio::test]
async fn only_the_owner_of_the_queue_may_install_it() {
    let server = Server::private(PrivateOptions::default()).await;
    let database = Database::empty_on(&server).await;
    database
        .execute(&format!(
            "CREATE ROLE owner LOGIN CREATEROLE; CREATE ROLE second LOGIN CREATEROLE; GRANT CREATE ON DATABASE {} TO owner, second",
            database.name()
        ))
        .await;
    let output = command_at(&database.url_as("owner"), &["install"]).await;
    assert_eq!(output.code, 0, "{output}");
    database.execute("GRANT pgrelay_admin TO second").await;
    let output = command_at(&database.url_as("second"), WITH).await;
    assert_eq!(output.code, 76, "{output}");
    assert_eq!(
        output.stderr,
        "pg-relay-processor: pg_relay_notifier must be installed by the owner of schema pgrelay, \"owner\"; the role of this session is \"second\"\n\
         hint: connect as \"owner\", or GRANT \"owner\" TO \"second\";\n"
    );
    // So do the scripts by themselves, when psql or CREATE EXTENSION runs them.
    let second = database.as_role("second").await;
    let refused = refusal(&second, include_str!("../../notifier-sql/sql/roles.sql")).await;
    assert_eq!(refused.sqlstate, "PN010");
    assert_eq!(
        refused.message,
        "pg_relay_notifier must be installed by the owner of pgrelay, which is owner"
    );
    let output = command_at(&database.url_as("owner"), WITH).await;
    assert_eq!(output.code, 0, "{output}");
    // A plain owner, no superuser: the whole way works with his rights.
    database
        .execute(
            "SET SESSION AUTHORIZATION owner; \
             SELECT pgrelay_notifier.create_profile('hook', 'webhook', '{\"url\": \"https://hook.example.org\"}'); \
             SELECT pgrelay_notifier.send_webhook('hook', '1'); SELECT pgrelay_notifier.cancel(1); \
             RESET SESSION AUTHORIZATION",
        )
        .await;
}
