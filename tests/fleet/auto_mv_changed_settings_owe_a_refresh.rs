//! Whatever makes other changes count from now on makes the view pending: what came before and did not count is not known.

use fleet_tests::database::Database;

use crate::auto_mv_steps::{claim_dispatches, database, dispatch, dispatches, register, state};

/// `t` and `u`, which a function reads, so that nobody knows of `u`; a view over both, registered with `t`.
async fn half_watched(db: &Database) -> String {
    db.execute(
        "CREATE TABLE public.t (id integer); CREATE TABLE public.u (id integer);
         CREATE FUNCTION public.in_u() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM public.u';
         CREATE MATERIALIZED VIEW public.mv AS SELECT count(*) + public.in_u() AS n FROM public.t",
    )
    .await;
    register(db, "public.mv", "0, 0").await
}

#[tokio::test]
async fn where_other_changes_count_and_nowhere_else() {
    let db = database().await;
    let id = half_watched(&db).await;
    let updates = [
        ("p_sources => '{public.t, public.u}'", "1"),
        ("p_sources => '{public.u, public.t}'", "0"),
        ("p_sources => '{public.u}'", "1"),
        ("p_derive_sources => true", "1"),
        ("p_derive_sources => true", "0"),
        ("p_fire_on_replica => true", "1"),
        ("p_fire_on_replica => true", "0"),
        ("p_fire_on_replica => false", "1"),
        ("p_events => '{insert, delete}'", "1"),
        ("p_events => '{delete, insert}'", "0"),
        ("p_events => '{insert, delete, truncate}'", "1"),
        (
            "p_cooldown => 0, p_refresh_lag => 0, p_keep_log => '1 day'",
            "0",
        ),
        ("p_is_active => true", "0"),
    ];
    for (settings, pending) in updates {
        db.execute("DELETE FROM pgauto_mv.mv_events").await;
        claim_dispatches(&db).await;
        db.execute(&format!("SELECT pgauto_mv.update('public.mv', {settings})"))
            .await;
        assert_eq!(
            state(&db, &id, "pending_events").await,
            pending,
            "{settings}"
        );
        let coming = dispatches(&db, &id).await;
        assert!(
            coming.len() == 1 && coming[0] < 1.0,
            "{settings}: {coming:?}"
        );
    }
}

#[tokio::test]
async fn which_shows_what_came_before() {
    let db = database().await;
    let id = half_watched(&db).await;
    db.execute("INSERT INTO public.u VALUES (1), (2)").await;
    assert_eq!(state(&db, &id, "is_pending").await, "false");
    db.execute("SELECT pgauto_mv.update('public.mv', p_sources => '{public.t, public.u}')")
        .await;
    dispatch(&db, &id).await;
    assert_eq!(db.query_one::<i64>("SELECT n FROM public.mv", &[]).await, 2);
}
