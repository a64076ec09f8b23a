//! A key that nobody knows ends every command with 78, and a message with file, line, section, key and what would be accepted.

use std::time::Duration;

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;

#[tokio::test]
async fn in_both_sections() {
    let db = Database::empty().await;
    for (section, key, known) in [
        (
            "pg-relay-processor",
            "SQL_WORKER",
            "SQL_WORKERS, NOTIFY_WORKERS, CHANNELS, EXCLUDE_CHANNELS, SHUTDOWN_TIMEOUT, POLL_INTERVAL, SECRET_ALLOW, SECRET_DENY, \
             LOG_LEVEL, LOG_FORMAT",
        ),
        (
            "pepsi-postgres",
            "HOSTS",
            "HOST, PORT, DBNAME, USER, PASSWORD_FILE, SSLMODE, SSLROOTCERT, CONNECT_TIMEOUT",
        ),
    ] {
        for command in ["run", "check"] {
            let builder = Processor::builder(&db).set_in(section, key, "x");
            let mut daemon = builder.arg(command).spawn();
            assert_eq!(daemon.wait_exit(Duration::from_secs(20)).await, 78);
            let path = daemon.config_path();
            let text = std::fs::read_to_string(path).expect("the configuration file");
            let line = 1 + text
                .lines()
                .position(|line| line.starts_with(&format!("{key} ")))
                .expect("the key's line");
            assert_eq!(
                daemon.logs(),
                format!(
                    "pg-relay-processor: {}:{line}: [{section}] {key} is not a known key; known are {known}\n",
                    path.display()
                )
            );
        }
    }
}

#[tokio::test]
async fn but_not_in_a_section_of_somebody_else() {
    let db = Database::with_schema().await;
    let check = Processor::builder(&db)
        .set_in("pepsi-dispatch", "MAX_RUNTIME", 5)
        .arg("check")
        .run()
        .await;
    assert_eq!(check.code, 0, "{check}");
}
