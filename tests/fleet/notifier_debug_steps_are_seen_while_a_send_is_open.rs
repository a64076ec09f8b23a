//! debug_log() writes on a connection of its own: at once, past every lock of the attempt, and without ever raising.

use crate::notifier_db::{send, with_profiles};

const COUNT: &str = "SELECT count(*) FROM pgrelay_notifier.debug_trace WHERE notification_id = $1";

#[tokio::test]
async fn a_step_is_there_at_once_and_outlives_the_attempt() {
    let db = with_profiles().await;
    let id = send(&db).await;
    let (held, logger) = (db.connect().await, db.connect().await);
    // An attempt that has reported and not yet committed holds the row with all its might.
    held.batch_execute(&format!(
        "BEGIN; SELECT pgrelay_notifier.set_status({id}, 'retry', NULL, NULL, 1, 1); \
         SELECT FROM pgrelay_notifier.notifications WHERE id = {id} FOR UPDATE"
    ))
    .await
    .unwrap();
    logger
        .batch_execute("SET lock_timeout = '5s'; SET statement_timeout = '10s'")
        .await
        .unwrap();
    for step in ["connect", "ehlo", "data"] {
        let sql = format!("SELECT pgrelay_notifier.debug_log({id}, '{step}', 'ok')");
        logger.batch_execute(&sql).await.unwrap();
    }
    assert_eq!(db.query_one::<i64>(COUNT, &[&id]).await, 3);
    held.batch_execute("ROLLBACK").await.unwrap();
    let sql = "SELECT string_agg(t.step, ' ' ORDER BY t.id) || ' ' || (count(DISTINCT t.logged_at) = 3) \
               FROM pgrelay_notifier.debug_trace AS t WHERE t.notification_id = $1";
    assert_eq!(
        db.query_one::<String>(sql, &[&id]).await,
        "connect ehlo data true"
    );
}

#[tokio::test]
async fn nothing_raises() {
    let db = with_profiles().await;
    let id = send(&db).await;
    db.execute(&format!(
        "SELECT pgrelay_notifier.debug_log(4711, 'unknown', 'id'); \
         SELECT pgrelay_notifier.debug_log(NULL, NULL, NULL); \
         SELECT pgrelay_notifier.debug_log({id}, NULL, NULL); \
         SELECT pgrelay_notifier.debug_log({id}, repeat('s', 100000), repeat('d', 100000))"
    ))
    .await;
    assert_eq!(db.query_one::<i64>(COUNT, &[&id]).await, 2);
    // Even when the table is not as it was made.
    db.execute(
        "ALTER TABLE pgrelay_notifier.debug_steps ADD CONSTRAINT full_disk CHECK (false) NOT VALID",
    )
    .await;
    db.execute(&format!(
        "SELECT pgrelay_notifier.debug_log({id}, 'lost', 'step')"
    ))
    .await;
    assert_eq!(db.query_one::<i64>(COUNT, &[&id]).await, 2);
}
