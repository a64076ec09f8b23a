//! `stop()` ends the Processors that run when it is called, after a drain, with exit code 0; `stop(id)` ends only that one.

use std::time::Duration;

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;
use fleet_tests::wait;

use crate::held;
use crate::steps::{ended, notify};

#[tokio::test]
async fn all_of_them_and_none_that_is_started_later() {
    let db = Database::with_schema().await;
    let gate = held::channels(&db).await;
    let mut first = Processor::start(&db).await;
    let mut second = Processor::start(&db).await;
    let held = held::hold(&db, &gate, "held").await;
    db.execute("SELECT pgrelay.stop()").await;
    let mut third = Processor::start(&db).await;
    first
        .wait_for_log("stopped by pgrelay.stop()", wait::SOON)
        .await;
    second
        .wait_for_log("stopped by pgrelay.stop()", wait::SOON)
        .await;
    assert_eq!(
        held::status(&db, held).await,
        "pending",
        "the gate is closed"
    );
    gate.open().await;
    assert_eq!(first.wait_exit(wait::SOON).await, 0);
    assert_eq!(second.wait_exit(wait::SOON).await, 0);
    assert_eq!(ended(&db, held).await, "done");
    assert_eq!(
        held::effects(&db).await,
        ["held"],
        "the drain lost or repeated what was held"
    );
    let later = notify(&db, "free", "later").await;
    assert_eq!(ended(&db, later).await, "done");
    wait::while_holding("the third Processor", Duration::from_secs(2), || {
        let code = third.exit_code();
        async move {
            code.map_or(Ok(()), |code| {
                Err(format!("it ended with exit code {code}"))
            })
        }
    })
    .await;
    let listed: i32 = db
        .query_one("SELECT pid FROM pgrelay.processors", &[])
        .await;
    assert_eq!(u32::try_from(listed), Ok(third.pid()));
}

#[tokio::test]
async fn one_of_them_by_its_id() {
    let db = Database::with_schema().await;
    let mut first = Processor::start(&db).await;
    let mut second = Processor::start(&db).await;
    let pid = i32::try_from(first.pid()).expect("a process id fits");
    db.rows(
        "SELECT pgrelay.stop(p.id) FROM pgrelay.processors AS p WHERE p.pid = $1",
        &[&pid],
    )
    .await;
    assert_eq!(first.wait_exit(wait::SOON).await, 0);
    wait::while_holding("the other Processor", Duration::from_secs(2), || {
        let code = second.exit_code();
        async move {
            code.map_or(Ok(()), |code| {
                Err(format!("it ended with exit code {code}"))
            })
        }
    })
    .await;
}
