//! Steps 7 to 9 of `_process_pending`: the mark, the name, the mode, the refresh and its bookkeeping.

use crate::auto_mv_steps::{
    CHANGE, begin_dispatch, claim_dispatches, counted, database, dispatch, dispatches, held, log,
    pass, register, slot_due, state,
};

#[tokio::test]
async fn step_7_the_start_is_noted_and_a_lock_shows_it_before_the_commit() {
    let db = database().await;
    counted(&db, "").await;
    let (id, gate) = held(&db, "").await;
    db.execute("SELECT pgauto_mv.refresh('public.held')").await;
    let running = begin_dispatch(&db, &id).await;
    gate.wait_for_arrivals(1).await;
    let seen = "refresh_in_progress AND last_refresh_started IS NULL";
    assert_eq!(state(&db, &id, seen).await, "true");
    gate.open().await;
    running.await.expect("the dispatch");
    let seen = "last_refresh_started <= data_as_of AND data_as_of <= last_refresh_completed AND NOT refresh_in_progress";
    assert_eq!(state(&db, &id, seen).await, "true");
}

#[tokio::test]
async fn step_8_a_renamed_and_moved_view_keeps_its_registration() {
    let db = database().await;
    let id = counted(&db, "").await;
    db.execute("CREATE SCHEMA s; ALTER MATERIALIZED VIEW public.mv RENAME TO \"New name\"; ALTER MATERIALIZED VIEW public.\"New name\" SET SCHEMA s").await;
    // Another view takes the old name; it is not the registered one.
    db.execute("CREATE MATERIALIZED VIEW public.mv AS SELECT 0 AS n")
        .await;
    db.execute(CHANGE).await;
    dispatch(&db, &id).await;
    assert_eq!(
        db.query_one::<i64>("SELECT n FROM s.\"New name\"", &[])
            .await,
        1
    );
    let name = "SELECT mv_schema || '.' || mv_name FROM pgauto_mv.materialised_views";
    assert_eq!(db.query_one::<String>(name, &[]).await, "s.New name");
}

#[tokio::test]
async fn step_8_a_view_that_was_created_anew_is_found_by_its_name() {
    let db = database().await;
    let id = counted(&db, "").await;
    db.execute("DROP MATERIALIZED VIEW public.mv; CREATE MATERIALIZED VIEW public.mv AS SELECT count(*) AS n FROM public.t").await;
    db.execute(CHANGE).await;
    dispatch(&db, &id).await;
    assert_eq!(db.query_one::<i64>("SELECT n FROM public.mv", &[]).await, 1);
    assert_eq!(
        state(&db, &id, "mv_oid = 'public.mv'::regclass").await,
        "true"
    );
}

#[tokio::test]
async fn step_8b_an_unpopulated_view_is_refreshed_plainly_whatever_asks() {
    let db = database().await;
    let id = counted(&db, "").await;
    db.execute("CREATE UNIQUE INDEX ON public.mv (n); SELECT pgauto_mv.update('public.mv', p_concurrent => true)").await;
    for ask in [CHANGE, "SELECT pgauto_mv.refresh('public.mv')", ""] {
        db.execute("REFRESH MATERIALIZED VIEW public.mv WITH NO DATA")
            .await;
        if ask.is_empty() {
            slot_due(&db, &id).await;
        } else {
            db.execute(ask).await;
        }
        dispatch(&db, &id).await;
    }
    db.execute(CHANGE).await;
    dispatch(&db, &id).await;
    assert_eq!(
        log(&db, &id).await,
        [
            "event ok plain",
            "direct ok plain",
            "schedule ok plain",
            "event ok concurrent"
        ]
    );
}

#[tokio::test]
async fn step_9_a_success_clears_what_it_covered_and_sends_what_follows() {
    let db = database().await;
    let id = counted(&db, "p_refresh_lag => 0, p_sync_after_refresh => true").await;
    db.execute("CREATE MATERIALIZED VIEW public.child AS SELECT n FROM public.mv")
        .await;
    let child = register(&db, "public.child", "").await;
    slot_due(&db, &id).await;
    db.execute("TRUNCATE public.t; SELECT pgauto_mv.refresh('public.mv')")
        .await;
    assert_eq!(state(&db, &id, "truncate_signals").await, "1");
    dispatch(&db, &id).await;
    assert_eq!(log(&db, &id).await, ["schedule ok plain"]);
    let after = "NOT is_pending AND direct_refresh_at IS NULL AND refresh_source = 'event' AND first_event_at IS NULL
                 AND latest_event_at IS NULL AND last_refresh_completed IS NOT NULL AND truncate_signals = 0
                 AND next_scheduled_at > clock_timestamp()";
    assert_eq!(state(&db, &id, after).await, "true");
    assert_eq!(
        state(&db, &child, "is_pending || refresh_source").await,
        "truechain"
    );
    let sync = "SELECT payload FROM pgrelay.queue WHERE channel = 'pg_auto_mv.sync_mv'";
    assert_eq!(db.query_one::<String>(sync, &[]).await, id);
    dispatch(&db, &child).await;
    assert_eq!(log(&db, &child).await, ["chain ok plain"]);
}

