//! Only unexplained losses of a session are counted against the event that ran in it: a restart of the server is explained.

use fleet_tests::database::Database;
use fleet_tests::postgres::{PrivateOptions, Server, StopMode};
use fleet_tests::processor::Processor;
use fleet_tests::wait;

use crate::held;
use crate::steps::ended;

/// Marks go away with their event, so they are written down when they are made.
const REMEMBER_MARKS: &str = "CREATE TABLE marks_made (queue_id bigint, counted boolean);
    CREATE FUNCTION remember() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO public.marks_made VALUES (NEW.queue_id, NEW.counted); RETURN NEW; END $$;
    CREATE TRIGGER remember BEFORE INSERT ON pgrelay.crashes FOR EACH ROW EXECUTE FUNCTION remember()";

#[tokio::test]
async fn a_fast_restart() {
    restart_while_an_event_runs(StopMode::Fast).await;
}

#[tokio::test]
async fn an_immediate_restart() {
    restart_while_an_event_runs(StopMode::Immediate).await;
}

async fn restart_while_an_event_runs(mode: StopMode) {
    let mut server = Server::private(PrivateOptions::default()).await;
    let db = Database::with_schema_on(&server).await;
    let gate = held::channels(&db).await;
    db.execute(REMEMBER_MARKS).await;
    let _processor = Processor::start(&db).await;
    let id = held::hold(&db, &gate, "held").await;
    // The gate is a session of the server: it opens for good when the server goes.
    server.restart(mode).await;
    assert_eq!(ended(&db, id).await, "done");
    assert_eq!(held::effects(&db).await, ["held"]);
    assert_eq!(marks(&db, id).await, 0, "a restart was counted as a crash");

    // The counterpart: the same event, and a loss that nothing explains.
    let gate = db.gate(1).await;
    let id = held::hold(&db, &gate, "again").await;
    let holder = held::holders(&db).await[0];
    db.rows("SELECT pg_terminate_backend($1)", &[&holder]).await;
    wait::until("a mark", wait::SOON, || async {
        match marks(&db, id).await {
            1 => Ok(()),
            seen => Err(format!("{seen} marks")),
        }
    })
    .await;
    gate.open().await;
    assert_eq!(ended(&db, id).await, "done");
    assert_eq!(held::effects(&db).await, ["again", "held"]);
}

async fn marks(db: &Database, id: i64) -> i64 {
    let sql = "SELECT count(*) FROM marks_made WHERE queue_id = $1";
    db.query_one(sql, &[&id]).await
}
