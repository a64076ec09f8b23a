//! `run` needs no boot order: it waits for a database that is down or refuses the login, says so once, and begins work when it can.

use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use fleet_tests::database::Database;
use fleet_tests::postgres::{PrivateOptions, Server, StopMode};
use fleet_tests::processor::Processor;
use fleet_tests::wait;

use crate::held;
use crate::steps::{ended, notify};

/// Long enough for several tries.
const A_WHILE: Duration = Duration::from_secs(4);

/// It stays up, and has one line to say about it.
async fn waits_quietly(processor: &mut Processor, reason: &str) {
    processor.wait_for_log(reason, wait::SOON).await;
    wait::while_holding("the wait for a database", A_WHILE, || {
        let code = processor.exit_code();
        async move { code.map_or(Ok(()), |code| Err(format!("exit code {code}"))) }
    })
    .await;
    let log = processor.logs();
    let lines = log
        .lines()
        .filter(|line| line.contains("WARN") || line.contains("ERROR"));
    assert_eq!(lines.count(), 1, "one line for one state:\n{log}");
}

#[tokio::test]
async fn one_that_is_down() {
    let mut server = Server::private(PrivateOptions::default()).await;
    let db = Database::with_schema_on(&server).await;
    held::channels(&db).await.open().await;
    server.stop(StopMode::Fast).await;
    let mut processor = Processor::from_daemon(Processor::builder(&db).arg("run").spawn());
    waits_quietly(&mut processor, "cannot reach 127.0.0.1").await;
    server.start().await;
    let id = notify(&db, "free", "at last").await;
    assert_eq!(ended(&db, id).await, "done");
    processor
        .wait_for_log(" works with database ", wait::SOON)
        .await;
}

#[tokio::test]
async fn one_that_refuses_the_password() {
    let server = Server::private(PrivateOptions {
        hba: &["host all locked 127.0.0.1/32 scram-sha-256"],
        ..PrivateOptions::default()
    })
    .await;
    let db = Database::with_schema_on(&server).await;
    held::channels(&db).await.open().await;
    db.execute(
        "CREATE ROLE locked LOGIN PASSWORD 'another'; GRANT pgrelay_processor TO locked; GRANT INSERT ON effects TO locked",
    )
    .await;
    let directory = tempfile::tempdir().expect("a directory");
    let password = directory.path().join("password");
    std::fs::write(&password, "swordfish\n").expect("a password file");
    std::fs::set_permissions(&password, std::fs::Permissions::from_mode(0o600))
        .expect("a private file");
    let login = || {
        Processor::builder(&db)
            .set_in("pepsi-postgres", "USER", "locked")
            .set_in(
                "pepsi-postgres",
                "PASSWORD_FILE",
                password.display().to_string(),
            )
    };

    let check = login().arg("check").run().await;
    assert_eq!(check.code, 69, "{check}");
    let (port, name) = (server.port(), db.name());
    assert_eq!(
        check.stderr,
        format!(
            "pg-relay-processor: login refused by 127.0.0.1:{port} (database \"{name}\", user \"locked\"): \
             password authentication failed for user \"locked\" (28P01)\n"
        )
    );

    let mut processor = Processor::from_daemon(login().arg("run").spawn());
    waits_quietly(&mut processor, "password authentication failed").await;
    db.execute("ALTER ROLE locked PASSWORD 'swordfish'").await;
    let id = notify(&db, "free", "at last").await;
    assert_eq!(ended(&db, id).await, "done");
}

#[tokio::test]
async fn but_not_for_a_schema_that_somebody_has_to_install() {
    let db = Database::empty().await;
    let run = Processor::builder(&db).arg("run").run().await;
    assert_eq!(run.code, 76, "{run}");
    let finding = format!(
        "relay:schema: schema pgrelay is missing in database \"{}\" (hint: run pg-relay-processor install)",
        db.name()
    );
    assert!(run.stderr.contains(&finding), "{run}");
}
