//! The harness itself: a database per test on the shared server, and private servers that survive what tests do to them.

use std::time::Duration;

use fleet_tests::database::Database;
use fleet_tests::postgres::{Bindir, PrivateOptions, Server, StopMode};
use fleet_tests::{skip, wait};

#[tokio::test]
async fn the_shared_server_gives_each_test_a_database_of_its_own() {
    let (one, other) = (Database::empty().await, Database::empty().await);
    assert!(
        one.query_one::<String>("SELECT version()", &[])
            .await
            .starts_with("PostgreSQL ")
    );
    one.execute("CREATE TABLE mine (id int)").await;
    let sql = "SELECT to_regclass('mine') IS NULL";
    assert!(
        other.query_one::<bool>(sql, &[]).await,
        "databases are not apart"
    );
}

#[tokio::test]
async fn a_database_is_gone_when_its_test_ends() {
    let witness = Database::empty().await;
    let ended = Database::empty().await;
    let name = ended.name().to_owned();
    let _still_connected = ended.connect().await;
    drop(ended);
    let sql = "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)";
    assert!(!witness.query_one::<bool>(sql, &[&name]).await);
}

#[tokio::test]
async fn a_role_gets_no_more_than_its_grants() {
    let database = Database::empty().await;
    database.execute("CREATE TABLE secret (id int)").await;
    let session = database.as_role("pg_monitor").await;
    let refusal = session
        .query("SELECT FROM secret", &[])
        .await
        .expect_err("a table without a grant");
    assert_eq!(
        refusal.code(),
        Some(&tokio_postgres::error::SqlState::INSUFFICIENT_PRIVILEGE)
    );
}

#[tokio::test]
async fn sql_waits_at_a_gate_until_it_is_opened() {
    let database = Database::empty().await;
    let gate = database.gate(1).await;
    let session = database.connect().await;
    let sql = gate.pass_sql();
    let passing = tokio::spawn(async move { session.batch_execute(&sql).await });
    gate.wait_for_arrivals(1).await;
    assert!(!passing.is_finished());
    gate.open().await;
    tokio::time::timeout(wait::SOON, passing)
        .await
        .unwrap()
        .unwrap()
        .unwrap();
}

#[tokio::test]
async fn a_private_server_keeps_its_data_through_a_restart_and_a_crash() {
    let mut server = Server::private(PrivateOptions::default()).await;
    let database = Database::empty_on(&server).await;
    database
        .execute("CREATE TABLE kept AS SELECT 42 AS answer")
        .await;
    for mode in [StopMode::Fast, StopMode::Immediate] {
        server.restart(mode).await;
        assert_eq!(
            database
                .query_one::<i32>("SELECT answer FROM kept", &[])
                .await,
            42
        );
    }
    assert!(
        server
            .log()
            .contains("database system was not properly shut down")
    );
}

#[tokio::test]
async fn a_standby_follows_its_primary_and_takes_over() {
    if Bindir::with_clients().is_none() {
        skip!("standby", "pg_basebackup is not installed");
    }
    let mut primary = Server::private(PrivateOptions::default()).await;
    let database = Database::empty_on(&primary).await;
    database
        .execute("CREATE TABLE kept AS SELECT 42 AS answer")
        .await;
    let mut standby = primary.standby().await;
    database.execute("UPDATE kept SET answer = 43").await;
    wait::until("the standby to catch up", wait::SOON, || async {
        let session = standby.endpoint().try_connect(database.name()).await?;
        let row = session
            .query_one("SELECT answer FROM kept", &[])
            .await
            .map_err(|error| error.to_string())?;
        match row.get::<_, i32>(0) {
            43 => Ok(()),
            seen => Err(seen.to_string()),
        }
    })
    .await;
    primary.stop(StopMode::Immediate).await;
    standby.promote().await;
    let session = standby.endpoint().connect(database.name()).await;
    session
        .execute("UPDATE kept SET answer = 44", &[])
        .await
        .unwrap();
}

#[tokio::test]
#[should_panic(expected = "waited 50ms for rain; last seen: 3 clouds")]
async fn a_wait_that_fails_says_what_it_saw_last() {
    wait::until("rain", Duration::from_millis(50), || async {
        Err::<(), _>("3 clouds")
    })
    .await;
}