#[tokio::test]
async fn step_9_children_stay_where_they_are_if_the_call_says_so() {
    let db = database().await;
    let id = counted(&db, "").await;
    db.execute("CREATE MATERIALIZED VIEW public.child AS SELECT n FROM public.mv")
        .await;
    let child = register(&db, "public.child", "").await;
    db.execute(CHANGE).await;
    db.execute(&format!(
        "SELECT pgauto_mv._process_pending('{id}', p_execute_chained_mv => false)"
    ))
    .await;
    assert_eq!(log(&db, &id).await, ["event ok plain"]);
    assert_eq!(state(&db, &child, "is_pending").await, "false");
}

#[tokio::test]
async fn step_9_a_failure_is_logged_and_tried_again_as_an_event_after_a_minute() {
    let db = database().await;
    db.execute("CREATE TABLE public.t (id integer PRIMARY KEY, v integer NOT NULL DEFAULT 1); CREATE MATERIALIZED VIEW public.mv AS SELECT 1 / v AS n FROM public.t").await;
    let id = register(&db, "public.mv", "").await;
    db.execute("CREATE MATERIALIZED VIEW public.follows AS SELECT 1 AS n; CREATE MATERIALIZED VIEW public.stays AS SELECT 1 AS n").await;
    let (follows, stays) = (
        register(&db, "public.follows", "").await,
        register(&db, "public.stays", "").await,
    );
    db.execute(
        "SELECT pgauto_mv.chain('public.mv', 'public.follows', p_refresh_on_error => true), pgauto_mv.chain('public.mv', 'public.stays');
         SELECT pgauto_mv.refresh('public.mv')",
    )
    .await;
    db.execute("INSERT INTO public.t VALUES (1, 0)").await;
    slot_due(&db, &id).await;
    claim_dispatches(&db).await;
    dispatch(&db, &id).await;
    assert_eq!(log(&db, &id).await, ["schedule failed 22012"]);
    let message = "SELECT error_message FROM pgauto_mv.mv_refresh_log WHERE NOT success";
    assert_eq!(
        db.query_one::<String>(message, &[]).await,
        "division by zero"
    );
    let after = "is_pending AND direct_refresh_at IS NULL AND refresh_source = 'event' AND last_refresh_started IS NULL
                 AND refresh_due_at BETWEEN clock_timestamp() + interval '58 s' AND clock_timestamp() + interval '60 s'";
    assert_eq!(state(&db, &id, after).await, "true");
    assert_eq!(state(&db, &follows, "is_pending").await, "true");
    assert_eq!(state(&db, &stays, "is_pending").await, "false");
    let seen = dispatches(&db, &id).await;
    assert!((58.0..61.0).contains(&seen[0]), "{seen:?}");
    pass(&db, 60.0).await;
    db.execute("UPDATE public.t SET v = 1").await;
    dispatch(&db, &id).await;
    assert_eq!(
        log(&db, &id).await,
        ["schedule failed 22012", "event ok plain"]
    );
}

#[tokio::test]
async fn step_9_signals_that_were_read_go_after_a_failure_too_and_later_ones_stay() {
    let db = database().await;
    counted(&db, "").await;
    let (id, gate) = held(&db, "").await;
    db.execute("TRUNCATE public.t").await;
    let running = begin_dispatch(&db, &id).await;
    gate.wait_for_arrivals(1).await;
    // The refresh has read the table, which a TRUNCATE would wait for; the signal it would leave does not.
    db.execute(&format!(
        "SELECT pgauto_mv._signal_truncate('{id}', 'public', 't')"
    ))
    .await;
    db.execute(
        "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query LIKE 'SELECT pgauto_mv._process_pending%' AND pid <> pg_backend_pid() AND datname = current_database()",
    )
    .await;
    running.await.expect("the dispatch");
    assert_eq!(log(&db, &id).await, ["event failed 57014"]);
    assert_eq!(state(&db, &id, "truncate_signals").await, "1");
    assert_eq!(state(&db, &id, "is_pending").await, "true");
}
