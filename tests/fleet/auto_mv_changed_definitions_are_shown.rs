//! A changed definition is followed as far as it is for the package to do so: sources that somebody has named stay, and links of the chain are made by
//! people once the view is registered. Health says what is left to do, for as long as it is.

use fleet_tests::database::Database;

use crate::auto_mv_steps::{counted, database, dispatch, last_logged, register, state, upkeep};

async fn reasons(db: &Database, id: &str) -> String {
    let sql = format!(
        "SELECT coalesce(string_agg(reason, ' ' ORDER BY reason), '') FROM pgauto_mv.health
         WHERE auto_mv_id = '{id}' AND reason <> 'no_processor'"
    );
    db.query_one(&sql, &[]).await
}

#[tokio::test]
async fn sources_that_were_named_stay_and_the_view_is_refreshed() {
    let db = database().await;
    db.execute(
        "CREATE TABLE public.t (id integer); CREATE TABLE public.u (id integer); INSERT INTO public.u VALUES (1), (2);
         CREATE VIEW public.between AS SELECT id FROM public.t;
         CREATE MATERIALIZED VIEW public.mv AS SELECT count(*) AS n FROM public.between",
    )
    .await;
    let id = register(&db, "public.mv", "0, 0, p_sources => '{public.t}'").await;
    db.execute("CREATE OR REPLACE VIEW public.between AS SELECT id FROM public.u")
        .await;
    assert_eq!(reasons(&db, &id).await, "", "it is watched as was wanted");
    upkeep(&db).await;
    dispatch(&db, &id).await;
    assert_eq!(db.query_one::<i64>("SELECT n FROM public.mv", &[]).await, 2);
    let named = "SELECT string_agg(source_name, ' ') FROM pgauto_mv.mv_sources";
    assert_eq!(db.query_one::<String>(named, &[]).await, "t");
    db.execute("INSERT INTO public.u VALUES (3)").await;
    assert_eq!(state(&db, &id, "pending_events").await, "0");
    db.execute("INSERT INTO public.t VALUES (3)").await;
    assert_eq!(state(&db, &id, "pending_events").await, "1");

    // Changes of an heir fire no trigger of a named table either.
    db.execute("CREATE TABLE public.heir () INHERITS (public.t)")
        .await;
    upkeep(&db).await;
    assert_eq!(reasons(&db, &id).await, "sources_changed");
    db.execute("SELECT pgauto_mv.update('public.mv', p_sources => '{public.t, public.heir}')")
        .await;
    assert_eq!(reasons(&db, &id).await, "");
}

#[tokio::test]
async fn partitions_of_a_named_table_are_watched() {
    let db = database().await;
    db.execute(
        "CREATE TABLE public.p (k integer) PARTITION BY RANGE (k);
         CREATE FUNCTION public.in_p() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM public.p';
         CREATE MATERIALIZED VIEW public.mv AS SELECT public.in_p() AS n",
    )
    .await;
    let id = register(&db, "public.mv", "0, 0, p_sources => '{public.p}'").await;
    db.execute("CREATE TABLE public.p1 PARTITION OF public.p FOR VALUES FROM (0) TO (10)")
        .await;
    assert_eq!(reasons(&db, &id).await, "trigger_missing");
    upkeep(&db).await;
    assert_eq!(reasons(&db, &id).await, "");
    db.execute("DELETE FROM pgauto_mv.mv_events; TRUNCATE public.p1")
        .await;
    assert_eq!(state(&db, &id, "pending_events").await, "1");
}

#[tokio::test]
async fn a_parent_is_shown_until_it_is_followed_or_there_is_a_schedule() {
    let db = database().await;
    let parent = counted(&db, "").await;
    db.execute(
        "CREATE TABLE public.u (id integer);
         CREATE VIEW public.between AS SELECT count(*) AS n FROM public.u;
         CREATE MATERIALIZED VIEW public.child AS SELECT n FROM public.between",
    )
    .await;
    let child = register(&db, "public.child", "0, 0").await;
    assert_eq!(reasons(&db, &child).await, "");
    db.execute("CREATE OR REPLACE VIEW public.between AS SELECT n FROM public.mv")
        .await;
    upkeep(&db).await;
    dispatch(&db, &child).await;
    assert_eq!(reasons(&db, &child).await, "parent_unchained");
    db.execute("SELECT pgauto_mv.chain('public.mv', 'public.child')")
        .await;
    assert_eq!(reasons(&db, &child).await, "");
    db.execute("INSERT INTO public.t VALUES (1)").await;
    dispatch(&db, &parent).await;
    dispatch(&db, &child).await;
    assert_eq!(last_logged(&db, &child).await, "chain ok plain");

    db.execute("SELECT pgauto_mv.unchain('public.mv', 'public.child')")
        .await;
    assert_eq!(reasons(&db, &child).await, "parent_unchained");
    db.execute("SELECT pgauto_mv.create_schedule('s', p_every => '1 hour'), pgauto_mv.assign_schedule('public.child', 's')")
        .await;
    assert_eq!(reasons(&db, &child).await, "");
}
