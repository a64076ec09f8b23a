//! Every way in which the contents of a source can change makes its views pending, or the source is refused with the reason.

use fleet_tests::database::Database;

use crate::auto_mv_steps::{
    claim_dispatches, counted, counted_too, database, dispatch, register, state, upkeep,
};
use crate::steps::refusal;

/// Each statement alone must leave the view pending.
async fn each_is_noticed(db: &Database, id: &str, statements: &[&str]) {
    for statement in statements {
        db.execute("DELETE FROM pgauto_mv.mv_events").await;
        db.execute(statement).await;
        assert_eq!(
            state(db, id, "pending_events").await,
            "1",
            "events after {statement}"
        );
    }
}

#[tokio::test]
async fn changes_of_a_plain_table() {
    let db = database().await;
    let id = counted(&db, "").await;
    db.execute("CREATE TABLE public.child (id integer REFERENCES public.t); CREATE VIEW public.simple AS SELECT * FROM public.t")
        .await;
    each_is_noticed(
        &db,
        &id,
        &[
            "INSERT INTO public.t VALUES (1), (2)",
            "INSERT INTO public.t VALUES (1) ON CONFLICT (id) DO UPDATE SET v = 3",
            "UPDATE public.t SET v = 2",
            "UPDATE public.simple SET v = 4",
            "DELETE FROM public.t WHERE id = 2",
            "MERGE INTO public.t USING (VALUES (1), (9)) AS s (id) ON s.id = t.id WHEN MATCHED THEN UPDATE SET v = 5 WHEN NOT MATCHED THEN INSERT VALUES (s.id)",
            "TRUNCATE public.t CASCADE",
            "TRUNCATE public.t, public.child RESTART IDENTITY",
        ],
    )
    .await;
}

#[tokio::test]
async fn a_truncate_that_cascades_to_a_source() {
    let db = database().await;
    let id = counted(&db, "").await;
    db.execute(
        "CREATE TABLE public.parent (id integer PRIMARY KEY);
         ALTER TABLE public.t ADD parent_id integer REFERENCES public.parent",
    )
    .await;
    each_is_noticed(&db, &id, &["TRUNCATE public.parent CASCADE"]).await;
    let signal = "SELECT source_schema || '.' || source_name FROM pgauto_mv.mv_truncate_signals";
    assert_eq!(db.query_one::<String>(signal, &[]).await, "public.t");
}

const PARTITIONED: &str = "
    CREATE TABLE public.p (k integer, v integer) PARTITION BY RANGE (k);
    CREATE TABLE public.p1 PARTITION OF public.p FOR VALUES FROM (0) TO (10);
    CREATE TABLE public.p2 PARTITION OF public.p FOR VALUES FROM (10) TO (100) PARTITION BY RANGE (k);
    CREATE TABLE public.p21 PARTITION OF public.p2 FOR VALUES FROM (10) TO (20);
    CREATE TABLE public.loose (k integer, v integer);
    INSERT INTO public.loose VALUES (25, 1);
    CREATE MATERIALIZED VIEW public.mp AS SELECT count(*) AS n FROM public.p";

#[tokio::test]
async fn changes_of_a_partitioned_table_and_of_its_partitions() {
    let db = database().await;
    db.execute(PARTITIONED).await;
    let id = register(&db, "public.mp", "").await;
    let changes = [
        "INSERT INTO public.p VALUES (1, 1), (11, 1)",
        "INSERT INTO public.p1 VALUES (2, 1)",
        "INSERT INTO public.p21 VALUES (12, 1)",
        "UPDATE public.p SET k = 15 WHERE k = 1",
        "DELETE FROM public.p21 WHERE k = 15",
        "TRUNCATE public.p",
        "TRUNCATE public.p1",
        "TRUNCATE public.p21",
    ];
    each_is_noticed(&db, &id, &changes).await;
}

#[tokio::test]
async fn partitions_that_come_and_go_are_noticed_within_a_minute() {
    let db = database().await;
    db.execute(PARTITIONED).await;
    let id = register(&db, "public.mp", "").await;
    let changes = [
        "ALTER TABLE public.p2 ATTACH PARTITION public.loose FOR VALUES FROM (20) TO (30)",
        "ALTER TABLE public.p2 DETACH PARTITION public.loose",
        "CREATE TABLE public.p22 PARTITION OF public.p2 FOR VALUES FROM (20) TO (30)",
        "DROP TABLE public.p1",
    ];
    for change in changes {
        db.execute(change).await;
        claim_dispatches(&db).await;
        for _ in 0..2 {
            upkeep(&db).await;
        }
        dispatch(&db, &id).await;
        let fresh = "SELECT (SELECT n FROM public.mp) = (SELECT count(*) FROM public.p)";
        assert!(db.query_one::<bool>(fresh, &[]).await, "after {change}");
    }
    // The new one is watched as the others are, and the detached one is left alone.
    each_is_noticed(&db, &id, &["TRUNCATE public.p22"]).await;
    let left = "SELECT count(*) FROM pg_trigger WHERE tgrelid = 'public.loose'::regclass";
    assert_eq!(db.query_one::<i64>(left, &[]).await, 0);
}

#[tokio::test]
async fn a_view_of_one_partition_sees_writes_through_the_parent() {
    let db = database().await;
    db.execute(PARTITIONED).await;
    db.execute("CREATE MATERIALIZED VIEW public.m1 AS SELECT count(*) AS n FROM public.p1")
        .await;
    let id = register(&db, "public.m1", "").await;
    each_is_noticed(
        &db,
        &id,
        &["INSERT INTO public.p VALUES (1, 1)", "TRUNCATE public.p"],
    )
    .await;
}

