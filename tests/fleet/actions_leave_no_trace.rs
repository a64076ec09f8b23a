//! Whatever an action does to its session, the next event starts as if it had never run, alone as well as in a batch.

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;

use crate::steps::{all_ended, register};

/// What an action can do to a session; the role comes last, since it takes away the right to go on.
const DIRTY: &str = "CREATE FUNCTION dirty() RETURNS void LANGUAGE plpgsql AS $$ BEGIN
        CREATE TEMP TABLE left_over (id int);
        INSERT INTO left_over VALUES (1);
        PERFORM set_config('statement_timeout', '7777', false), set_config('lock_timeout', '7777', false),
            set_config('TimeZone', 'Pacific/Auckland', false), set_config('work_mem', '7777', true),
            set_config('app.tenant', 'somebody', false), set_config('app.local', 'somebody', true);
        PERFORM pg_advisory_lock(7777);
        EXECUTE 'LISTEN left_over';
        EXECUTE 'DECLARE left_over CURSOR WITH HOLD FOR SELECT generate_series(1, 10)';
        EXECUTE 'SET search_path = pg_catalog';
        EXECUTE 'SET SESSION AUTHORIZATION pg_monitor';
        EXECUTE 'SET LOCAL ROLE pg_monitor';
    END $$";

const OBSERVE: &str = "CREATE TABLE seen (what text, topics text, locks bigint);
    CREATE FUNCTION observe() RETURNS void LANGUAGE sql AS $$ INSERT INTO public.seen SELECT
        pg_catalog.concat_ws(' ', pg_catalog.current_setting('lock_timeout'), pg_catalog.current_setting('TimeZone'),
            pg_catalog.current_setting('work_mem'), pg_catalog.current_setting('search_path'), current_user, session_user,
            'tenant:' || coalesce(pg_catalog.current_setting('app.tenant', true), ''),
            'local:' || coalesce(pg_catalog.current_setting('app.local', true), ''),
            'temp:' || (SELECT count(*) FROM pg_catalog.pg_class WHERE relname = 'left_over' AND relnamespace = pg_catalog.pg_my_temp_schema()),
            'cursors:' || (SELECT count(*) FROM pg_catalog.pg_cursors WHERE name = 'left_over')),
        (SELECT pg_catalog.string_agg(c, ' ') FROM pg_catalog.pg_listening_channels() AS c),
        (SELECT count(*) FROM pg_catalog.pg_locks WHERE locktype = 'advisory' AND objid = 7777 AND pid = pg_catalog.pg_backend_pid()) $$;
    CREATE FUNCTION act(p text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
        IF p = 'dirty' THEN PERFORM public.dirty(); ELSIF p = 'observe' THEN PERFORM public.observe(); END IF;
    END $$";

/// Everything observed, each different sight once.
async fn sights(db: &Database, column: &str) -> Vec<String> {
    let sql = format!("SELECT DISTINCT coalesce({column}::text, 'none') FROM seen ORDER BY 1");
    let rows = db.rows(&sql, &[]).await;
    rows.iter().map(|row| row.get(0)).collect()
}

async fn clean_sight(db: &Database, lock_timeout: &str) -> String {
    let sql = "SELECT concat_ws(' ', $1::text, current_setting('TimeZone'), current_setting('work_mem'), current_setting('search_path'), \
               current_user, session_user, 'tenant:', 'local:', 'temp:0', 'cursors:0')";
    db.query_one(sql, &[&lock_timeout]).await
}

async fn prepare() -> (Database, Processor) {
    let db = Database::with_schema().await;
    db.execute(DIRTY).await;
    db.execute(OBSERVE).await;
    register(&db, "c", "SELECT public.act($1)", "").await;
    let processor = Processor::with(&db, |config| config.set("SQL_WORKERS", 1)).await;
    (db, processor)
}

async fn assert_all_ok(db: &Database) {
    let sql = "SELECT count(*) FROM pgrelay.log WHERE status <> 'ok'";
    assert_eq!(db.query_one::<i64>(sql, &[]).await, 0, "failed events");
}

#[tokio::test]
async fn a_single_action_leaves_nothing_to_the_next() {
    let (db, _processor) = prepare().await;
    db.execute("SELECT pgrelay.update('c', p_batch := false)")
        .await;
    db.execute("SELECT pgrelay.notify_many('c', ARRAY['observe', 'dirty', 'observe', 'dirty', 'dirty', 'observe'])")
        .await;
    all_ended(&db).await;
    assert_all_ok(&db).await;
    assert_eq!(sights(&db, "what").await, [clean_sight(&db, "0").await]);
    assert_eq!(sights(&db, "topics").await, ["none"]);
    assert_eq!(sights(&db, "locks").await, ["0"]);
    let sql = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 7777";
    assert_eq!(db.query_one::<i64>(sql, &[]).await, 0);
}

#[tokio::test]
async fn an_action_in_a_batch_leaves_nothing_to_its_neighbours() {
    let (db, _processor) = prepare().await;
    // The channel has to be known as a fast one before its events share a transaction.
    db.execute("SELECT pgrelay.notify('c', 'nothing') FROM generate_series(1, 300)")
        .await;
    all_ended(&db).await;
    db.execute("SELECT pgrelay.notify('c', CASE mod(i, 2) WHEN 0 THEN 'dirty' ELSE 'observe' END) FROM generate_series(1, 200) AS i")
        .await;
    all_ended(&db).await;
    assert_all_ok(&db).await;
    let sql = "SELECT max(n) FROM (SELECT count(*) AS n FROM seen GROUP BY xmin::text) AS s";
    let largest: i64 = db.query_one(sql, &[]).await;
    assert!(largest > 1, "no batch was formed, so nothing was shown");
    let mut expected = vec![clean_sight(&db, "0").await, clean_sight(&db, "5ms").await];
    expected.retain(|sight| !sight.starts_with("0 "));
    let mut seen = sights(&db, "what").await;
    // An event that happened to run alone had no lock_timeout.
    seen.retain(|sight| !sight.starts_with("0 ") || !sight.ends_with("temp:0 cursors:0"));
    assert_eq!(seen, expected);
    assert_eq!(sights(&db, "topics").await, ["none"]);
    let sql = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 7777";
    assert_eq!(db.query_one::<i64>(sql, &[]).await, 0);
}
