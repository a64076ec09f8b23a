//! Once a minute somebody looks for what tells nobody: partitions, definitions, heirs. Sources that have come are watched from then on, and those of a
//! restricted owner as well.

use fleet_tests::database::Database;

use crate::auto_mv_steps::{
    CHANGE, QUEUED, claim_dispatches, counted, counted_too, database, dispatch, log, pass,
    register, run, state, upkeep,
};
use crate::steps::refusal;

async fn reasons(db: &Database, id: &str) -> String {
    let sql = format!(
        "SELECT coalesce(string_agg(reason, ' ' ORDER BY reason), '') FROM pgauto_mv.health
         WHERE auto_mv_id = '{id}' AND reason <> 'no_processor'"
    );
    db.query_one(&sql, &[]).await
}

async fn sources(db: &Database, id: &str) -> String {
    let sql = format!(
        "SELECT string_agg(source_name, ' ' ORDER BY source_name) FROM pgauto_mv.mv_sources WHERE auto_mv_id = '{id}'"
    );
    db.query_one(&sql, &[]).await
}

#[tokio::test]
async fn a_changed_definition_in_between_is_followed() {
    let db = database().await;
    db.execute(
        "CREATE TABLE public.t (id integer); CREATE TABLE public.u (id integer);
         CREATE VIEW public.between AS SELECT id FROM public.t;
         CREATE MATERIALIZED VIEW public.mv AS SELECT count(*) AS n FROM public.between",
    )
    .await;
    let id = register(&db, "public.mv", "").await;
    upkeep(&db).await;
    assert_eq!(state(&db, &id, "pending_events").await, "0");
    db.execute("INSERT INTO public.u VALUES (1), (2); CREATE OR REPLACE VIEW public.between AS SELECT id FROM public.u")
        .await;
    assert_eq!(reasons(&db, &id).await, "sources_changed");
    upkeep(&db).await;
    assert_eq!(reasons(&db, &id).await, "");
    assert_eq!(sources(&db, &id).await, "u");
    dispatch(&db, &id).await;
    assert_eq!(db.query_one::<i64>("SELECT n FROM public.mv", &[]).await, 2);
    db.execute("INSERT INTO public.u VALUES (3)").await;
    assert_eq!(state(&db, &id, "pending_events").await, "1");
    dispatch(&db, &id).await;
    // The table that is read no more is let go, one table a transaction.
    upkeep(&db).await;
    let watched = "SELECT count(*) FROM pg_trigger WHERE tgrelid = 'public.t'::regclass";
    assert_eq!(db.query_one::<i64>(watched, &[]).await, 0);
    upkeep(&db).await;
    assert_eq!(
        state(&db, &id, "pending_events").await,
        "1",
        "of the trigger that went"
    );
}

#[tokio::test]
async fn a_view_that_is_made_anew_is_bound_and_watched() {
    let db = database().await;
    let id = counted(&db, "").await;
    db.execute(
        "CREATE TABLE public.u (id integer); DROP MATERIALIZED VIEW public.mv;
         CREATE MATERIALIZED VIEW public.mv AS SELECT count(*) AS n FROM public.u WITH NO DATA",
    )
    .await;
    for _ in 0..2 {
        upkeep(&db).await;
    }
    assert_eq!(sources(&db, &id).await, "u");
    dispatch(&db, &id).await;
    assert_eq!(reasons(&db, &id).await, "");
}

#[tokio::test]
async fn what_cannot_be_watched_is_shown_until_somebody_names_it() {
    let db = database().await;
    let id = counted(&db, "").await;
    db.execute("CREATE TABLE public.heir () INHERITS (public.t)")
        .await;
    assert_eq!(reasons(&db, &id).await, "sources_changed");
    upkeep(&db).await;
    assert_eq!(reasons(&db, &id).await, "sources_changed");
    db.execute("SELECT pgauto_mv.update('public.mv', p_sources => '{public.t, public.heir}')")
        .await;
    assert_eq!(reasons(&db, &id).await, "");
    // A view in between that comes to read what has no triggers is a warning, and the others are refreshed as before.
    db.execute(
        "CREATE FOREIGN DATA WRAPPER nowhere; CREATE SERVER nowhere FOREIGN DATA WRAPPER nowhere;
         CREATE FOREIGN TABLE public.far (id integer) SERVER nowhere;
         CREATE TABLE public.near (id integer); CREATE VIEW public.between AS SELECT id FROM public.near;
         CREATE MATERIALIZED VIEW public.other AS SELECT count(*) AS n FROM public.between",
    )
    .await;
    let other = register(&db, "public.other", "").await;
    db.execute("CREATE OR REPLACE VIEW public.between AS SELECT id FROM public.far")
        .await;
    let warnings = db.warnings("SELECT pgauto_mv._upkeep()").await;
    assert_eq!(
        warnings,
        [
            "the sources of materialised view public.other have changed, and not all of them can be watched"
        ]
    );
    assert_eq!(reasons(&db, &other).await, "sources_changed");
    assert!(
        db.warnings("SELECT pgauto_mv._upkeep()").await.is_empty(),
        "said once"
    );
}

