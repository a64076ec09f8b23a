//! Steps that tests of the failure bouncer share: messages that fail, and where they are afterwards.

use std::time::Duration;

use fleet_tests::bouncer::STAGE;
use fleet_tests::database::Database;
use fleet_tests::wait;

/// Messages that run at a stage; returns their ids.
pub(crate) async fn send(db: &Database, stage: &str, count: i64) -> Vec<i64> {
    let sql = "
        INSERT INTO pepsi.ingress (stage, status, worker, started_at, sender, recipients, message)
        SELECT $1, 'running', 'worker 1', clock_timestamp(), 'ann@example.org',
            '[{\"address\": \"bob@example.net\", \"notify\": [\"FAILURE\"], \"orcpt\": \"rfc822;bob@example.net\"}]',
            'Subject: hello'
        FROM generate_series(1, $2::bigint)
        RETURNING id";
    let rows = db.rows(sql, &[&stage, &count]).await;
    rows.iter().map(|row| row.get(0)).collect()
}

/// Ends the run of a message as its dispatcher would; returns when, in seconds by the server's clock, just before the commit.
pub(crate) async fn end(db: &Database, id: i64, status: &str) -> f64 {
    let sql = "
        UPDATE pepsi.ingress SET status = $2, error = '550 no such user' WHERE id = $1
        RETURNING extract(epoch FROM clock_timestamp())::float8";
    db.query_one(sql, &[&id, &status]).await
}

/// A message that gave up at a stage.
pub(crate) async fn stuck(db: &Database, stage: &str, status: &str) -> i64 {
    let id = send(db, stage, 1).await[0];
    end(db, id, status).await;
    id
}

/// `stage/status` of a message.
pub(crate) async fn place(db: &Database, id: i64) -> String {
    let sql = "SELECT stage || '/' || status FROM pepsi.ingress WHERE id = $1";
    db.query_one(sql, &[&id]).await
}

/// Waits until a message is pending at the bounce stage.
pub(crate) async fn wait_until_bounced(db: &Database, id: i64, deadline: Duration) {
    let expected = format!("{STAGE}/pending");
    wait::until(
        &format!("message {id} to be at {expected}"),
        deadline,
        || async {
            let seen = place(db, id).await;
            if seen == expected { Ok(()) } else { Err(seen) }
        },
    )
    .await;
}

/// How often a message was moved, by its trail.
pub(crate) async fn moves(db: &Database, id: i64) -> i64 {
    let sql = "SELECT count(*) FROM pepsi.ingress_trail WHERE ingress_id = $1";
    db.query_one(sql, &[&id]).await
}
