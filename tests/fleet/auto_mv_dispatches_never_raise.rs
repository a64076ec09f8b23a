//! `_process_pending` raises nothing, whatever happens under it; what it came for is logged and tried again.

use fleet_tests::database::Database;
use fleet_tests::wait;

use crate::auto_mv_steps::{
    begin_dispatch, claim_dispatches, counted, database, dispatch, dispatch_sql, held, last_logged,
    log, one_dispatch_in, pass, register, run, slot_due, state,
};

/// A failed attempt is logged with this SQLSTATE, and the next one is a minute away.
async fn failed_with(db: &Database, id: &str, sqlstate: &str) {
    assert_eq!(
        last_logged(db, id).await,
        format!("event failed {sqlstate}")
    );
    assert_eq!(state(db, id, "is_pending").await, "true");
    one_dispatch_in(db, id, 60.0).await;
}

#[tokio::test]
async fn when_the_owner_may_no_longer_read_a_source() {
    let db = database().await;
    let id = counted(&db, "").await;
    let owner = format!("{}_owner", db.name());
    db.execute(&format!("CREATE ROLE {owner}; GRANT ALL ON SCHEMA public TO {owner}; GRANT SELECT ON public.t TO {owner}; ALTER MATERIALIZED VIEW public.mv OWNER TO {owner}; INSERT INTO public.t VALUES (1)")).await;
    dispatch(&db, &id).await;
    assert_eq!(log(&db, &id).await, ["event ok plain"]);
    db.execute(&format!(
        "REVOKE SELECT ON public.t FROM {owner}; INSERT INTO public.t VALUES (2)"
    ))
    .await;
    claim_dispatches(&db).await;
    dispatch(&db, &id).await;
    failed_with(&db, &id, "42501").await;
    db.execute(&format!("DROP OWNED BY {owner} CASCADE; DROP ROLE {owner}"))
        .await;
    dispatch(&db, &id).await;
}

#[tokio::test]
async fn when_a_function_of_the_view_needs_another_search_path() {
    let db = database().await;
    db.execute(
        "CREATE TABLE public.t (id integer);
         CREATE FUNCTION public.unqualified() RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint';
         CREATE FUNCTION public.careless() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN unqualified(); END';
         CREATE MATERIALIZED VIEW public.mv AS SELECT public.careless() AS n FROM public.t WITH NO DATA",
    )
    .await;
    let id = register(&db, "public.mv", "").await;
    db.execute("INSERT INTO public.t VALUES (1)").await;
    claim_dispatches(&db).await;
    dispatch(&db, &id).await;
    failed_with(&db, &id, "42883").await;
}

#[tokio::test]
async fn when_the_view_stays_locked() {
    let db = database().await;
    let id = counted(
        &db,
        "p_refresh_lag => 0, p_lock_timeout => '50 milliseconds'",
    )
    .await;
    db.execute("INSERT INTO public.t VALUES (1)").await;
    claim_dispatches(&db).await;
    let reader = db.connect().await;
    run(&reader, "BEGIN; TABLE public.mv").await;
    dispatch(&db, &id).await;
    failed_with(&db, &id, "55P03").await;
    assert_eq!(
        state(&db, &id, "consecutive_failures").await,
        "0",
        "a lock says nothing about the view"
    );
}

#[tokio::test]
async fn when_it_is_cancelled() {
    let db = database().await;
    counted(&db, "").await;
    let (id, gate) = held(&db, "").await;
    db.execute("INSERT INTO public.t VALUES (1)").await;
    claim_dispatches(&db).await;
    let running = begin_dispatch(&db, &id).await;
    gate.wait_for_arrivals(1).await;
    db.execute(
        "SELECT pg_cancel_backend(pid) FROM pg_stat_activity
         WHERE query LIKE 'SELECT pgauto_mv._process_pending%' AND pid <> pg_backend_pid() AND datname = current_database()",
    )
    .await;
    running.await.expect("the dispatch");
    failed_with(&db, &id, "57014").await;
}

#[tokio::test]
async fn when_the_statement_runs_out_of_time() {
    let db = database().await;
    counted(&db, "").await;
    let (id, _gate) = held(&db, "").await;
    db.execute("INSERT INTO public.t VALUES (1)").await;
    claim_dispatches(&db).await;
    let session = db.connect().await;
    run(&session, "SET statement_timeout = '300ms'").await;
    run(&session, &dispatch_sql(&id)).await;
    failed_with(&db, &id, "57014").await;
    assert_eq!(state(&db, &id, "consecutive_failures").await, "0");
}

