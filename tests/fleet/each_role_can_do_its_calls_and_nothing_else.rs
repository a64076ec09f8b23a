//! Least privilege: what each role may call, and that everything else is refused with 42501.

use fleet_tests::database::{Database, describe};
use fleet_tests::processor::Processor;

use crate::privileges::{self, Rights, Role};
use crate::steps::{ended, notify, only_log_row, refusal, register};

const ROLES: &[Role] = &[
    ('a', "admin", "pgrelay_admin"),
    ('p', "producer", "pgrelay_producer"),
    ('w', "processor", "pgrelay_processor"),
    ('m', "monitor", "pgrelay_monitor"),
    ('-', "stranger", ""),
];

const MATRIX: &[Rights] = &[
    (
        "SELECT pgrelay.notify('c', 'p', p_deduplicate => true)",
        "apw",
    ),
    ("SELECT pgrelay.notify_many('c', ARRAY['p'])", "apw"),
    ("SELECT pgrelay.register('d', 'SELECT 1')", "a"),
    (
        "SELECT pgrelay.update('c', p_concurrency_mode := 'serial')",
        "a",
    ),
    ("SELECT pgrelay.unregister('c')", "a"),
    ("SELECT pgrelay.kill(1)", "aw"),
    ("SELECT pgrelay.redrive(2)", "a"),
    ("SELECT pgrelay.register_companion('n', 's', '1')", "a"),
    ("SELECT pgrelay.stop()", "a"),
    ("SELECT pgrelay.pause_for('1 s')", "a"),
    ("SELECT pgrelay.pause_to('infinity')", "a"),
    ("SELECT pgrelay.resume()", "a"),
    ("SELECT pgrelay.request_reload()", "aw"),
    ("SELECT pgrelay.set_retention('1 day')", "a"),
    ("SELECT pgrelay.set_node('n', 1, 2)", "a"),
    ("SELECT pgrelay.version()", "apwm"),
    ("SELECT pgrelay.node_name()", "apwm"),
    ("SELECT FROM pgrelay.queue_status", "awm"),
    ("SELECT FROM pgrelay.channel_status", "awm"),
    ("SELECT FROM pgrelay.processor_status", "awm"),
    ("SELECT FROM pgrelay.queue", "awm"),
    ("SELECT FROM pgrelay.log", "awm"),
    ("SELECT FROM pgrelay.channels", "awm"),
    ("SELECT FROM pgrelay.companions", "awm"),
    ("SELECT FROM pgrelay.fleet", "awm"),
    (
        "INSERT INTO pgrelay.queue (channel, action_type, run_at, twin_key) VALUES ('c', 'sql', now(), 1)",
        "w",
    ),
    ("UPDATE pgrelay.queue SET payload = 'forged'", "w"),
    ("DELETE FROM pgrelay.queue", "w"),
    ("DELETE FROM pgrelay.log", "w"),
    ("UPDATE pgrelay.log SET status = 'ok'", ""),
    ("INSERT INTO pgrelay.channels VALUES ('x')", ""),
    ("UPDATE pgrelay.channels SET action_sql = 'SELECT 2'", ""),
    ("DELETE FROM pgrelay.companions", ""),
    ("UPDATE pgrelay.fleet SET paused_until = 'infinity'", ""),
    ("UPDATE pgrelay.node SET name = 'x'", ""),
    ("TRUNCATE pgrelay.queue", ""),
    ("SELECT setval('pgrelay.queue_id_seq', 1)", ""),
    ("SELECT setval('pgrelay.twin_floor', 1)", "w"),
    ("SELECT pgrelay._wake('sql')", ""),
    ("SELECT pgrelay._channel_for_call('c', 1)", ""),
    ("SELECT pgrelay._find_twin('c', 'p', 1, now(), NULL)", ""),
    ("SELECT pgrelay._prune_queue(0)", "w"),
    ("CREATE TABLE pgrelay.mine ()", ""),
    (
        "CREATE FUNCTION pgrelay.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "",
    ),
    ("ALTER TABLE pgrelay.queue DISABLE TRIGGER ALL", ""),
    ("DROP FUNCTION pgrelay.version()", ""),
    ("LOCK pgrelay.queue IN ACCESS EXCLUSIVE MODE", "w"),
];

/// A database with members of every role.
async fn with_members() -> Database {
    let db = Database::with_schema().await;
    register(&db, "c", "SELECT $1", "").await;
    db.execute("SELECT pgrelay.notify('c', 'one', run_at => 'infinity'), pgrelay.notify('c', 'two', run_at => 'infinity'); \
                UPDATE pgrelay.queue SET status = 'error', finished_at = now() WHERE id = 2")
        .await;
    privileges::create_members(&db, ROLES).await;
    db
}

