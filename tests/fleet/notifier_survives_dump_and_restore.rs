//! As extensions, queue and notifier come through pg_dump with channels, profiles, notifications and their history, and ids go on.

use fleet_tests::database::Database;
use fleet_tests::processor::command_at;
use fleet_tests::skip;

use crate::extension_files::Pair;
use crate::notifier_db::{SMTP, WEBHOOK, report, send};
use crate::steps::literal;

/// Everything of the notifier that a user could miss.
const CONTENT: &str = "SELECT string_agg(line, E'\\n' ORDER BY line COLLATE \"C\") FROM ( \
    SELECT c::text FROM pgrelay.channels AS c UNION ALL SELECT q::text FROM pgrelay.queue AS q \
    UNION ALL SELECT p::text FROM pgrelay_notifier.profiles AS p UNION ALL SELECT n::text FROM pgrelay_notifier.notifications AS n \
    UNION ALL SELECT a::text FROM pgrelay_notifier.attempts AS a UNION ALL SELECT d::text FROM pgrelay_notifier.debug_steps AS d \
    UNION ALL SELECT format('%s %s %s', c.name, c.schema_name, c.version) FROM pgrelay.companions AS c) AS l (line)";

#[tokio::test]
async fn create_extension_dump_and_restore() {
    let pair = match Pair::with(&["--with", "notifier"]).await {
        Ok(pair) => pair,
        Err(why) => skip!("extension", "{why}"),
    };
    pair.original
        .execute("CREATE EXTENSION pg_relay_notifier CASCADE")
        .await;
    for (name, transport, profile) in [("mail", "smtp", SMTP), ("hook", "webhook", WEBHOOK)] {
        let profile = literal(profile);
        let sql =
            format!("SELECT pgrelay_notifier.create_profile('{name}', '{transport}', {profile})");
        pair.original.execute(&sql).await;
    }
    // A setting of the default channel that a script run by pg_restore would lose.
    pair.original
        .execute("SELECT pgrelay.update('pg_relay_notifier.send', p_max_retries := 7)")
        .await;
    let (first, second) = (send(&pair.original).await, send(&pair.original).await);
    report(&pair.original, first, "'retry', '451 later', NULL, 5, 1").await;
    report(&pair.original, first, "'sent', '250 ok', 'A1', 5, 2").await;
    pair.original
        .execute(&format!(
            "SELECT pgrelay_notifier.debug_log({first}, 'data', 'ok')"
        ))
        .await;
    pair.copy();

    let content = pair.original.query_one::<String>(CONTENT, &[]).await;
    assert!(
        content.contains("451 later") && content.contains("pg_relay_notifier pgrelay_notifier 1.0"),
        "{content}"
    );
    assert_eq!(
        pair.restored.query_one::<String>(CONTENT, &[]).await,
        content
    );
    assert_eq!(send(&pair.restored).await, second + 1);
    let cancel = "SELECT pgrelay_notifier.cancel($1)";
    assert!(pair.restored.query_one::<bool>(cancel, &[&second]).await);
    report(&pair.restored, second, "'sent', NULL, NULL, 5, 1").await;
    is_at_this_release(&pair.restored).await;
}

async fn is_at_this_release(database: &Database) {
    let arguments = ["install", "--with", "notifier"];
    let output = command_at(&database.url(), &arguments).await;
    assert_eq!(output.code, 0, "{output}");
    let expected = "pg_relay_notifier 1.0 is already installed in";
    assert!(output.stdout.contains(expected), "{output}");
    let output = command_at(&database.url(), &["upgrade"]).await;
    assert_eq!(output.code, 0, "{output}");
    let expected = "pg_relay_notifier is already at 1.0 in";
    assert!(output.stdout.contains(expected), "{output}");
    database.execute("DROP EXTENSION pg_relay_notifier").await;
    let left = "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'pgrelay_notifier')";
    assert!(!database.query_one::<bool>(left, &[]).await);
}
