//! Whatever a database or a role sets as its defaults, events are claimed, retried, expired and settled as ever.

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;
use tokio_postgres::Client;

use crate::steps::{Logged, all_ended, ended, log_of, only_log_row, register};

const SETTINGS: &[(&str, &str)] = &[
    ("default_transaction_isolation", "serializable"),
    ("default_transaction_read_only", "on"),
    ("default_transaction_deferrable", "on"),
    ("statement_timeout", "50ms"),
    ("lock_timeout", "1ms"),
    ("idle_in_transaction_session_timeout", "20ms"),
    ("idle_session_timeout", "100ms"),
    ("TimeZone", "Pacific/Auckland"),
    ("DateStyle", "SQL, DMY"),
    ("IntervalStyle", "sql_standard"),
    ("bytea_output", "escape"),
    ("extra_float_digits", "-10"),
    ("standard_conforming_strings", "off"),
    ("backslash_quote", "off"),
    ("transform_null_equals", "on"),
    ("enable_indexscan", "off"),
    ("enable_indexonlyscan", "off"),
    ("enable_nestloop", "off"),
    ("plan_cache_mode", "force_custom_plan"),
    ("jit_above_cost", "0"),
    ("row_security", "off"),
    ("client_min_messages", "error"),
    ("session_replication_role", "replica"),
    ("default_toast_compression", "pglz"),
    ("synchronous_commit", "off"),
    ("constraint_exclusion", "on"),
    ("xmloption", "document"),
    ("search_path", "evil, pg_catalog"),
];

/// Whoever resolves one of these by the search path runs into it.
const EVIL: &str = r"CREATE SCHEMA evil;
    CREATE FUNCTION evil.trap() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'trapped'; END $$;
    DO $$ DECLARE f text; BEGIN
        FOREACH f IN ARRAY ARRAY[
            'now() RETURNS timestamptz', 'clock_timestamp() RETURNS timestamptz', 'statement_timestamp() RETURNS timestamptz',
            'transaction_timestamp() RETURNS timestamptz', 'pg_advisory_unlock_all() RETURNS void', 'pg_is_in_recovery() RETURNS boolean',
            'pg_try_advisory_lock(bigint) RETURNS boolean', 'pg_try_advisory_xact_lock(bigint) RETURNS boolean',
            'pg_try_advisory_lock_shared(bigint) RETURNS boolean', 'pg_advisory_unlock(bigint) RETURNS boolean',
            'pg_notify(text, text) RETURNS void', 'octet_length(text) RETURNS integer', 'hashtextextended(text, bigint) RETURNS bigint',
            'current_setting(text) RETURNS text', 'current_setting(text, boolean) RETURNS text', 'set_config(text, text, boolean) RETURNS text',
            'pg_backend_pid() RETURNS integer', 'pg_postmaster_start_time() RETURNS timestamptz', 'version() RETURNS text',
            'to_timestamp(double precision) RETURNS timestamptz', 'setval(regclass, bigint) RETURNS bigint'
        ] LOOP
            EXECUTE format('CREATE FUNCTION evil.%s LANGUAGE plpgsql AS $f$ BEGIN RAISE EXCEPTION ''trapped''; END $f$', f);
        END LOOP;
        FOREACH f IN ARRAY ARRAY['text, text', 'bigint, bigint', 'timestamptz, timestamptz', 'boolean, boolean', 'uuid, uuid', 'bigint, integer'] LOOP
            EXECUTE format('CREATE FUNCTION evil.never(%s) RETURNS boolean LANGUAGE plpgsql AS $f$ BEGIN RAISE EXCEPTION ''trapped''; END $f$', f);
            EXECUTE (SELECT string_agg(format('CREATE OPERATOR evil.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = evil.never)',
                                              o, split_part(f, ', ', 1), split_part(f, ', ', 2)), '; ')
                     FROM unnest(ARRAY['=', '<>', '<=', '>=', '<', '>']) AS o);
        END LOOP;
        CREATE OPERATOR evil.~ (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.never);
        CREATE OPERATOR evil.!~ (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.never);
        CREATE TABLE evil.queue (); CREATE TABLE evil.channels (); CREATE DOMAIN evil.timestamptz AS text;
    END $$";

/// The database's own session keeps the old defaults: it was opened before they changed.
async fn prepare(settings: &[(&str, &str)]) -> Database {
    let db = Database::with_schema().await;
    db.execute(EVIL).await;
    db.execute(
        "CREATE TABLE public.ran (payload text, isolation text, read_only text);
         CREATE FUNCTION public.fail() RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001'; END $$",
    )
    .await;
    let action = "INSERT INTO public.ran VALUES ($1, pg_catalog.current_setting('transaction_isolation'), \
                  pg_catalog.current_setting('transaction_read_only'))";
    register(&db, "ok", action, "").await;
    register(&db, "serial", action, "concurrency_mode := 'serial'").await;
    register(&db, "each", action, "concurrency_mode := 'per_payload'").await;
    register(&db, "fail", "SELECT public.fail()", "max_retries := 1").await;
    register(&db, "bad", "SELECT 1 / 0", "").await;
    register(&db, "off", "SELECT 1", "").await;
    db.execute("SELECT pgrelay.update('off', p_enabled := false)")
        .await;
    for (name, value) in settings {
        let value = if *name == "search_path" {
            (*value).to_owned()
        } else {
            format!("'{value}'")
        };
        db.execute(&format!(
            "ALTER DATABASE {} SET {name} = {value}",
            db.name()
        ))
        .await;
    }
    db
}

