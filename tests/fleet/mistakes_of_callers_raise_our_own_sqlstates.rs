//! A caller's mistake is refused with a SQLSTATE of our own, the words that say what is wrong, and a hint where there is a way on.

use fleet_tests::database::Database;
use tokio_postgres::Client;

use crate::steps::{Refusal, refusal, register};

/// Statement, SQLSTATE, message, DETAIL, HINT; an empty text stands for none.
type Case = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

const REGISTER_FIRST: &str = "Register it first: SELECT pgrelay.register(channel, action_sql).";

const UNKNOWN: &[Case] = &[
    (
        "SELECT pgrelay.notify('no''such')",
        "PR001",
        "channel 'no''such' is not registered",
        "",
        REGISTER_FIRST,
    ),
    (
        "SELECT pgrelay.notify(NULL)",
        "PR001",
        "channel NULL is not registered",
        "",
        REGISTER_FIRST,
    ),
    (
        "SELECT pgrelay.notify_many('x', ARRAY['a'])",
        "PR001",
        "channel 'x' is not registered",
        "",
        REGISTER_FIRST,
    ),
    (
        "SELECT pgrelay.update('x', p_max_retries := 1)",
        "PR001",
        "channel 'x' is not registered",
        "",
        REGISTER_FIRST,
    ),
    (
        "SELECT pgrelay.unregister('x')",
        "PR001",
        "channel 'x' is not registered",
        "",
        "",
    ),
    (
        "SELECT pgrelay.register('c', 'SELECT 1')",
        "PR002",
        "channel 'c' is already registered",
        "",
        "Change it with SELECT pgrelay.update(channel, …).",
    ),
];

const BAD_CHANNELS: &[Case] = &[
    (
        "SELECT pgrelay.register('', 'SELECT 1')",
        "PR003",
        "channel name must be 1 to 200 characters without control characters",
        "channel = ''",
        "",
    ),
    (
        "SELECT pgrelay.register(E'a\\nb', 'SELECT 1')",
        "PR003",
        "channel name must be 1 to 200 characters without control characters",
        "channel = 'a\nb'",
        "",
    ),
    (
        "SELECT pgrelay.register('d', NULL)",
        "PR003",
        "a channel of action_type sql needs action_sql",
        "action_sql = NULL",
        "",
    ),
    (
        "SELECT pgrelay.register('d', E' \\n\\t')",
        "PR003",
        "a channel of action_type sql needs action_sql",
        "action_sql = ' \n\t'",
        "",
    ),
    (
        "SELECT pgrelay.register('d', 'SELECT 1', action_type := 'notify')",
        "PR003",
        "a channel of action_type notify takes no action_sql",
        "action_sql = 'SELECT 1'",
        "",
    ),
    (
        "SELECT pgrelay.register('d', 'SELECT 1', action_type := 'mail')",
        "PR003",
        "action_type must be sql or notify",
        "action_type = 'mail'",
        "",
    ),
    (
        "SELECT pgrelay.register('d', 'SELECT 1', 1001)",
        "PR003",
        "max_retries must be between 0 and 1000",
        "max_retries = 1001",
        "",
    ),
    (
        "SELECT pgrelay.update('c', p_max_retries := -1)",
        "PR003",
        "max_retries must be between 0 and 1000",
        "max_retries = -1",
        "",
    ),
    (
        "SELECT pgrelay.update('c', p_concurrency_mode := 'single')",
        "PR003",
        "concurrency_mode must be parallel, serial or per_payload",
        "concurrency_mode = 'single'",
        "",
    ),
    (
        "SELECT pgrelay.update('c', p_action_timeout := '0')",
        "PR003",
        "action_timeout must be more than 0 and at most 24 hours",
        "action_timeout = 00:00:00",
        "",
    ),
];

const BAD_CONTROLS: &[Case] = &[
    (
        "SELECT pgrelay.pause_for('-1 s')",
        "PR003",
        "pause_for needs a positive interval",
        "p_duration = '-00:00:01'",
        "End a pause with SELECT pgrelay.resume().",
    ),
    (
        "SELECT pgrelay.pause_to(NULL)",
        "PR003",
        "pause_to needs a time",
        "p_until = NULL",
        "Use 'infinity' to pause until SELECT pgrelay.resume().",
    ),
    (
        "SELECT pgrelay.stop('00000000-0000-0000-0000-000000000001')",
        "PR003",
        "no Processor 00000000-0000-0000-0000-000000000001 is registered",
        "",
        "Running Processors are listed in pgrelay.processor_status.",
    ),
    (
        "SELECT pgrelay.set_node('a', 3, 2)",
        "PR003",
        "node number must be between 1 and \"of\", and \"of\" at most 1024",
        "number = 3, of = 2",
        "",
    ),
    (
        "SELECT pgrelay.register_companion('n', '', '1')",
        "PR003",
        "register_companion needs a name, a schema and a version",
        "p_name = 'n', p_schema = '', p_version = '1'",
        "",
    ),
];

async fn check(session: &Client, cases: &[Case]) {
    let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    for (sql, sqlstate, message, detail, hint) in cases {
        let expected = Refusal {
            sqlstate: (*sqlstate).to_owned(),
            message: (*message).to_owned(),
            detail: some(detail),
            hint: some(hint),
        };
        assert_eq!(refusal(session, sql).await, expected, "{sql}");
    }
}

#[tokio::test]
async fn every_mistake_has_its_code_and_its_words() {
    let db = Database::with_schema().await;
    register(&db, "c", "SELECT $1", "").await;
    let session = db.connect().await;
    check(&session, UNKNOWN).await;
    check(&session, BAD_CHANNELS).await;
    check(&session, BAD_CONTROLS).await;
}

#[tokio::test]
async fn names_at_the_limits_are_accepted() {
    let db = Database::with_schema().await;
    db.execute("SELECT pgrelay.register(repeat('ä', 200), 'SELECT 1', 1000); SELECT pgrelay.notify(repeat('ä', 200))")
        .await;
    let session = db.connect().await;
    let sql = "SELECT pgrelay.register(repeat('ä', 201), 'SELECT 1')";
    assert_eq!(refusal(&session, sql).await.sqlstate, "PR003");
}