#[tokio::test]
async fn the_owner_of_a_watched_table_makes_partitions_as_before() {
    let db = database().await;
    let owner = format!("{}_owner", db.name());
    db.execute(&format!(
        "CREATE ROLE {owner}; GRANT CREATE ON SCHEMA public TO {owner};
         CREATE TABLE public.p (k integer) PARTITION BY RANGE (k); ALTER TABLE public.p OWNER TO {owner};
         CREATE MATERIALIZED VIEW public.mp AS SELECT count(*) AS n FROM public.p"
    ))
    .await;
    let id = register(&db, "public.mp", "").await;
    let session = db.as_role(&owner).await;
    run(
        &session,
        "CREATE TABLE public.p1 PARTITION OF public.p FOR VALUES FROM (0) TO (10)",
    )
    .await;
    run(
        &session,
        "CREATE TABLE public.p2 (k integer); ALTER TABLE public.p ATTACH PARTITION public.p2 FOR VALUES FROM (10) TO (20)",
    )
    .await;
    for table in ["p1", "p2"] {
        db.execute("DELETE FROM pgauto_mv.mv_events").await;
        let key = if table == "p1" { 1 } else { 11 };
        run(
            &session,
            &format!("INSERT INTO public.{table} VALUES ({key})"),
        )
        .await;
        assert_eq!(state(&db, &id, "pending_events").await, "1", "{table}");
    }
    // What lets PostgreSQL clone the trigger lets nobody make one.
    run(&session, "CREATE TABLE public.mine (k integer)").await;
    let forged = format!(
        "CREATE TRIGGER x AFTER INSERT ON public.mine EXECUTE FUNCTION pgauto_mv._source_changed('{id}', '1', 'a.b')"
    );
    assert_eq!(refusal(&session, &forged).await.sqlstate, "42501");
    drop(session);
    db.execute(&format!("DROP OWNED BY {owner} CASCADE; DROP ROLE {owner}"))
        .await;
}

#[tokio::test]
async fn a_trigger_that_somebody_has_disabled_stays_so() {
    let db = database().await;
    let id = counted(&db, "").await;
    db.execute("ALTER TABLE public.t DISABLE TRIGGER USER")
        .await;
    upkeep(&db).await;
    assert_eq!(reasons(&db, &id).await, "trigger_missing");
    db.execute(&format!(
        "DROP TRIGGER pgauto_mv_{}_change ON public.t",
        id.replace('-', "")
    ))
    .await;
    db.execute("INSERT INTO public.t VALUES (1)").await;
    upkeep(&db).await;
    let enabled = "SELECT string_agg(tgenabled::text, ' ' ORDER BY tgname) FROM pg_trigger WHERE tgrelid = 'public.t'::regclass AND tgname LIKE 'pgauto_mv%'";
    assert_eq!(
        db.query_one::<String>(enabled, &[]).await,
        "O D",
        "the one that was gone is back"
    );
    assert_eq!(
        state(&db, &id, "pending_events").await,
        "1",
        "what it would have told"
    );
}

#[tokio::test]
async fn one_upkeep_a_minute_however_often_it_is_called() {
    let db = database().await;
    let id = counted(&db, "0, 0").await;
    let coming = "SELECT count(*) FROM pgrelay.queue WHERE status = 'pending' AND channel = 'pg_auto_mv.upkeep'";
    assert_eq!(db.query_one::<i64>(coming, &[]).await, 1);
    for _ in 0..3 {
        upkeep(&db).await;
        pass(&db, 20.0).await;
    }
    counted_too(&db, "").await;
    assert_eq!(db.query_one::<i64>(coming, &[]).await, 1);
    // It ends with the last view, and begins again with a refresh, a repair or a registration.
    db.execute("DELETE FROM pgrelay.queue; SELECT pgauto_mv.unregister('public.mu')")
        .await;
    assert_eq!(db.query_one::<i64>(coming, &[]).await, 0);
    db.execute(CHANGE).await;
    dispatch(&db, &id).await;
    assert_eq!(db.query_one::<i64>(coming, &[]).await, 1);
    db.execute("DELETE FROM pgrelay.queue; SELECT pgauto_mv.reconcile()")
        .await;
    assert_eq!(db.query_one::<i64>(coming, &[]).await, 1);
    claim_dispatches(&db).await;
    db.execute("DELETE FROM pgrelay.queue; SELECT pgauto_mv.unregister('public.mv'); SELECT pgauto_mv._upkeep()")
        .await;
    assert_eq!(db.query_one::<i64>(coming, &[]).await, 0);
    assert_eq!(db.query_one::<i64>(QUEUED, &[]).await, 0);
}

#[tokio::test]
async fn events_of_a_view_that_waits_are_thinned_out() {
    let db = database().await;
    let id = counted(&db, "p_refresh_lag => 3600, p_max_wait => 0").await;
    db.execute(&format!(
        "INSERT INTO pgauto_mv.mv_events (auto_mv_id, event_at) SELECT '{id}', clock_timestamp() - g * interval '1 s' FROM generate_series(1, 2000) AS g"
    ))
    .await;
    let times = "first_event_at || ' ' || latest_event_at";
    let before = state(&db, &id, times).await;
    upkeep(&db).await;
    assert_eq!(state(&db, &id, "pending_events").await, "2");
    assert_eq!(state(&db, &id, times).await, before);
    assert!(log(&db, &id).await.is_empty());
}
