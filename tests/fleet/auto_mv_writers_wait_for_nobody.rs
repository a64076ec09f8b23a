//! Triggers on sources hold up no writer and fail none; a transaction makes one event, whatever it does.

use fleet_tests::postgres::{PrivateOptions, Server};

use crate::auto_mv_steps::{
    claim_dispatches, counted, counted_too, database, database_on, dispatch, dispatches, run, state,
};
use crate::steps::refusal;

#[tokio::test]
async fn two_open_writers_and_a_running_dispatch_do_not_meet() {
    let db = database().await;
    let id = counted(&db, "p_refresh_lag => 0, p_cooldown => 60").await;
    let other = counted_too(&db, "").await;
    let (one, two) = (db.connect().await, db.connect().await);
    for session in [&one, &two] {
        run(
            session,
            "SET lock_timeout = '1s'; SET deadlock_timeout = '10ms'; BEGIN",
        )
        .await;
    }
    // Both tables, in opposite order.
    run(&one, "INSERT INTO public.t VALUES (1)").await;
    run(&two, "INSERT INTO public.u VALUES (2)").await;
    run(&one, "INSERT INTO public.u VALUES (1)").await;
    run(&two, "INSERT INTO public.t VALUES (2)").await;
    dispatch(&db, &id).await;
    dispatch(&db, &other).await;
    run(&one, "COMMIT").await;
    run(&two, "COMMIT").await;
    assert_eq!(state(&db, &id, "pending_events").await, "2");
    assert_eq!(state(&db, &other, "pending_events").await, "2");
}

#[tokio::test]
async fn strict_isolation_levels_write_without_conflict() {
    let db = database().await;
    counted(&db, "").await;
    for level in ["REPEATABLE READ", "SERIALIZABLE"] {
        let (one, two) = (db.connect().await, db.connect().await);
        for session in [&one, &two] {
            run(session, &format!("BEGIN ISOLATION LEVEL {level}; SELECT 1")).await;
        }
        run(
            &one,
            "INSERT INTO public.t VALUES ((random() * 1000000)::integer)",
        )
        .await;
        run(
            &two,
            "INSERT INTO public.t VALUES ((random() * 1000000)::integer + 2000000)",
        )
        .await;
        run(&one, "COMMIT").await;
        run(&two, "COMMIT").await;
    }
}

#[tokio::test]
async fn a_bulk_load_is_one_event() {
    let db = database().await;
    let id = counted(&db, "").await;
    db.execute("INSERT INTO public.t SELECT g FROM generate_series(1, 200000) AS g")
        .await;
    assert_eq!(state(&db, &id, "pending_events").await, "1");
    assert_eq!(dispatches(&db, &id).await.len(), 1);
    // By row too, where sources need it, and whatever else the transaction does.
    db.execute("SELECT pgauto_mv.update('public.mv', p_fire_on_replica => true); DELETE FROM pgauto_mv.mv_events").await;
    db.execute("BEGIN; UPDATE public.t SET v = 2 WHERE id <= 20000; DELETE FROM public.t WHERE id < 10; TRUNCATE public.t; COMMIT").await;
    assert_eq!(state(&db, &id, "pending_events").await, "1");
}

#[tokio::test]
async fn a_savepoint_takes_the_mark_back_together_with_the_event() {
    let db = database().await;
    let id = counted(&db, "").await;
    db.execute(
        "BEGIN; SAVEPOINT s; INSERT INTO public.t VALUES (1); ROLLBACK TO s; INSERT INTO public.t VALUES (2); INSERT INTO public.t VALUES (3); COMMIT",
    )
    .await;
    assert_eq!(state(&db, &id, "pending_events").await, "1");
    db.execute("BEGIN; INSERT INTO public.t VALUES (4); ROLLBACK")
        .await;
    assert_eq!(state(&db, &id, "pending_events").await, "1");
    // A value that a session sets for itself is no mark.
    db.execute(&format!(
        "SET pgauto_mv.changed_{} = '3'; INSERT INTO public.t VALUES (5)",
        id.replace('-', "")
    ))
    .await;
    assert_eq!(state(&db, &id, "pending_events").await, "2");
}

