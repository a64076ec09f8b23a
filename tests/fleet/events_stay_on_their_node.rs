//! An event of a node-restricted channel is claimed on the node that enqueued it and nowhere else.

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;

use crate::steps::{ended, notify, notify_with, register};

async fn become_node(db: &Database, name: &str, number: i32) {
    db.execute(&format!("SELECT pgrelay.set_node('{name}', {number}, 2)"))
        .await;
}

#[tokio::test]
async fn rows_of_another_node_are_never_claimed() {
    let db = Database::with_schema().await;
    register(&db, "here", "SELECT $1", "node_restricted := true").await;
    register(&db, "any", "SELECT $1", "").await;
    let serial = "node_restricted := true, concurrency_mode := 'serial'";
    register(&db, "serial", "SELECT $1", serial).await;
    let each = "node_restricted := true, concurrency_mode := 'per_payload'";
    register(&db, "each", "SELECT $1", each).await;
    become_node(&db, "a", 1).await;
    let mut of_a = Vec::new();
    for channel in ["here", "serial", "each"] {
        of_a.push(notify(&db, channel, "p").await);
    }
    let anywhere = notify(&db, "any", "p").await;
    become_node(&db, "b", 2).await;
    let mut of_b = Vec::new();
    for channel in ["here", "serial", "each"] {
        of_b.push(notify(&db, channel, "p").await);
    }
    {
        let _on_b = Processor::start(&db).await;
        assert_eq!(ended(&db, anywhere).await, "done");
        for id in &of_b {
            assert_eq!(ended(&db, *id).await, "done");
        }
        // One more of each, so that every kind of claim has looked again.
        for channel in ["here", "serial", "each"] {
            let id = notify(&db, channel, "q").await;
            assert_eq!(ended(&db, id).await, "done");
        }
    }
    let sql = "SELECT status FROM pgrelay.queue WHERE id = $1";
    for id in &of_a {
        assert_eq!(db.query_one::<String>(sql, &[id]).await, "pending");
    }
    become_node(&db, "a", 1).await;
    let _on_a = Processor::start(&db).await;
    for id in of_a {
        assert_eq!(ended(&db, id).await, "done");
    }
    let sql = "SELECT string_agg(DISTINCT coalesce(q.node, '-') || l.node, ' ' ORDER BY coalesce(q.node, '-') || l.node) \
               FROM pgrelay.queue AS q JOIN pgrelay.log AS l ON l.queue_id = q.id";
    assert_eq!(db.query_one::<String>(sql, &[]).await, "-b aa bb");
}

#[tokio::test]
async fn each_node_deduplicates_for_itself() {
    let db = Database::with_schema().await;
    register(&db, "here", "SELECT $1", "node_restricted := true").await;
    let call = "'p', p_deduplicate => true";
    become_node(&db, "a", 1).await;
    let on_a = notify_with(&db, "here", call).await;
    become_node(&db, "b", 2).await;
    let on_b = notify_with(&db, "here", call).await;
    assert_ne!(on_a, on_b);
    assert_eq!(notify_with(&db, "here", call).await, on_b);
    become_node(&db, "a", 1).await;
    assert_eq!(notify_with(&db, "here", call).await, on_a);
}

#[tokio::test]
async fn ids_of_two_nodes_never_meet() {
    let db = Database::with_schema().await;
    register(&db, "c", "SELECT $1", "").await;
    for (name, number) in [("a", 1), ("b", 2), ("a", 1), ("b", 2)] {
        become_node(&db, name, number).await;
        for _ in 0..5 {
            let id = notify(&db, "c", "").await;
            assert_eq!(id % 2, i64::from(number) % 2, "id {id} on node {name}");
        }
    }
}

#[tokio::test]
async fn a_retry_stays_on_the_node_of_its_event() {
    let db = Database::with_schema().await;
    db.execute("CREATE FUNCTION fail() RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001'; END $$")
        .await;
    let settings = "node_restricted := true, max_retries := 1";
    register(&db, "c", "SELECT fail()", settings).await;
    become_node(&db, "a", 1).await;
    let _processor = Processor::start(&db).await;
    let id = notify(&db, "c", "").await;
    ended(&db, id).await;
    let sql = "SELECT node FROM pgrelay.queue WHERE parent_id = $1";
    assert_eq!(db.query_one::<String>(sql, &[&id]).await, "a");
}