#[tokio::test]
async fn when_an_assertion_or_anything_else_fails_in_the_view() {
    let db = database().await;
    db.execute(
        "CREATE TABLE public.t (sqlstate text);
         CREATE FUNCTION public.fail(p text) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION USING ERRCODE = p; END $$;
         CREATE MATERIALIZED VIEW public.mv AS SELECT public.fail(sqlstate) FROM public.t",
    )
    .await;
    let id = register(&db, "public.mv", "").await;
    for sqlstate in [
        "P0004", "40001", "40P01", "XX000", "53200", "58030", "PR001",
    ] {
        db.execute(&format!("TRUNCATE public.t; INSERT INTO public.t VALUES ('{sqlstate}'); SELECT pgauto_mv.resume('public.mv')")).await;
        claim_dispatches(&db).await;
        dispatch(&db, &id).await;
        failed_with(&db, &id, sqlstate).await;
    }
}

#[tokio::test]
async fn when_the_view_is_dropped_while_it_is_looked_at() {
    let db = database().await;
    let id = counted(&db, "").await;
    db.execute("INSERT INTO public.t VALUES (1)").await;
    claim_dispatches(&db).await;
    let dropper = db.connect().await;
    run(&dropper, "BEGIN; DROP MATERIALIZED VIEW public.mv").await;
    let running = begin_dispatch(&db, &id).await;
    wait::until("the refresh to wait", wait::SOON, || async {
        let row = dropper.query_one("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()", &[]).await;
        row.expect("the sessions").get::<_, i64>(0) == 1
    })
    .await;
    run(&dropper, "COMMIT").await;
    running.await.expect("the dispatch");
    failed_with(&db, &id, "42P01").await;
    dispatch(&db, &id).await;
}

#[tokio::test]
async fn when_its_own_tables_and_functions_break() {
    let db = database().await;
    let id = counted(&db, "").await;
    db.execute("INSERT INTO public.t VALUES (1)").await;
    let damages = [
        "ALTER TABLE pgauto_mv.mv_refresh_log ADD CONSTRAINT broken CHECK (false) NOT VALID",
        "ALTER TABLE pgauto_mv.mv_refresh_log RENAME TO elsewhere",
        "DELETE FROM pgrelay.channels",
        "DROP VIEW pgauto_mv.mv_state_v CASCADE",
        "ALTER TABLE pgauto_mv.mv_state RENAME TO elsewhere",
        "ALTER TABLE pgauto_mv.materialised_views RENAME TO elsewhere",
        "DROP FUNCTION pgauto_mv._attempt, pgauto_mv._send",
    ];
    for damage in damages {
        let session = db.connect().await;
        // What is undone with the transaction is seen by the dispatch in it.
        run(&session, &format!("BEGIN; {damage}")).await;
        run(&session, &dispatch_sql(&id)).await;
        run(&session, "ROLLBACK").await;
    }
    dispatch(&db, &id).await;
    assert_eq!(log(&db, &id).await, ["event ok plain"]);
}

#[tokio::test]
async fn a_breakdown_of_the_bookkeeping_is_logged_and_repeated() {
    let db = database().await;
    let id = counted(&db, "").await;
    db.execute(
        "INSERT INTO public.t VALUES (1);
         ALTER TABLE pgauto_mv.mv_state ADD CONSTRAINT broken CHECK (last_refresh_completed IS NULL) NOT VALID",
    )
    .await;
    claim_dispatches(&db).await;
    dispatch(&db, &id).await;
    failed_with(&db, &id, "23514").await;
    db.execute("ALTER TABLE pgauto_mv.mv_state DROP CONSTRAINT broken; SELECT pgauto_mv.refresh('public.mv')").await;
    dispatch(&db, &id).await;
    assert_eq!(last_logged(&db, &id).await, "direct ok plain");
}

/// The slot is taken again in a minute; a change that comes meanwhile waits for its lag and for nothing else.
#[tokio::test]
async fn and_a_broken_slot_hastens_no_later_change() {
    let db = database().await;
    let id = counted(&db, "p_refresh_lag => 30, p_max_wait => 0").await;
    slot_due(&db, &id).await;
    claim_dispatches(&db).await;
    db.execute("ALTER TABLE pgauto_mv.mv_chain RENAME TO elsewhere")
        .await;
    dispatch(&db, &id).await;
    db.execute("ALTER TABLE pgauto_mv.elsewhere RENAME TO mv_chain")
        .await;
    assert_eq!(last_logged(&db, &id).await, "event failed 42P01");
    pass(&db, 61.0).await;
    db.execute("INSERT INTO public.t VALUES (1)").await;
    let lag = "refresh_due_at - latest_event_at";
    assert_eq!(state(&db, &id, lag).await, "00:00:30");
}
