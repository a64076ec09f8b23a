//! What a move clears is in the trail, with who moved the message and why; topic `ingress_failed` tells of what becomes stuck, and of
//! nothing else.

use fleet_tests::bouncer::{self, STAGE};
use fleet_tests::processor::Processor;
use fleet_tests::wait;
use tokio_postgres::{AsyncMessage, NoTls};

use crate::ingress;

#[tokio::test]
async fn of_every_change_of_stage() {
    let db = bouncer::database().await;
    let id = ingress::stuck(&db, "relay", "timeout").await;
    let output = bouncer::builder(&db).arg("--once").run().await;
    assert_eq!(output.code, 0, "{output}");
    let cleared = "SELECT worker IS NULL AND started_at IS NULL AND error IS NULL FROM pepsi.ingress WHERE id = $1";
    assert!(db.query_one::<bool>(cleared, &[&id]).await);
    let trail = db
        .rows(
            "SELECT from_stage || '/' || from_status || ' ' || to_stage || '/' || to_status, worker, error,
                    started_at IS NOT NULL, moved_by, application
             FROM pepsi.ingress_trail WHERE ingress_id = $1",
            &[&id],
        )
        .await;
    assert_eq!(trail.len(), 1);
    let text = |column| trail[0].get::<_, String>(column);
    assert_eq!(text(0), format!("relay/timeout {STAGE}/pending"));
    assert_eq!(text(1), "worker 1");
    assert_eq!(text(2), "550 no such user");
    assert!(trail[0].get::<_, bool>(3));
    assert_eq!(text(4), "pepsi");
    assert_eq!(text(5), "pepsi-failure-bouncer");
}

#[tokio::test]
async fn and_nobody_else_can_write_it() {
    let db = bouncer::database().await;
    let role = format!("mover_{}", db.name());
    db.execute(&format!(
        "CREATE ROLE {role} LOGIN;
         GRANT USAGE ON SCHEMA pepsi TO {role};
         GRANT SELECT (id, stage, status), UPDATE (stage, status) ON pepsi.ingress TO {role}"
    ))
    .await;
    let id = ingress::stuck(&db, "relay", "failed").await;
    let bouncer = bouncer::builder(&db).set_in("pepsi-postgres", "USER", role.as_str());
    let output = bouncer.arg("--once").run().await;
    assert_eq!(
        output.stdout, "bounced 1 (failed 1, timeout 0), left 0 at stage bounce\n",
        "{output}"
    );
    assert_eq!(ingress::moves(&db, id).await, 1);
    let session = db.as_role(&role).await;
    for sql in [
        "INSERT INTO pepsi.ingress_trail (ingress_id, from_stage, to_stage, from_status, to_status, moved_by, application)
         VALUES (1, 'a', 'b', 'c', 'd', 'e', 'f')",
        "DELETE FROM pepsi.ingress_trail",
        "SELECT FROM pepsi.ingress_trail",
        "SELECT message FROM pepsi.ingress",
        "UPDATE pepsi.ingress SET error = NULL",
        "DELETE FROM pepsi.ingress",
    ] {
        let error = session.batch_execute(sql).await.expect_err(sql);
        assert_eq!(error.code().map(tokio_postgres::error::SqlState::code), Some("42501"), "{sql}");
    }
    drop(session);
    db.execute(&format!("DROP OWNED BY {role}; DROP ROLE {role}"))
        .await;
}

/// The payloads of topic ingress_failed, in a session that listens before anything is done.
async fn payloads(db: &fleet_tests::database::Database, statements: &[&str]) -> Vec<String> {
    let (client, mut connection) = tokio_postgres::connect(&db.url(), NoTls)
        .await
        .expect("a session");
    let (sender, mut heard) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(Ok(message)) = std::future::poll_fn(|cx| connection.poll_message(cx)).await {
            if let AsyncMessage::Notification(notification) = message {
                let _ = sender.send(notification.payload().to_owned());
            }
        }
    });
    client
        .batch_execute("LISTEN ingress_failed")
        .await
        .expect("LISTEN");
    for sql in statements {
        db.execute(sql).await;
    }
    // Wake-ups come in the order of the commits: what is heard before this one is all there was.
    db.execute("NOTIFY ingress_failed, 'end'").await;
    let mut payloads = Vec::new();
    loop {
        let next = tokio::time::timeout(wait::SOON, heard.recv())
            .await
            .expect("the last wake-up");
        match next.expect("a session") {
            end if end == "end" => return payloads,
            payload => payloads.push(payload),
        }
    }
}

#[tokio::test]
async fn while_the_topic_tells_of_what_becomes_stuck() {
    let db = bouncer::database().await;
    let columns = "(id, stage, status, sender, recipients, message) OVERRIDING SYSTEM VALUE";
    let insert = |id: i64, status: &str| {
        format!(
            "INSERT INTO pepsi.ingress {columns} VALUES ({id}, 'relay', '{status}', '', '[]', '')"
        )
    };
    let statements = [
        insert(1, "pending"),
        insert(2, "failed"),
        "UPDATE pepsi.ingress SET status = 'running' WHERE id = 1".to_owned(),
        "UPDATE pepsi.ingress SET status = 'timeout' WHERE id = 1".to_owned(),
        // Touched, but nothing becomes stuck.
        "UPDATE pepsi.ingress SET status = status, error = 'again'".to_owned(),
        "UPDATE pepsi.ingress SET stage = 'scan' WHERE id = 2".to_owned(),
        "UPDATE pepsi.ingress SET status = 'pending' WHERE id = 2".to_owned(),
        "UPDATE pepsi.ingress SET status = 'done' WHERE id = 2".to_owned(),
        // It was one thing and becomes the other.
        "UPDATE pepsi.ingress SET status = 'failed' WHERE id = 1".to_owned(),
    ];
    let statements: Vec<&str> = statements.iter().map(String::as_str).collect();
    assert_eq!(payloads(&db, &statements).await, ["2", "1", "1"]);
}

#[tokio::test]
async fn of_messages_beside_a_processor() {
    let db = bouncer::database().await;
    let _processor = Processor::start(&db).await;
    let _bouncer = bouncer::start(bouncer::builder(&db)).await;
    let id = ingress::stuck(&db, "relay", "failed").await;
    ingress::wait_until_bounced(&db, id, wait::SOON).await;
}