#[tokio::test]
async fn sources_are_found_through_views_and_not_through_materialised_ones() {
    let db = database().await;
    let parent = counted(&db, "").await;
    db.execute(
        "CREATE TABLE public.u (id integer);
         CREATE VIEW public.inner AS SELECT id FROM public.u;
         CREATE VIEW public.outer AS SELECT i.id FROM public.inner AS i WHERE EXISTS (SELECT FROM public.mv);
         CREATE MATERIALIZED VIEW public.mo AS SELECT count(*) AS n FROM public.outer",
    )
    .await;
    let id = register(&db, "public.mo", "").await;
    let sources = format!(
        "SELECT string_agg(source_name, ' ') FROM pgauto_mv.mv_sources WHERE auto_mv_id = '{id}'"
    );
    assert_eq!(db.query_one::<String>(&sources, &[]).await, "u");
    let chain = "SELECT parent_id::text || ' ' || child_id::text FROM pgauto_mv.mv_chain";
    assert_eq!(
        db.query_one::<String>(chain, &[]).await,
        format!("{parent} {id}")
    );
}

#[tokio::test]
async fn only_the_wanted_events_count() {
    let db = database().await;
    let id = counted(&db, "p_refresh_lag => 0, p_events => '{insert,truncate}'").await;
    each_is_noticed(
        &db,
        &id,
        &["INSERT INTO public.t VALUES (1)", "TRUNCATE public.t"],
    )
    .await;
    db.execute("DELETE FROM pgauto_mv.mv_events; INSERT INTO public.t VALUES (1); DELETE FROM pgauto_mv.mv_events").await;
    db.execute("UPDATE public.t SET v = 2; DELETE FROM public.t")
        .await;
    assert_eq!(state(&db, &id, "pending_events").await, "0");
    db.execute("SELECT pgauto_mv.update('public.mv', p_events => '{update}')")
        .await;
    assert_eq!(
        state(&db, &id, "pending_events").await,
        "1",
        "nobody knows what has been updated before"
    );
    db.execute("DELETE FROM pgauto_mv.mv_events").await;
    db.execute("INSERT INTO public.t VALUES (1)").await;
    assert_eq!(state(&db, &id, "pending_events").await, "0");
    each_is_noticed(&db, &id, &["UPDATE public.t SET v = 3"]).await;
}

#[tokio::test]
async fn what_cannot_be_watched_is_refused_with_the_reason() {
    let db = database().await;
    db.execute(
        "CREATE TABLE public.base (id integer);
         CREATE TABLE public.heir () INHERITS (public.base);
         CREATE FOREIGN DATA WRAPPER nowhere; CREATE SERVER nowhere FOREIGN DATA WRAPPER nowhere;
         CREATE FOREIGN TABLE public.far (id integer) SERVER nowhere;
         CREATE TABLE public.near (id integer);
         CREATE MATERIALIZED VIEW public.m_base AS SELECT count(*) FROM public.base;
         CREATE MATERIALIZED VIEW public.m_far AS SELECT id FROM public.far WITH NO DATA;
         CREATE MATERIALIZED VIEW public.m_catalog AS SELECT count(*) FROM pg_class",
    )
    .await;
    let session = db.connect().await;
    for (call, reason) in [
        ("'public.m_base'", "tables inherit from it"),
        ("'public.m_far'", "it is a foreign table"),
        (
            "'public.m_catalog', p_sources => '{pg_class}'",
            "it is a system catalog",
        ),
    ] {
        let refused = refusal(&session, &format!("SELECT pgauto_mv.register({call})")).await;
        assert_eq!(refused.sqlstate, "PM005", "{refused:?}");
        assert!(
            refused.detail.as_ref().unwrap().contains(reason),
            "{refused:?}"
        );
        assert!(refused.hint.is_some());
    }
    // What the hint says works.
    let id = register(
        &db,
        "public.m_base",
        "0, 0, p_sources => '{public.base,public.heir}'",
    )
    .await;
    each_is_noticed(
        &db,
        &id,
        &[
            "INSERT INTO public.heir VALUES (1)",
            "UPDATE public.base SET id = 2",
            "TRUNCATE public.base",
        ],
    )
    .await;
    register(&db, "public.m_far", "p_sources => '{public.near}'").await;
    register(&db, "public.m_catalog", "").await;
}

#[tokio::test]
async fn one_table_serves_several_views_and_each_has_its_own_events() {
    let db = database().await;
    let id = counted(&db, "").await;
    counted_too(&db, "").await;
    db.execute("CREATE MATERIALIZED VIEW public.both AS SELECT (SELECT count(*) FROM public.t) + (SELECT count(*) FROM public.u) AS n").await;
    let both = register(&db, "public.both", "").await;
    db.execute("BEGIN; INSERT INTO public.t VALUES (1); INSERT INTO public.u VALUES (1); COMMIT")
        .await;
    assert_eq!(state(&db, &id, "pending_events").await, "1");
    assert_eq!(state(&db, &both, "pending_events").await, "1");
    db.execute("SELECT pgauto_mv.unregister('public.both')")
        .await;
    let triggers = "SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'pgauto_mv%'";
    assert_eq!(db.query_one::<i64>(triggers, &[]).await, 4);
}
