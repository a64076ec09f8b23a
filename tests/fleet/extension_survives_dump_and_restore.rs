//! `install --as-extension` makes files that CREATE EXTENSION takes, and pg_dump keeps the user's data.

use fleet_tests::database::Database;
use fleet_tests::processor::command_at;
use fleet_tests::skip;

use crate::extension_files::Pair;

#[tokio::test]
async fn create_extension_dump_and_restore() {
    let pair = match Pair::with(&[]).await {
        Ok(pair) => pair,
        Err(why) => skip!("extension", "{why}"),
    };
    pair
        .original
        .execute(
            "CREATE EXTENSION pgrelay;
             SELECT pgrelay.register('kept', 'SELECT 1'), pgrelay.set_retention('1 day'), pgrelay.set_node('n2', 2, 3);
             SELECT pgrelay.notify('kept', 'a'), pgrelay.notify('kept', 'b');
             SELECT pgrelay.register_companion('plain', 'plain', '1.0'), pgrelay.register_companion('plpgsql', 'x', '1.0');
             INSERT INTO pgrelay.log (queue_id, started_at, elapsed_ms, attempt, status, channel) VALUES (2, now(), 1, 1, 'ok', 'kept')",
        )
        .await;
    pair.copy();

    holds_what_was_dumped(&pair.original, &pair.restored).await;
    for (arguments, code, expected) in [
        (["install"], 0, "pgrelay 1.1 is already installed in"),
        (["check"], 0, "ready"),
        (["upgrade"], 0, "is already at 1.1"),
    ] {
        let output = command_at(&pair.restored.url(), &arguments).await;
        assert_eq!(output.code, code, "{arguments:?} {output}");
        assert!(output.stdout.contains(expected), "{arguments:?} {output}");
    }
    pair.restored.execute("DROP EXTENSION pgrelay").await;
    let left = "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'pgrelay')";
    assert!(!pair.restored.query_one::<bool>(left, &[]).await);
}

async fn holds_what_was_dumped(original: &Database, restored: &Database) {
    let one = |sql: &'static str| restored.query_one::<String>(sql, &[]);
    assert_eq!(
        one("SELECT extversion FROM pg_extension WHERE extname = 'pgrelay'").await,
        "1.1"
    );
    assert_eq!(
        one("SELECT string_agg(payload, ',' ORDER BY id) FROM pgrelay.queue").await,
        "a,b"
    );
    assert_eq!(
        one("SELECT string_agg(channel, ',') FROM pgrelay.channels").await,
        "kept"
    );
    assert_eq!(
        one("SELECT keep_finished::text FROM pgrelay.fleet").await,
        "1 day"
    );
    assert_eq!(one("SELECT pgrelay.node_name()").await, "n2");
    assert_eq!(one("SELECT count(*)::text FROM pgrelay.log").await, "1");
    // The row of a companion that is an extension comes from its own script.
    assert_eq!(
        one("SELECT string_agg(name, ',') FROM pgrelay.companions").await,
        "plain"
    );
    // Ids go on where they were, and stay those of node 2 of 3.
    let last: i64 = original
        .query_one("SELECT max(id) FROM pgrelay.queue", &[])
        .await;
    let next: i64 = restored
        .query_one("SELECT pgrelay.notify('kept', 'c')", &[])
        .await;
    assert_eq!(next, last + 3);
}
