//! An event that stands in the middle of its action until the test lets it pass, with an effect to count afterwards.

use std::time::Duration;

use fleet_tests::database::Database;
use fleet_tests::gate::Gate;
use fleet_tests::wait;

use crate::steps::{notify, register};

/// Makes a table `effects` and two channels that write their payload into it: `held` stands at the returned gate before, `free` does not.
pub(crate) async fn channels(db: &Database) -> Gate {
    db.execute("CREATE TABLE effects (payload text)").await;
    let gate = db.gate(1).await;
    let action = format!(
        "WITH passed AS MATERIALIZED ({}) INSERT INTO effects SELECT $1 FROM passed",
        gate.pass_sql()
    );
    register(db, "held", &action, "").await;
    register(db, "free", "INSERT INTO effects VALUES ($1)", "").await;
    gate
}

/// Enqueues an event of `held`, and waits until its action stands at the gate.
pub(crate) async fn hold(db: &Database, gate: &Gate, payload: &str) -> i64 {
    let id = notify(db, "held", payload).await;
    gate.wait_for_arrivals(1).await;
    id
}

/// Which backends stand at a gate.
pub(crate) async fn holders(db: &Database) -> Vec<i32> {
    let sql = "SELECT l.pid FROM pg_locks AS l JOIN pg_database AS d ON d.oid = l.database
               WHERE d.datname = current_database() AND l.locktype = 'advisory' AND l.objsubid = 2 AND NOT l.granted";
    let rows = db.rows(sql, &[]).await;
    rows.iter().map(|row| row.get(0)).collect()
}

/// Waits until another backend than `before` stands at the gate, alone: the claim was let go and taken again.
pub(crate) async fn wait_for_another_holder(db: &Database, before: i32, deadline: Duration) {
    let what = format!("the claim of backend {before} to be taken over");
    wait::until(&what, deadline, || async {
        match holders(db).await.as_slice() {
            [holder] if *holder != before => Ok(()),
            seen => Err(format!("backends {seen:?} at the gate")),
        }
    })
    .await;
}

/// What was written into `effects`, in order.
pub(crate) async fn effects(db: &Database) -> Vec<String> {
    let rows = db
        .rows("SELECT payload FROM effects ORDER BY payload", &[])
        .await;
    rows.iter().map(|row| row.get(0)).collect()
}

/// The present status of an event.
pub(crate) async fn status(db: &Database, id: i64) -> String {
    let sql = "SELECT q.status FROM pgrelay.queue AS q WHERE q.id = $1";
    db.query_one(sql, &[&id]).await
}
