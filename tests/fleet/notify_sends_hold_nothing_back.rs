//! While a send is in flight, its transaction holds neither a transaction id nor a snapshot, so vacuum goes on in the whole database.

use fleet_tests::processor::Processor;
use fleet_tests::wait;

use crate::notify_receiver::Receiver;
use crate::notify_recorder::{before_fetch, database, enqueue, statuses, store, told};
use crate::steps::ended;

#[tokio::test]
async fn neither_an_xid_nor_a_snapshot_nor_a_lock_on_a_row() {
    let db = database().await;
    let receiver = Receiver::closed(&[]).await;
    store(&db, 7, "webhook", &receiver.profile()).await;
    before_fetch(
        &db,
        "PERFORM set_config('application_name', 'left behind', false)",
    )
    .await;
    let _processor = Processor::start(&db).await;
    let event = enqueue(&db, 7).await;
    receiver.wait_for(1).await;
    let sql = "SELECT array_agg(format('%s %s %s %s', application_name, state, backend_xid, backend_xmin))
               FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'";
    let expected = vec!["pg-relay-processor notify idle in transaction  ".to_owned()];
    db.until_equals(sql, expected, wait::SOON).await;
    let sql = "UPDATE pgrelay.queue SET payload = payload WHERE id = $1";
    db.rows(sql, &[&event]).await;
    db.execute("VACUUM pgrelay.queue").await;
    let killed: bool = db.query_one("SELECT pgrelay.kill($1)", &[&event]).await;
    assert!(!killed, "it is claimed all the same");
    receiver.open();
    assert_eq!(ended(&db, event).await, "done");
    assert_eq!(statuses(&db, 7).await, told(&[("sent", 1)]));
}
