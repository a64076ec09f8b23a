//! Callers under REPEATABLE READ and SERIALIZABLE insert without looking for a twin, so the look-up never fails them.

use fleet_tests::database::{Database, describe};
use fleet_tests::processor::Processor;
use tokio::task::JoinSet;

use crate::steps::{all_ended, register};

#[tokio::test]
async fn the_look_up_raises_no_conflict_under_strict_isolation() {
    let db = Database::with_schema().await;
    register(&db, "c", "SELECT $1", "").await;
    let _processor = Processor::start(&db).await;
    let mut callers = JoinSet::new();
    for level in [
        "REPEATABLE READ",
        "SERIALIZABLE",
        "READ COMMITTED",
        "READ COMMITTED",
    ] {
        for _ in 0..3 {
            let session = db.connect().await;
            callers.spawn(async move {
                for round in 0..30 {
                    // A snapshot taken before the call is what makes a look-up conflict.
                    let sql = format!(
                        "BEGIN ISOLATION LEVEL {level}; SELECT count(*) FROM pgrelay.channels; \
                         SELECT pgrelay.notify('c', '{}', p_deduplicate => true); COMMIT",
                        round % 2
                    );
                    if let Err(error) = session.batch_execute(&sql).await {
                        panic!("{level}: {}", describe(&error));
                    }
                }
            });
        }
    }
    callers.join_all().await;
    all_ended(&db).await;
    let sql = "SELECT count(*) FROM pgrelay.log WHERE status <> 'ok'";
    assert_eq!(db.query_one::<i64>(sql, &[]).await, 0);
}

#[tokio::test]
async fn a_strict_call_inserts_although_a_twin_is_there() {
    let db = Database::with_schema().await;
    register(&db, "c", "SELECT $1", "").await;
    let sql = "SELECT pgrelay.notify('c', 'p', p_deduplicate => true)";
    let twin: i64 = db.query_one(sql, &[]).await;
    let session = db.connect().await;
    for level in ["REPEATABLE READ", "SERIALIZABLE"] {
        let begin = format!("BEGIN ISOLATION LEVEL {level}");
        session.batch_execute(&begin).await.unwrap();
        let id: i64 = session.query_one(sql, &[]).await.unwrap().get(0);
        assert_ne!(id, twin, "{level}");
        session.batch_execute("COMMIT").await.unwrap();
    }
}
