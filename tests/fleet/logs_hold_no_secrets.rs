//! Neither the password nor a payload nor what an action says appears in the log, at any level.

use std::os::unix::fs::PermissionsExt as _;

use fleet_tests::database::Database;
use fleet_tests::postgres::{PrivateOptions, Server};
use fleet_tests::processor::Processor;
use fleet_tests::wait;

use crate::steps::{all_ended, register};

/// Every planted text holds it.
const CANARY: &str = "zanzibar";

/// Actions that quote a bad payload in every way there is: a warning, a message with detail and hint, a value that does not fit, a constraint,
/// a deferred trigger, a conflict, and a backend that ends. With a good payload, `1`, they succeed: only then are they batched.
const LOUD: &str = "
    CREATE TABLE effects (payload text);
    CREATE TABLE strict (payload text CONSTRAINT strict_payload CHECK (payload = '1'));
    CREATE FUNCTION shout(p text) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        IF p = '1' THEN RETURN; END IF;
        RAISE WARNING 'warning %', p;
        RAISE EXCEPTION 'message %', p USING DETAIL = 'detail ' || p, HINT = 'hint ' || p;
    END $$;
    CREATE FUNCTION conflict(p text) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN IF p <> '1' THEN RAISE EXCEPTION 'conflict %', p USING ERRCODE = '40001'; END IF; END $$;
    CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN IF NEW.payload <> '1' THEN RAISE EXCEPTION 'late %', NEW.payload; END IF; RETURN NULL; END $$;
    CREATE TABLE deferred (payload text);
    CREATE CONSTRAINT TRIGGER late AFTER INSERT ON deferred DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION late();
    CREATE FUNCTION die(p text) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        IF p <> '1' AND nextval('deaths') < 4 THEN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(5); END IF;
        RAISE NOTICE 'notice %', p;
    END $$;
    CREATE SEQUENCE deaths;
    GRANT USAGE ON SEQUENCE deaths TO PUBLIC;
    GRANT INSERT, SELECT ON effects, strict, deferred TO PUBLIC;";

const CHANNELS: &[(&str, &str, &str)] = &[
    ("quick", "INSERT INTO effects VALUES ($1)", ""),
    ("shouts", "SELECT shout($1)", ""),
    ("does.not.fit", "SELECT $1::int", ""),
    ("is.refused", "INSERT INTO strict VALUES ($1)", ""),
    ("fails.late", "INSERT INTO deferred VALUES ($1)", ""),
    ("conflicts", "SELECT conflict($1)", "max_retries := 1"),
    ("dies", "SELECT die($1)", ""),
    ("has.two.parameters", "SELECT $1 || $2", ""),
];

/// The log tells what happened, and nothing of what was in it.
fn nothing_leaked(log: &str) {
    let batches = log.matches("failed and its events run singly").count();
    assert!(batches >= 5, "{batches} batches failed");
    for expected in [
        " ended as error with SQLSTATE P0001",
        " succeeded in ",
        " event(s) marked",
        "retried in 3 s",
        "DEBUG",
    ] {
        assert!(log.contains(expected), "{expected:?} is not in the log");
    }
    let leaks: Vec<&str> = log
        .lines()
        .filter(|line| line.contains(CANARY))
        .take(5)
        .collect();
    assert!(leaks.is_empty(), "{leaks:#?}");
}

#[tokio::test]
async fn even_at_trace() {
    let server = Server::private(PrivateOptions {
        hba: &["host all locked 127.0.0.1/32 scram-sha-256"],
        ..PrivateOptions::default()
    })
    .await;
    let db = Database::with_schema_on(&server).await;
    db.execute(LOUD).await;
    let password = format!("password-{CANARY}");
    db.execute(&format!(
        "CREATE ROLE locked LOGIN PASSWORD '{password}'; GRANT pgrelay_processor TO locked"
    ))
    .await;
    for (channel, action, settings) in CHANNELS {
        register(&db, channel, action, settings).await;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("password");
    std::fs::write(&file, &password).expect("a password file");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600))
        .expect("a private file");
    let mut processor = Processor::with(&db, |config| {
        config
            .set("LOG_LEVEL", "trace")
            .set("SQL_WORKERS", 1)
            .set_in("pepsi-postgres", "USER", "locked")
            .set_in(
                "pepsi-postgres",
                "PASSWORD_FILE",
                file.display().to_string(),
            )
    })
    .await;

    // Alone, each of them.
    for (channel, ..) in CHANNELS {
        db.execute(&format!(
            "SELECT pgrelay.notify('{channel}', 'alone {CANARY}')"
        ))
        .await;
    }
    all_ended(&db).await;
    // And in the middle of batches.
    for (channel, ..) in CHANNELS {
        db.execute(&format!(
            "SELECT pgrelay.notify('{channel}', CASE n WHEN 150 THEN 'bad {CANARY}' ELSE '1' END) FROM generate_series(1, 200) AS n"
        ))
        .await;
        all_ended(&db).await;
    }
    db.execute("SELECT pgrelay.request_reload()").await;
    processor.wait_for_log("reload requested", wait::SOON).await;
    processor.terminate();
    assert_eq!(processor.wait_exit(wait::SOON).await, 0);

    nothing_leaked(&processor.logs());
    let stored: i64 = db
        .query_one(
            "SELECT count(*) FROM pgrelay.log WHERE error LIKE '%zanzibar%'",
            &[],
        )
        .await;
    assert!(stored > 0, "the errors did not quote the payload");
}