#[tokio::test]
async fn damage_to_the_queue_or_the_schema_is_a_warning_to_the_writer() {
    let db = database().await;
    let id = counted(&db, "").await;
    db.execute("DELETE FROM pgrelay.channels; INSERT INTO public.t VALUES (1)")
        .await;
    assert_eq!(
        state(&db, &id, "pending_events").await,
        "1",
        "the event is kept"
    );
    db.execute("ALTER TABLE pgauto_mv.mv_events RENAME TO elsewhere; INSERT INTO public.t VALUES (2); TRUNCATE public.t; INSERT INTO public.t VALUES (2)").await;
    db.execute("ALTER TABLE pgauto_mv.elsewhere RENAME TO mv_events")
        .await;
    // reconcile() registers the channels again and dispatches what is pending.
    db.execute("SELECT pgauto_mv.reconcile()").await;
    dispatch(&db, &id).await;
    assert_eq!(db.query_one::<i64>("SELECT n FROM public.mv", &[]).await, 1);
}

/// Whatever a name in the trigger could be taken for, if it were not qualified. Each raises when it is used, what no handler there catches.
const EVIL: &str = "
CREATE SCHEMA evil;
CREATE FUNCTION evil.fail() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'called' USING ERRCODE = '57014'; END $$;
DO $do$
DECLARE
    t text;
    f text;
    o text;
BEGIN
    FOREACH t IN ARRAY ARRAY['text', 'timestamptz', 'uuid'] LOOP
        EXECUTE format('CREATE FUNCTION evil.fail_%1$s(pg_catalog.%1$s, pg_catalog.%1$s) RETURNS boolean LANGUAGE sql AS $$SELECT evil.fail()$$', t);
        FOREACH o IN ARRAY ARRAY['=', '>', '<', '<>', '-', '||'] LOOP
            EXECUTE format('CREATE OPERATOR evil.%1$s (LEFTARG = pg_catalog.%2$s, RIGHTARG = pg_catalog.%2$s, FUNCTION = evil.fail_%2$s)', o, t);
        END LOOP;
    END LOOP;
    FOREACH f IN ARRAY ARRAY['replace(text, text, text)', 'concat(text, text)', 'current_setting(text, boolean)', 'current_setting(text)',
        'set_config(text, text, boolean)', 'clock_timestamp()', 'pg_current_xact_id()', 'hashtextextended(text, bigint)',
        'pg_try_advisory_xact_lock_shared(bigint)'] LOOP
        EXECUTE format('CREATE FUNCTION evil.%s RETURNS boolean LANGUAGE sql AS $$SELECT evil.fail()$$', f);
    END LOOP;
    FOREACH t IN ARRAY ARRAY['text', 'uuid', 'interval', 'bool'] LOOP
        EXECUTE format('CREATE DOMAIN evil.%1$I AS pg_catalog.%1$I CHECK (evil.fail())', t);
    END LOOP;
END $do$;
CREATE TABLE evil.mv_events (x integer);
CREATE TABLE evil.mv_state (x integer);";

#[tokio::test]
async fn hostile_settings_of_a_writer_change_nothing() {
    let db = database().await;
    let id = counted(&db, "p_refresh_lag => 60").await;
    db.execute("CREATE TABLE public.u (id integer)").await;
    db.execute("SELECT pgauto_mv.update('public.mv', p_sources => '{public.u}')")
        .await;
    db.execute(EVIL).await;
    db.execute("DELETE FROM pgauto_mv.mv_events").await;
    claim_dispatches(&db).await;
    let writer = db.connect().await;
    for settings in [
        "SET search_path = evil, pg_catalog",
        "SET search_path = ''",
        "SET row_security = off",
    ] {
        run(&writer, settings).await;
        run(&writer, "INSERT INTO public.u SELECT").await;
        run(&writer, "TRUNCATE public.u").await;
    }
    assert_eq!(state(&db, &id, "pending_events").await, "6");
    // The same while a deferred dispatch is relied on, which takes another way through the trigger.
    claim_dispatches(&db).await;
    dispatch(&db, &id).await;
    run(&writer, "SET search_path = evil, pg_catalog").await;
    run(&writer, "INSERT INTO public.u SELECT").await;
    assert_eq!(dispatches(&db, &id).await.len(), 1, "the deferred one");
    assert_eq!(
        state(&db, &id, "pending_events").await,
        "3",
        "two after thinning, and this one"
    );
}