/// A caller's session with the hostile defaults, but with time enough for a slow machine and the right to write.
async fn caller(db: &Database) -> Client {
    let session = db.connect().await;
    let sql = "SET statement_timeout = 0; SET idle_session_timeout = 0; SET idle_in_transaction_session_timeout = 0; \
               SET lock_timeout = 0; SET default_transaction_read_only = off";
    session
        .batch_execute(sql)
        .await
        .expect("settings of the caller");
    session
}

async fn call(session: &Client, arguments: &str) -> i64 {
    let sql = format!("SELECT pgrelay.notify({arguments})");
    session.query_one(&sql, &[]).await.expect("a call").get(0)
}

async fn everything_works(settings: &[(&str, &str)], processor_settings: &[(&str, u32)]) {
    let db = prepare(settings).await;
    let session = caller(&db).await;
    let _processor = Processor::with(&db, |config| {
        processor_settings
            .iter()
            .fold(config, |config, (key, value)| config.set(key, *value))
    })
    .await;
    let expired = call(&session, "'ok', 'x', expire_at => pg_catalog.now()").await;
    let waits = "'ok', 'w', expire_at => pg_catalog.now() + pg_catalog.interval '1 minute'";
    let in_time = call(&session, &waits.replace("pg_catalog.interval", "interval")).await;
    let failed = call(&session, "'fail'").await;
    let bad = call(&session, "'bad'").await;
    let off = call(&session, "'off'").await;
    for channel in ["ok", "serial", "each"] {
        for _ in 0..20 {
            call(&session, &format!("'{channel}', 'a'")).await;
            call(
                &session,
                &format!("'{channel}', 'b', p_deduplicate => true"),
            )
            .await;
        }
    }
    let sql = "SELECT pgrelay.notify_many('ok', ARRAY['a', 'b', 'c'])";
    session
        .query_one(sql, &[])
        .await
        .expect("a call for three events");
    let later = call(&session, "'ok', 'k', run_at => 'infinity'").await;
    let sql = format!("SELECT pgrelay.kill({later})");
    let killed: bool = session
        .query_one(&sql, &[])
        .await
        .expect("an answer of kill()")
        .get(0);
    assert!(killed);
    check_ends(
        &db,
        &[
            (expired, "expired"),
            (later, "expired"),
            (in_time, "ok"),
            (bad, "error"),
            (off, "invalid"),
        ],
    )
    .await;
    check_retry(&db, failed).await;
    all_ended(&db).await;
    let sql = "SELECT count(*) FROM ran WHERE isolation <> 'read committed' OR read_only <> 'off'";
    assert_eq!(db.query_one::<i64>(sql, &[]).await, 0);
    let sql = "SELECT count(*) FROM pgrelay.log WHERE error LIKE '%trapped%' OR (channel IN ('serial', 'each') AND status <> 'ok')";
    assert_eq!(db.query_one::<i64>(sql, &[]).await, 0);
}

async fn check_ends(db: &Database, expected: &[(i64, &str)]) {
    for (id, status) in expected {
        let log: Logged = only_log_row(db, *id).await;
        assert_eq!(log.status, *status, "{log:?}");
    }
}

async fn check_retry(db: &Database, failed: i64) {
    assert_eq!(ended(db, failed).await, "done");
    let log = log_of(db, failed).await;
    assert_eq!(log[0].status, "retry_scheduled");
    let retry = log[0].retry_queue_id.expect("a retry row");
    let sql = "SELECT extract(epoch FROM q.run_at - l.started_at)::float8 - l.elapsed_ms / 1000 \
               FROM pgrelay.queue AS q, pgrelay.log AS l WHERE q.id = $1 AND l.retry_queue_id = q.id";
    let pause: f64 = db.query_one(sql, &[&retry]).await;
    assert!((2.9..4.5).contains(&pause), "retry after {pause} s");
    assert_eq!(ended(db, retry).await, "error");
}

#[tokio::test]
async fn a_database_with_hostile_defaults_is_served_as_any_other() {
    everything_works(SETTINGS, &[]).await;
}

#[tokio::test]
async fn so_is_one_with_a_single_worker_in_another_time_zone() {
    let settings = &[
        ("TimeZone", "America/Los_Angeles"),
        ("search_path", "evil, pg_catalog"),
        ("default_transaction_isolation", "repeatable read"),
    ];
    everything_works(settings, &[("SQL_WORKERS", 1)]).await;
}