#[tokio::test]
async fn the_matrix_of_roles_and_calls() {
    let db = with_members().await;
    privileges::check_matrix(&db, ROLES, MATRIX).await;
    privileges::drop_members(&db, ROLES).await;
}

#[tokio::test]
async fn every_function_is_closed_to_the_public_and_named_in_the_matrix_or_internal() {
    let db = Database::with_schema().await;
    privileges::check_functions(&db, "pgrelay", MATRIX).await;
}

#[tokio::test]
async fn every_function_with_its_owner_s_rights_has_a_fixed_search_path() {
    let db = Database::with_schema().await;
    privileges::check_search_paths(&db, "pgrelay").await;
}

#[tokio::test]
async fn every_object_carries_a_comment() {
    let db = Database::with_schema().await;
    privileges::check_comments(&db, "pgrelay").await;
}

#[tokio::test]
async fn a_producer_with_hostile_temporary_objects_can_only_notify() {
    let db = with_members().await;
    let session = db.as_role(&format!("{}_producer", db.name())).await;
    session
        .batch_execute(
            "CREATE TEMP TABLE channels (channel text, action_type text); CREATE TEMP TABLE queue (id bigint); CREATE TEMP TABLE fleet (); \
             CREATE FUNCTION pg_temp.trap() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'ran as %', current_user; END $$; \
             CREATE FUNCTION pg_temp.now() RETURNS timestamptz LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'ran as %', current_user; END $$; \
             CREATE FUNCTION pg_temp.octet_length(text) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'ran as %', current_user; END $$; \
             CREATE FUNCTION pg_temp.never(text, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'ran as %', current_user; END $$; \
             CREATE OPERATOR pg_temp.= (LEFTARG = text, RIGHTARG = text, FUNCTION = pg_temp.never); \
             CREATE DOMAIN pg_temp.timestamptz AS text CHECK (pg_temp.trap()); \
             SET search_path = pg_temp, pg_catalog",
        )
        .await
        .unwrap();
    let row = session
        .query_one(
            "SELECT pgrelay.notify('c', 'p', p_deduplicate => true)",
            &[],
        )
        .await;
    let id: i64 = row
        .unwrap_or_else(|error| panic!("{}", describe(&error)))
        .get(0);
    for sql in [
        "SELECT payload FROM pgrelay.queue",
        "SELECT pgrelay.register('x', 'SELECT 1')",
        "SELECT pgrelay.kill(1)",
        "SET ROLE pgrelay_admin",
    ] {
        let refused = refusal(&session, sql).await;
        assert_eq!(refused.sqlstate, "42501", "{sql}: {refused:?}");
    }
    let sql = "SELECT payload FROM pgrelay.queue WHERE id = $1";
    assert_eq!(db.query_one::<String>(sql, &[&id]).await, "p");
    session.batch_execute("DISCARD TEMP").await.unwrap();
    drop(session);
    privileges::drop_members(&db, ROLES).await;
}

#[tokio::test]
async fn a_processor_needs_no_more_than_its_role() {
    let db = with_members().await;
    let role = format!("{}_processor", db.name());
    db.execute(&format!(
        "ALTER ROLE {role} LOGIN; CREATE TABLE ran (who text); GRANT INSERT ON ran TO PUBLIC"
    ))
    .await;
    register(&db, "who", "INSERT INTO ran SELECT session_user", "").await;
    db.execute("CREATE FUNCTION fail() RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001'; END $$")
        .await;
    register(&db, "fail", "SELECT fail()", "max_retries := 1").await;
    register(&db, "serial", "SELECT $1", "concurrency_mode := 'serial'").await;
    register(&db, "secret", "SELECT * FROM pg_authid", "").await;
    let processor = Processor::with(&db, |config| {
        config.set_in("pepsi-postgres", "USER", role.as_str())
    })
    .await;
    for (channel, status) in [
        ("who", "ok"),
        ("fail", "retry_scheduled"),
        ("serial", "ok"),
        ("secret", "error"),
    ] {
        let id = notify(&db, channel, "").await;
        assert_eq!(only_log_row(&db, id).await.status, status, "{channel}");
    }
    let sql = "SELECT pgrelay.kill(1)";
    assert!(db.query_one::<bool>(sql, &[]).await);
    assert_eq!(ended(&db, 1).await, "expired");
    assert_eq!(
        db.query_one::<String>("SELECT who FROM ran", &[]).await,
        role
    );
    drop(processor);
    privileges::drop_members(&db, ROLES).await;
}
