//! A failing view is tried again every minute, or less and less often, or no more, as its settings say.

use fleet_tests::database::Database;

use crate::auto_mv_steps::{
    CHANGE, claim_dispatches, counted, database, dispatch, dispatches, last_logged, log,
    one_dispatch_in, pass, register, state, upkeep,
};

/// A view whose refresh fails with the SQLSTATE in `t`, or succeeds while `t` is empty.
async fn failing(db: &Database, settings: &str) -> String {
    db.execute(
        "CREATE TABLE public.t (sqlstate text);
         CREATE FUNCTION public.fail(p text) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION USING ERRCODE = p; END $$;
         CREATE MATERIALIZED VIEW public.mv AS SELECT public.fail(sqlstate) AS n FROM public.t",
    )
    .await;
    let id = register(db, "public.mv", settings).await;
    db.execute("INSERT INTO public.t VALUES ('22000')").await;
    id
}

async fn again(db: &Database, id: &str) {
    pass(db, 100_000.0).await;
    claim_dispatches(db).await;
    dispatch(db, id).await;
}

#[tokio::test]
async fn every_minute_if_nothing_is_said() {
    let db = database().await;
    let id = failing(&db, "").await;
    for _ in 0..4 {
        again(&db, &id).await;
        one_dispatch_in(&db, &id, 60.0).await;
    }
    // New writes neither hasten nor delay it.
    db.execute("INSERT INTO public.t VALUES ('22000')").await;
    dispatch(&db, &id).await;
    assert_eq!(log(&db, &id).await.len(), 4);
    assert_eq!(
        state(
            &db,
            &id,
            "refresh_due_at = retry_at AND consecutive_failures = 4 AND last_error IS NOT NULL"
        )
        .await,
        "true"
    );
    // Somebody who asks does not wait, and a success ends it all.
    db.execute("TRUNCATE public.t; SELECT pgauto_mv.refresh('public.mv')")
        .await;
    dispatch(&db, &id).await;
    assert_eq!(last_logged(&db, &id).await, "direct ok plain");
    assert_eq!(state(&db, &id, "retry_at IS NULL AND consecutive_failures = 0 AND failing_since IS NULL AND last_error IS NULL").await, "true");
}

#[tokio::test]
async fn with_growing_delays_up_to_a_limit() {
    let db = database().await;
    let id = failing(&db, "0, 0, p_retry_growth => 3, p_retry_max => 600").await;
    for delay in [60.0, 180.0, 540.0, 600.0, 600.0] {
        again(&db, &id).await;
        one_dispatch_in(&db, &id, delay).await;
    }
}

#[tokio::test]
async fn no_more_after_so_many_until_somebody_says_so() {
    let db = database().await;
    let id = failing(&db, "0, 0, p_suspend_after => 3").await;
    for sqlstate in ["22000", "57014", "55P03", "40001", "40P01", "22000"] {
        db.execute(&format!("UPDATE public.t SET sqlstate = '{sqlstate}'"))
            .await;
        again(&db, &id).await;
        assert_eq!(state(&db, &id, "suspended").await, "false");
    }
    db.execute("UPDATE public.t SET sqlstate = '22000'").await;
    again(&db, &id).await;
    assert_eq!(
        state(&db, &id, "suspended AND consecutive_failures = 3").await,
        "true"
    );
    assert!(dispatches(&db, &id).await.is_empty());
    let health = "SELECT string_agg(reason, ' ' ORDER BY reason) FROM pgauto_mv.health WHERE since IS NOT NULL";
    assert_eq!(db.query_one::<String>(health, &[]).await, "suspended");
    db.execute("TRUNCATE public.t").await;
    again(&db, &id).await;
    assert_eq!(last_logged(&db, &id).await, "event skipped: suspended");
    db.execute("SELECT pgauto_mv.resume('public.mv')").await;
    one_dispatch_in(&db, &id, 0.0).await;
    dispatch(&db, &id).await;
    assert_eq!(last_logged(&db, &id).await, "event ok plain");
}

#[tokio::test]
async fn a_direct_refresh_that_succeeds_ends_a_suspension() {
    let db = database().await;
    let id = failing(&db, "0, 0, p_suspend_after => 1").await;
    dispatch(&db, &id).await;
    assert_eq!(state(&db, &id, "suspended").await, "true");
    db.execute("DELETE FROM public.t; SELECT pgauto_mv.refresh('public.mv')")
        .await;
    dispatch(&db, &id).await;
    assert_eq!(last_logged(&db, &id).await, "direct ok plain");
    assert_eq!(state(&db, &id, "suspended").await, "false");
}

#[tokio::test]
async fn the_log_is_kept_as_long_as_wanted() {
    let db = database().await;
    let id = failing(&db, "0, 0, p_keep_log => '1 day'").await;
    dispatch(&db, &id).await;
    pass(&db, 90_000.0).await;
    db.execute("SELECT pgauto_mv.update('public.mv', p_is_active => false)")
        .await;
    dispatch(&db, &id).await;
    assert_eq!(
        log(&db, &id).await,
        ["event failed 22000", "event skipped: inactive"]
    );
    upkeep(&db).await;
    assert_eq!(
        log(&db, &id).await,
        ["event skipped: inactive"],
        "the first is older than a day"
    );
    pass(&db, 90_000.0).await;
    upkeep(&db).await;
    assert!(
        log(&db, &id).await.is_empty(),
        "what was skipped is no exception"
    );
}

#[tokio::test]
async fn the_last_success_is_kept_however_short_the_log() {
    let db = database().await;
    let id = counted(&db, "0, 0, p_keep_log => '0', p_sync_after_refresh => true").await;
    for _ in 0..2 {
        db.execute(CHANGE).await;
        dispatch(&db, &id).await;
    }
    upkeep(&db).await;
    assert_eq!(log(&db, &id).await, ["event ok plain"]);
    db.execute(&format!("SELECT pgauto_mv._sync_mv('{id}')"))
        .await;
    let asked = "SELECT cause FROM pgauto_mv.mv_sync_requests";
    assert_eq!(db.query_one::<String>(asked, &[]).await, "event");
}
