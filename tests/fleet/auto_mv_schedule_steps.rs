//! Steps of the tests of schedules: a database that has them, slots asked for.

use fleet_tests::database::{Database, describe};
use fleet_tests::processor::command;

use crate::steps::literal;

/// Expression, zone, time after which the slots are wanted, and the slots as `preview()` shows them.
pub(crate) type Case = (
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
);

/// A database with the queue and materialised views.
pub(crate) async fn database() -> Database {
    let db = Database::with_schema().await;
    let installed = command(&db, &["install", "--with", "auto-mv"]).await;
    assert_eq!(installed.code, 0, "{installed}");
    db
}

/// The `count` slots after `after` (as SQL text), as `preview()` shows them: local time, offset from UTC and note.
async fn preview(db: &Database, cron: &str, zone: &str, after: &str, count: i32) -> Vec<String> {
    let session = db.connect().await;
    let sql = format!(
        "BEGIN;
         SELECT pgauto_mv.create_schedule('previewed', {}, p_timezone => {})",
        literal(cron),
        literal(zone)
    );
    let made = session.batch_execute(&sql).await;
    made.unwrap_or_else(|error| panic!("{cron} in {zone}: {}", describe(&error)));
    let sql = format!(
        "SELECT p.local_time || coalesce(', ' || p.note, '')
         FROM pgauto_mv.preview('previewed', {count}, {}) AS p
         ORDER BY p.slot",
        literal(after)
    );
    let rows = session.query(&sql, &[]).await;
    let rows = rows.unwrap_or_else(|error| panic!("{cron} in {zone}: {}", describe(&error)));
    rows.iter().map(|row| row.get(0)).collect()
}

/// Compares the slots of each case.
pub(crate) async fn check(cases: &[Case]) {
    let db = database().await;
    for (cron, zone, after, expected) in cases {
        let count = i32::try_from(expected.len()).expect("a few slots");
        let slots = preview(&db, cron, zone, after, count).await;
        assert_eq!(slots, *expected, "{cron} in {zone} after {after}");
    }
}
