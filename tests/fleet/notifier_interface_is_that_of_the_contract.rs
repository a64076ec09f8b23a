//! The functions a Processor calls are, to the letter, those of notifier-sql/CONTRACT.md.

use std::collections::BTreeSet;

use fleet_tests::database::Database;

/// The lines of the contract's first SQL block.
fn promised() -> BTreeSet<String> {
    let contract = include_str!("../../notifier-sql/CONTRACT.md");
    let (_, block) = contract.split_once("```sql\n").expect("an SQL block");
    let (block, _) = block.split_once("```").expect("its end");
    block.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn the_catalog_has_the_promised_functions() {
    let db = Database::with_companion("notifier").await;
    let sql = "SELECT format('%s(%s) RETURNS %s %s', p.proname, pg_get_function_arguments(p.oid), pg_get_function_result(p.oid), \
                   CASE p.provolatile WHEN 'i' THEN 'IMMUTABLE' WHEN 's' THEN 'STABLE' ELSE 'VOLATILE' END) \
               FROM pg_proc AS p WHERE p.pronamespace = 'pgrelay_notifier'::regnamespace \
               AND p.proname IN ('interface_version', 'fetch', 'set_status', 'debug_log')";
    let rows = db.rows(sql, &[]).await;
    let found: BTreeSet<String> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(found.len(), 4);
    assert_eq!(found, promised());
    let version: i32 = db
        .query_one("SELECT pgrelay_notifier.interface_version()", &[])
        .await;
    assert_eq!(version, 1);
}

#[tokio::test]
async fn the_notifier_announces_itself_and_has_the_fleet_reload() {
    let db = Database::with_companion("notifier").await;
    let sql = "SELECT schema_name || ' ' || version FROM pgrelay.companions WHERE name = 'pg_relay_notifier'";
    assert_eq!(
        db.query_one::<String>(sql, &[]).await,
        "pgrelay_notifier 1.0"
    );
    let sql = "SELECT reload_generation FROM pgrelay.fleet";
    assert_eq!(db.query_one::<i64>(sql, &[]).await, 1);
}
