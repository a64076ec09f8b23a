//! CONCURRENTLY needs an index that can serve it and an owner who may make temporary tables; what else is done is the view's choice.

use fleet_tests::database::Database;

use crate::auto_mv_steps::{
    CHANGE, counted, database, dispatch, last_logged, log, one_dispatch_in, register, state,
};
use crate::steps::refusal;

/// Index definitions on `mv (n, s)`, and whether CONCURRENTLY takes them.
const SHAPES: &[(&str, bool)] = &[
    ("CREATE INDEX i ON public.mv (n)", false),
    ("CREATE UNIQUE INDEX i ON public.mv (n) WHERE n > 0", false),
    ("CREATE UNIQUE INDEX i ON public.mv ((n + 1))", false),
    ("CREATE UNIQUE INDEX i ON public.mv (n, (s + 1))", false),
    ("CREATE UNIQUE INDEX i ON public.mv (n)", true),
    ("CREATE UNIQUE INDEX i ON public.mv (n) INCLUDE (s)", true),
    (
        "CREATE UNIQUE INDEX i ON public.mv (n) NULLS NOT DISTINCT",
        true,
    ),
];

#[tokio::test]
async fn the_registration_judges_an_index_as_refresh_does() {
    let db = database().await;
    counted(&db, "").await;
    let session = db.connect().await;
    for (shape, usable) in SHAPES {
        db.execute(shape).await;
        let refresh = session
            .batch_execute("REFRESH MATERIALIZED VIEW CONCURRENTLY public.mv")
            .await;
        assert_eq!(refresh.is_ok(), *usable, "the server on {shape}");
        let update = session
            .batch_execute("SELECT pgauto_mv.update('public.mv', p_concurrent => true)")
            .await;
        assert_eq!(update.is_ok(), *usable, "we on {shape}");
        db.execute(
            "SELECT pgauto_mv.update('public.mv', p_concurrent => false); DROP INDEX public.i",
        )
        .await;
    }
    let refused = refusal(
        &session,
        "SELECT pgauto_mv.update('public.mv', p_concurrent => true)",
    )
    .await;
    assert_eq!(refused.sqlstate, "PM005");
    assert!(refused.detail.unwrap().contains("unique index"));
}

/// Registers `mv` with a usable index and this policy, and drops the index.
async fn without_index(db: &Database, policy: &str) -> String {
    db.execute(
        "CREATE TABLE public.t (id integer);
         CREATE MATERIALIZED VIEW public.mv AS SELECT count(*) AS n FROM public.t;
         CREATE UNIQUE INDEX i ON public.mv (n)",
    )
    .await;
    let id = register(
        db,
        "public.mv",
        &format!("0, 0, p_concurrent => true, p_index_policy => '{policy}'"),
    )
    .await;
    db.execute("DROP INDEX public.i").await;
    db.execute(CHANGE).await;
    db.execute("DELETE FROM pgrelay.queue").await;
    dispatch(db, &id).await;
    id
}

#[tokio::test]
async fn error_fails_and_tries_again() {
    let db = database().await;
    let id = without_index(&db, "error").await;
    assert_eq!(log(&db, &id).await, ["event failed 55000"]);
    db.execute("CREATE UNIQUE INDEX i ON public.mv (n); SELECT pgauto_mv.refresh('public.mv')")
        .await;
    dispatch(&db, &id).await;
    assert_eq!(last_logged(&db, &id).await, "direct ok concurrent");
}

#[tokio::test]
async fn plain_refreshes_plainly_and_says_why() {
    let db = database().await;
    let id = without_index(&db, "plain").await;
    assert_eq!(log(&db, &id).await, ["event ok plain"]);
    let note = "SELECT note FROM pgauto_mv.mv_refresh_log";
    assert!(
        db.query_one::<String>(note, &[])
            .await
            .contains("unique index")
    );
}

#[tokio::test]
async fn skip_leaves_it_pending_and_looks_again_in_a_minute() {
    let db = database().await;
    let id = without_index(&db, "skip").await;
    assert_eq!(log(&db, &id).await, ["event skipped: no_unique_index"]);
    assert_eq!(state(&db, &id, "is_pending").await, "true");
    one_dispatch_in(&db, &id, 60.0).await;
    db.execute("CREATE UNIQUE INDEX i ON public.mv (n)").await;
    dispatch(&db, &id).await;
    assert_eq!(last_logged(&db, &id).await, "event ok concurrent");
}

#[tokio::test]
async fn an_owner_without_temporary_tables_is_noticed() {
    let db = database().await;
    let id = counted(&db, "").await;
    let (name, owner) = (db.name(), format!("{}_owner", db.name()));
    db.execute(&format!(
        "CREATE UNIQUE INDEX ON public.mv (n); CREATE ROLE {owner}; GRANT ALL ON SCHEMA public TO {owner};
         GRANT SELECT ON public.t TO {owner}; ALTER MATERIALIZED VIEW public.mv OWNER TO {owner}; REVOKE TEMP ON DATABASE {name} FROM PUBLIC"
    ))
    .await;
    let refused = refusal(
        &db.connect().await,
        "SELECT pgauto_mv.update('public.mv', p_concurrent => true)",
    )
    .await;
    assert!(refused.detail.unwrap().contains("temporary tables"));
    db.execute(&format!("GRANT TEMP ON DATABASE {name} TO {owner}; SELECT pgauto_mv.update('public.mv', p_concurrent => true); {CHANGE}")).await;
    dispatch(&db, &id).await;
    assert_eq!(log(&db, &id).await, ["event ok concurrent"]);
    db.execute(&format!("DROP OWNED BY {owner} CASCADE; DROP ROLE {owner}"))
        .await;
}

#[tokio::test]
async fn the_query_runs_as_the_owner_and_cannot_reach_our_tables() {
    let db = database().await;
    let owner = format!("{}_owner", db.name());
    db.execute(&format!(
        "CREATE ROLE {owner}; GRANT ALL ON SCHEMA public TO {owner};
         CREATE TABLE public.t (id integer); GRANT SELECT ON public.t TO {owner};
         CREATE FUNCTION public.reach() RETURNS text LANGUAGE plpgsql AS $$
         BEGIN
             DELETE FROM pgauto_mv.materialised_views;
             RETURN 'reached';
         EXCEPTION WHEN OTHERS THEN
             RETURN current_user || ' ' || SQLSTATE || ' ' || current_setting('search_path');
         END $$;
         CREATE MATERIALIZED VIEW public.mv AS SELECT public.reach() AS said, count(*) AS n FROM public.t WITH NO DATA;
         CREATE UNIQUE INDEX ON public.mv (n);
         ALTER MATERIALIZED VIEW public.mv OWNER TO {owner}"
    ))
    .await;
    let id = register(&db, "public.mv", "0, 0, p_concurrent => true").await;
    for used in ["event ok plain", "event ok concurrent"] {
        db.execute(CHANGE).await;
        dispatch(&db, &id).await;
        assert_eq!(last_logged(&db, &id).await, used);
        let said: String = db.query_one("SELECT said FROM public.mv", &[]).await;
        assert_eq!(said, format!("{owner} 42501 pg_catalog, pg_temp"));
    }
    db.execute(&format!("DROP OWNED BY {owner} CASCADE; DROP ROLE {owner}"))
        .await;
}
