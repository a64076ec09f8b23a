//! What a crash has marked runs alone, and soon: a backlog of other events that never ends does not keep it waiting.

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;

use crate::steps::{ended, notify, register};

#[tokio::test]
async fn by_a_backlog() {
    let db = Database::with_schema().await;
    register(&db, "c", "SELECT 1", "").await;
    let id = notify(&db, "c", "marked").await;
    db.rows(
        "INSERT INTO pgrelay.crashes (queue_id, processor, counted) VALUES ($1, gen_random_uuid(), false)",
        &[&id],
    )
    .await;
    db.execute("SELECT pgrelay.notify('c', n::text) FROM generate_series(1, 40000) AS n")
        .await;
    let _processor = Processor::with(&db, |config| {
        config.set("LOG_LEVEL", "info").set("SQL_WORKERS", 2)
    })
    .await;
    assert_eq!(ended(&db, id).await, "done");
    let before: i64 = db
        .query_one(
            "SELECT count(*) FROM pgrelay.log AS l WHERE l.id < (SELECT m.id FROM pgrelay.log AS m WHERE m.queue_id = $1)",
            &[&id],
        )
        .await;
    assert!(before < 20_000, "{before} events ran before it");
}
