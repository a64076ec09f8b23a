//! `install` brings the schema once, and says so; `--dry-run` changes nothing.

use fleet_tests::database::Database;
use fleet_tests::postgres::{PrivateOptions, Server};
use fleet_tests::processor::{command, command_at};

const INSTALLED: &str = "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'pgrelay')";

#[tokio::test]
async fn a_second_installation_finds_the_first() {
    let database = Database::empty().await;
    let first = command(&database, &["install"]).await;
    assert_eq!(first.code, 0, "{first}");
    assert!(first.stdout.contains("pgrelay 1.1 installed in"), "{first}");
    database
        .execute("SELECT pgrelay.register('kept', 'SELECT 1')")
        .await;
    let second = command(&database, &["install"]).await;
    assert_eq!(second.code, 0, "{second}");
    assert!(
        second
            .stdout
            .contains("pgrelay 1.1 is already installed in"),
        "{second}"
    );
    let channels: i64 = database
        .query_one("SELECT count(*) FROM pgrelay.channels", &[])
        .await;
    assert_eq!(channels, 1);
    let upgrade = command(&database, &["upgrade"]).await;
    assert_eq!(upgrade.code, 0, "{upgrade}");
    assert!(
        upgrade.stdout.contains("pgrelay is already at 1.1 in"),
        "{upgrade}"
    );
}

#[tokio::test]
async fn twenty_installers_at_once_all_end_well() {
    let database = Database::empty().await;
    let mut running = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let url = database.url();
        running.spawn(async move { command_at(&url, &["install"]).await });
    }
    let outputs = running.join_all().await;
    assert!(outputs.iter().all(|output| output.code == 0), "{outputs:?}");
    let made = outputs
        .iter()
        .filter(|output| output.stdout.contains("1.1 installed in"));
    assert_eq!(made.count(), 1, "{outputs:?}");
    let found = outputs
        .iter()
        .filter(|output| output.stdout.contains("is already installed in"));
    assert_eq!(found.count(), 19, "{outputs:?}");
}

#[tokio::test]
async fn installers_in_several_databases_share_the_group_roles() {
    let server = Server::private(PrivateOptions::default()).await;
    let mut databases = Vec::new();
    for _ in 0..8 {
        databases.push(Database::empty_on(&server).await);
    }
    let mut running = tokio::task::JoinSet::new();
    for database in &databases {
        let url = database.url();
        running.spawn(async move { command_at(&url, &["install"]).await });
    }
    for output in running.join_all().await {
        assert_eq!(output.code, 0, "{output}");
        assert!(output.stdout.contains("1.1 installed in"), "{output}");
    }
}

#[tokio::test]
async fn a_dry_run_prints_a_script_that_psql_could_run() {
    let database = Database::empty().await;
    let output = command(&database, &["install", "--dry-run"]).await;
    assert_eq!(output.code, 0, "{output}");
    assert!(
        output.stdout.starts_with("-- pgrelay is not installed in"),
        "{output}"
    );
    assert!(!database.query_one::<bool>(INSTALLED, &[]).await);
    database.execute(&output.stdout).await;
    let version: String = database.query_one("SELECT pgrelay.version()", &[]).await;
    assert_eq!(version, "1.1");
    let again = command(&database, &["install", "--dry-run"]).await;
    assert!(again.stdout.contains("there is nothing to run"), "{again}");
}

#[tokio::test]
async fn hostile_defaults_change_nothing() {
    let database = Database::empty().await;
    let name = database.name();
    database
        .execute(&format!(
            "CREATE SCHEMA trap;
             CREATE FUNCTION trap.now() RETURNS timestamptz LANGUAGE sql AS $$ SELECT '2000-01-01'::timestamptz $$;
             CREATE FUNCTION trap.count(bigint) RETURNS bigint LANGUAGE sql AS $$ SELECT 0::bigint $$;
             ALTER DATABASE {name} SET search_path = trap, pg_catalog;
             ALTER DATABASE {name} SET default_transaction_isolation = 'serializable';
             ALTER DATABASE {name} SET default_transaction_read_only = on;
             ALTER DATABASE {name} SET statement_timeout = '1ms';
             ALTER DATABASE {name} SET standard_conforming_strings = off;
             ALTER DATABASE {name} SET DateStyle = 'German'"
        ))
        .await;
    for (arguments, expected) in [
        (&["install"] as &[_], "pgrelay 1.1 installed in"),
        (&["check"], "ready"),
        (&["status"], "Latest failures"),
        (&["upgrade"], "is already at 1.1"),
    ] {
        let output = command(&database, arguments).await;
        assert_eq!(output.code, 0, "{arguments:?} {output}");
        assert!(output.stdout.contains(expected), "{arguments:?} {output}");
    }
    let trapped: i64 = database
        .query_one(
            "SELECT pg_catalog.count(*) FROM pg_catalog.pg_depend AS d
             JOIN pg_catalog.pg_proc AS p ON p.oid = d.refobjid
             WHERE d.refclassid = 'pg_catalog.pg_proc'::pg_catalog.regclass
               AND p.pronamespace = 'trap'::pg_catalog.regnamespace AND d.deptype = 'n'",
            &[],
        )
        .await;
    assert_eq!(
        trapped, 0,
        "an object of the schema uses a function of the trap"
    );
}

#[tokio::test]
async fn an_installer_without_rights_is_told_which() {
    let server = Server::private(PrivateOptions::default()).await;
    let database = Database::empty_on(&server).await;
    let name = database.name();
    database.execute("CREATE ROLE weak LOGIN").await;
    let weak = database.url_as("weak");

    let output = command_at(&weak, &["install"]).await;
    assert_eq!(output.code, 76, "{output}");
    assert_eq!(
        output.stderr,
        format!(
            "pg-relay-processor: role \"weak\" may not create a schema in database \"{name}\"\n\
             hint: GRANT CREATE ON DATABASE \"{name}\" TO \"weak\";\n"
        )
    );
    database
        .execute(&format!("GRANT CREATE ON DATABASE {name} TO weak"))
        .await;
    let output = command_at(&weak, &["install"]).await;
    assert_eq!(output.code, 76, "{output}");
    let (_, hint) = output
        .stderr
        .split_once("hint: have an administrator run ")
        .expect("a hint");
    let (statements, _) = hint.split_once(" or ALTER ROLE").expect("statements");
    assert!(
        output
            .stderr
            .contains("role \"weak\" may not create the group roles that are missing"),
        "{output}"
    );

    // As on managed PostgreSQL: somebody else has made the roles.
    database.execute(statements).await;
    let output = command_at(&weak, &["install"]).await;
    assert_eq!(output.code, 0, "{output}");
}
