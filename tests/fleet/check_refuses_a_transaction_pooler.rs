//! PgBouncer in transaction mode is recognised and refused; in session mode it will do.

use fleet_tests::database::Database;
use fleet_tests::processor::command_at;
use fleet_tests::skip;

use crate::pooler::Pooler;

/// The URL of the database through the pooler, once it listens.
async fn url(pooler: &Pooler, database: &Database) -> String {
    let port = pooler.port().await;
    format!(
        "postgres://{}@127.0.0.1:{port}/{}",
        database.endpoint().user(),
        database.name()
    )
}

#[tokio::test]
async fn transaction_mode_is_refused_with_the_reason() {
    let database = Database::with_schema().await;
    let Some(pooler) = Pooler::start(&database, "transaction", "") else {
        skip!("pooler", "pgbouncer is not installed");
    };
    let output = command_at(&url(&pooler, &database).await, &["check"]).await;
    assert_eq!(output.code, 76, "{output}");
    assert!(
        output.stdout.starts_with(
            "blocking relay:pooler: a pooler hands one server session to several clients"
        ),
        "{output}"
    );
}

#[tokio::test]
async fn session_mode_will_do() {
    let database = Database::with_schema().await;
    let Some(pooler) = Pooler::start(&database, "session", "") else {
        skip!("pooler", "pgbouncer is not installed");
    };
    let output = command_at(&url(&pooler, &database).await, &["check"]).await;
    assert_eq!(output.code, 0, "{output}");
}