#[tokio::test]
async fn a_writer_needs_no_privilege_on_either_schema() {
    let db = database().await;
    let id = counted(&db, "").await;
    let writer = format!("{}_writer", db.name());
    db.execute(&format!(
        "CREATE ROLE {writer}; GRANT INSERT, TRUNCATE ON public.t TO {writer}"
    ))
    .await;
    let session = db.as_role(&writer).await;
    run(&session, "INSERT INTO public.t VALUES (1)").await;
    run(&session, "TRUNCATE public.t").await;
    let refused = refusal(&session, "SELECT * FROM pgauto_mv.mv_events").await;
    assert_eq!(refused.sqlstate, "42501");
    drop(session);
    assert_eq!(state(&db, &id, "pending_events").await, "2");
    db.execute(&format!("DROP OWNED BY {writer}; DROP ROLE {writer}"))
        .await;
}

#[tokio::test]
async fn a_transaction_can_still_be_prepared() {
    let db = database().await;
    let id = counted(&db, "").await;
    // A Processor that sleeps is what makes notify() send a NOTIFY.
    let _processor = fleet_tests::processor::Processor::start(&db).await;
    let sleeps = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 5283401 AND mode = 'ShareLock'
                  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    db.until_equals(sleeps, 1_i64, fleet_tests::wait::SOON)
        .await;
    let name = db.name();
    db.execute(&format!(
        "BEGIN; INSERT INTO public.t VALUES (1); PREPARE TRANSACTION '{name}'"
    ))
    .await;
    db.execute(&format!("COMMIT PREPARED '{name}'")).await;
    db.until_equals("SELECT n FROM public.mv", 1_i64, fleet_tests::wait::SOON)
        .await;
    claim_dispatches(&db).await;
    assert_eq!(state(&db, &id, "is_pending").await, "false");
}

#[tokio::test]
async fn what_fails_in_the_trigger_is_said_once_a_transaction() {
    let db = database().await;
    // By row, as on a partitioned table.
    let id = counted(&db, "p_fire_on_replica => true").await;
    db.execute("DELETE FROM pgrelay.channels").await;
    let warnings = db
        .warnings("INSERT INTO public.t SELECT g FROM generate_series(1, 1000) AS g")
        .await;
    let expected = format!("a change was not enqueued for the refresh of materialised view {id}");
    assert_eq!(warnings, [expected]);
    assert_eq!(state(&db, &id, "pending_events").await, "1");
}

#[tokio::test]
async fn a_publication_of_all_tables_does_not_stop_refreshes() {
    let db = database().await;
    let id = counted(&db, "0, 0").await;
    db.execute("SET client_min_messages = error; CREATE PUBLICATION everything FOR ALL TABLES")
        .await;
    db.execute("INSERT INTO public.t VALUES (1)").await;
    dispatch(&db, &id).await;
    assert_eq!(db.query_one::<i64>("SELECT n FROM public.mv", &[]).await, 1);
    assert_eq!(state(&db, &id, "pending_events").await, "0");
    // Nor anything else: each table has what tells its rows apart.
    let without = "SELECT coalesce(string_agg(c.oid::regclass::text, ' '), '') FROM pg_class AS c
        WHERE c.relnamespace IN ('pgrelay'::regnamespace, 'pgauto_mv'::regnamespace) AND c.relkind = 'r' AND c.relreplident = 'd'
          AND NOT EXISTS (SELECT FROM pg_index AS i WHERE i.indrelid = c.oid AND i.indisprimary)";
    assert_eq!(db.query_one::<String>(without, &[]).await, "");
}

#[tokio::test]
async fn where_nothing_can_be_prepared_the_dispatch_is_due_at_once() {
    let server = Server::private(PrivateOptions {
        settings: &[("max_prepared_transactions", "0")],
        ..PrivateOptions::default()
    })
    .await;
    let db = database_on(&server).await;
    let id = counted(&db, "").await;
    let writer = db.connect().await;
    run(&writer, "BEGIN; INSERT INTO public.t VALUES (1)").await;
    let due = format!("SELECT run_at = now() FROM pgrelay.queue WHERE payload = '{id}'");
    let row = writer.query_one(&due, &[]).await.expect("the dispatch");
    assert!(
        row.get::<_, bool>(0),
        "as the first change of a transaction"
    );
    run(&writer, "COMMIT").await;
    let _processor = fleet_tests::processor::Processor::start(&db).await;
    db.execute("SELECT pgauto_mv.update('public.mv', p_refresh_lag => 0)")
        .await;
    db.until_equals("SELECT n FROM public.mv", 1_i64, fleet_tests::wait::SOON)
        .await;
}
