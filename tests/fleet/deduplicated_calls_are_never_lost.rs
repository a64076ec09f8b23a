//! What a caller committed together with a deduplicated call is seen by a run that starts after that commit, however many callers overlap.

use std::sync::Arc;

use fleet_tests::database::Database;
use fleet_tests::postgres::{PrivateOptions, Server};
use fleet_tests::processor::Processor;
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use tokio_postgres::Client;

use crate::steps::{all_ended, ended, log_of, notify, register};

const CALLERS: usize = 200;

/// Each caller adds a row and calls; each run records the rows it sees.
async fn database_of_work() -> Database {
    prepare(Database::with_schema().await).await
}

/// A server with room for all callers.
async fn large_server() -> Server {
    let settings = &[("max_connections", "300")];
    let options = PrivateOptions {
        settings,
        ..PrivateOptions::default()
    };
    Server::private(options).await
}

async fn prepare(db: Database) -> Database {
    // The pause after the look is the time in which a call must not rely on the run any more.
    db.execute(
        "CREATE TABLE work (id bigint GENERATED ALWAYS AS IDENTITY, payload text);
         CREATE TABLE seen (id bigint, run bigint);
         CREATE FUNCTION look(p text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
             INSERT INTO seen SELECT w.id, current_setting('pgrelay.event_id')::bigint FROM work AS w
             WHERE w.payload = p AND NOT EXISTS (SELECT FROM seen AS s WHERE s.id = w.id);
             PERFORM pg_sleep(0.01);
         END $$",
    )
    .await;
    register(&db, "c", "SELECT look($1)", "").await;
    db
}

/// Begins, works and calls; the transaction is left open.
async fn call(session: &Client, payload: &str) -> i64 {
    let sql = format!("BEGIN; INSERT INTO work (payload) VALUES ('{payload}')");
    session.batch_execute(&sql).await.expect("the caller's row");
    let sql = format!("SELECT pgrelay.notify('c', '{payload}', p_deduplicate => true)");
    let row = session.query_one(&sql, &[]).await;
    row.expect("a deduplicated call").get(0)
}

async fn connect_all(db: &Database) -> Vec<Client> {
    let mut sessions = Vec::with_capacity(CALLERS);
    for _ in 0..CALLERS {
        sessions.push(db.connect().await);
    }
    sessions
}

async fn assert_all_seen(db: &Database, rows: usize) {
    all_ended(db).await;
    let sql = "SELECT count(*) FROM work";
    assert_eq!(
        usize::try_from(db.query_one::<i64>(sql, &[]).await).expect("a count is not negative"),
        rows
    );
    let sql =
        "SELECT count(*) FROM work AS w WHERE NOT EXISTS (SELECT FROM seen AS s WHERE s.id = w.id)";
    let lost: i64 = db.query_one(sql, &[]).await;
    assert_eq!(lost, 0, "rows that no run has seen");
    let sql = "SELECT count(*) FROM pgrelay.log WHERE status <> 'ok'";
    assert_eq!(db.query_one::<i64>(sql, &[]).await, 0, "failed runs");
}

#[tokio::test]
async fn two_hundred_callers_share_one_event_which_waits_for_the_last_of_them() {
    let server = large_server().await;
    let db = prepare(Database::with_schema_on(&server).await).await;
    register(&db, "other", "SELECT $1", "").await;
    db.execute("SELECT pgrelay.pause_to('infinity')").await;
    let sql = "SELECT pgrelay.notify('c', 'same', p_deduplicate => true)";
    let event: i64 = db.query_one(sql, &[]).await;
    let sessions = connect_all(&db).await;
    for (caller, session) in sessions.iter().enumerate() {
        let served_by = call(session, "same").await;
        assert_eq!(served_by, event, "caller {caller}");
    }
    // All transactions are open now, and all of them count on the one event.
    let _processor = Processor::start(&db).await;
    db.execute("SELECT pgrelay.resume()").await;
    let (last, others) = sessions.split_last().unwrap();
    for session in others {
        session.batch_execute("COMMIT").await.unwrap();
    }
    // Later than the event, so whoever resolves it has passed over the event.
    let other = notify(&db, "other", "").await;
    assert_eq!(ended(&db, other).await, "done");
    let sql = "SELECT status FROM pgrelay.queue WHERE id = $1";
    let status: String = db.query_one(sql, &[&event]).await;
    assert_eq!(status, "pending", "the last caller has not committed");
    last.batch_execute("COMMIT").await.unwrap();
    assert_eq!(ended(&db, event).await, "done");
    assert_all_seen(&db, CALLERS).await;
    let runs: i64 = db
        .query_one("SELECT count(DISTINCT run) FROM seen", &[])
        .await;
    assert!(
        runs <= 2,
        "{runs} runs: one for those who had committed before the last may come before the one for all"
    );
}

#[tokio::test]
async fn callers_whose_transactions_all_overlap_are_all_seen() {
    const ROUNDS: usize = 4;
    let server = large_server().await;
    let db = prepare(Database::with_schema_on(&server).await).await;
    let _processors = [Processor::start(&db).await, Processor::start(&db).await];
    let barrier = Arc::new(Barrier::new(CALLERS));
    let mut callers = JoinSet::new();
    for session in connect_all(&db).await {
        let barrier = Arc::clone(&barrier);
        callers.spawn(async move {
            for _ in 0..ROUNDS {
                call(&session, "same").await;
                // Nobody commits before everybody has called.
                barrier.wait().await;
                session.batch_execute("COMMIT").await.unwrap();
            }
        });
    }
    callers.join_all().await;
    assert_all_seen(&db, CALLERS * ROUNDS).await;
}

#[tokio::test]
async fn callers_that_come_and_go_are_all_seen() {
    const ROUNDS: usize = 12;
    const GROUPS: usize = 8;
    const MEMBERS: usize = 4;
    let db = database_of_work().await;
    let _processors = [Processor::start(&db).await, Processor::start(&db).await];
    let mut callers = JoinSet::new();
    for caller in 0..GROUPS * MEMBERS {
        let session = db.connect().await;
        callers.spawn(async move {
            for round in 0..ROUNDS {
                // A payload of their own for each group and round: a call that is lost is not made good by later ones.
                let payload = format!("{} in round {round}", caller % GROUPS);
                // The members call one after the other, while the run for those before them is under way.
                let pause = format!("SELECT pg_sleep(0.004 * {})", caller / GROUPS);
                session.batch_execute(&pause).await.unwrap();
                call(&session, &payload).await;
                session.batch_execute("COMMIT").await.unwrap();
            }
        });
    }
    callers.join_all().await;
    assert_all_seen(&db, GROUPS * MEMBERS * ROUNDS).await;
    let sql = "SELECT count(*) FROM pgrelay.queue";
    let events: i64 = db.query_one(sql, &[]).await;
    assert!(
        events < 384,
        "{events} events for 384 calls: none was suppressed"
    );
}

#[tokio::test]
async fn a_caller_that_rolls_back_leaves_the_event_to_the_others() {
    let db = database_of_work().await;
    let (one, other) = (db.connect().await, db.connect().await);
    let inserted = call(&one, "same").await;
    // The first is not committed, so it cannot serve anybody.
    let second = call(&other, "same").await;
    assert_ne!(inserted, second);
    one.batch_execute("ROLLBACK").await.unwrap();
    other.batch_execute("COMMIT").await.unwrap();
    let _processor = Processor::start(&db).await;
    assert_all_seen(&db, 1).await;
    assert_eq!(log_of(&db, second).await[0].status, "ok");
    assert!(log_of(&db, inserted).await.is_empty());
}
