//! Steps 0 to 9 of `_process_pending`, each by its number.

use fleet_tests::database::Database;
use fleet_tests::postgres::{PrivateOptions, Server};
use fleet_tests::wait;

use crate::auto_mv_steps::{
    begin_dispatch, claim_dispatches, counted, database, database_on, dispatch, dispatch_sql,
    dispatches, held, log, one_dispatch_in, pass, register, run, state,
};

const CHANGE: &str = "INSERT INTO public.t SELECT coalesce(max(id), 0) + 1 FROM public.t";

/// Gives a view a schedule whose slot is due now.
async fn slot_due(db: &Database, id: &str) {
    db.execute(&format!(
        "INSERT INTO pgauto_mv.schedules (name, every, timezone, anchor) VALUES ('hourly', '1 hour', 'UTC', clock_timestamp() - interval '1 min')
         ON CONFLICT DO NOTHING;
         UPDATE pgauto_mv.materialised_views SET schedule_id = (SELECT schedule_id FROM pgauto_mv.schedules) WHERE auto_mv_id = '{id}';
         SELECT pgauto_mv._queue_slot('{id}', clock_timestamp() - interval '1 s')"
    ))
    .await;
}

async fn rows(db: &Database) -> i64 {
    db.query_one("SELECT n FROM public.mv", &[]).await
}

#[tokio::test]
async fn step_0_a_standby_does_nothing() {
    let primary = Server::private(PrivateOptions::default()).await;
    let db = database_on(&primary).await;
    let id = counted(&db, "").await;
    db.execute(CHANGE).await;
    let mut standby = primary.standby().await;
    let session = standby.endpoint().connect(db.name()).await;
    run(&session, &dispatch_sql(&id)).await;
    run(&session, &format!("SELECT pgauto_mv._sync_mv('{id}')")).await;

    standby.promote().await;
    let session = standby.endpoint().connect(db.name()).await;
    run(&session, &dispatch_sql(&id)).await;
    let row = session.query_one("SELECT n FROM public.mv", &[]).await;
    assert_eq!(row.expect("the view").get::<_, i64>(0), 1);
}

#[tokio::test]
async fn step_1_a_view_that_is_taken_is_left_at_once_and_not_for_good() {
    let db = database().await;
    let id = counted(&db, "").await;
    db.execute(CHANGE).await;
    claim_dispatches(&db).await;
    let holder = db.connect().await;
    run(
        &holder,
        &format!("BEGIN; SELECT FROM pgauto_mv.mv_state WHERE auto_mv_id = '{id}' FOR UPDATE"),
    )
    .await;
    dispatch(&db, &id).await;
    assert!(log(&db, &id).await.is_empty());
    one_dispatch_in(&db, &id, 1.0).await;
    run(&holder, "ROLLBACK").await;
    dispatch(&db, &id).await;
    assert_eq!(log(&db, &id).await, ["event ok plain"]);
}

#[tokio::test]
async fn step_2_the_state_is_computed_from_rows_and_locks() {
    let db = database().await;
    counted(&db, "").await;
    let (id, gate) = held(&db, "p_refresh_lag => 0, p_cooldown => 60").await;
    let all = "concat_ws(' ', is_pending, refresh_in_progress, in_cooldown, ispopulated, mv_missing, inactive, refresh_source)";
    assert_eq!(state(&db, &id, all).await, "f f f f f f event");
    db.execute("SELECT pgauto_mv.refresh('public.held')").await;
    let running = begin_dispatch(&db, &id).await;
    gate.wait_for_arrivals(1).await;
    assert_eq!(state(&db, &id, all).await, "t t f f f f direct");
    gate.open().await;
    running.await.expect("the dispatch");
    assert_eq!(state(&db, &id, all).await, "f f t t f f event");
    db.execute("DROP MATERIALIZED VIEW public.held").await;
    assert_eq!(state(&db, &id, all).await, "f f t f t f event");
}

#[tokio::test]
async fn step_3_without_a_slot_or_an_event_nothing_happens() {
    let db = database().await;
    let id = counted(&db, "").await;
    dispatch(&db, &id).await;
    assert!(log(&db, &id).await.is_empty());
    assert!(dispatches(&db, &id).await.is_empty());
}

#[tokio::test]
async fn step_3_a_slot_names_the_source_when_events_are_due_too() {
    let db = database().await;
    let id = counted(&db, "").await;
    for (prepare, source) in [
        (CHANGE, "event"),
        ("SELECT pgauto_mv.refresh('public.mv')", "direct"),
    ] {
        db.execute(prepare).await;
        dispatch(&db, &id).await;
        assert_eq!(
            log(&db, &id).await.pop().unwrap(),
            format!("{source} ok plain")
        );
    }
    slot_due(&db, &id).await;
    db.execute(CHANGE).await;
    dispatch(&db, &id).await;
    assert_eq!(log(&db, &id).await.pop().unwrap(), "schedule ok plain");
    assert_eq!(
        state(&db, &id, "is_pending").await,
        "false",
        "one refresh served both"
    );
}

#[tokio::test]
async fn step_4_an_event_before_its_time_is_deferred_once() {
    let db = database().await;
    let id = counted(&db, "p_refresh_lag => 30, p_max_wait => 0").await;
    for _ in 0..3 {
        db.execute(CHANGE).await;
    }
    claim_dispatches(&db).await;
    for _ in 0..3 {
        dispatch(&db, &id).await;
    }
    assert!(log(&db, &id).await.is_empty());
    one_dispatch_in(&db, &id, 30.0).await;
    // A slot that is due does not wait for the lag of an event.
    slot_due(&db, &id).await;
    dispatch(&db, &id).await;
    assert_eq!(log(&db, &id).await, ["schedule ok plain"]);
}

#[tokio::test]
async fn step_5_an_inactive_view_is_skipped_and_its_slot_killed() {
    let db = database().await;
    let id = counted(&db, "").await;
    slot_due(&db, &id).await;
    db.execute("SELECT pgauto_mv.update('public.mv', p_is_active => false)")
        .await;
    dispatch(&db, &id).await;
    assert_eq!(log(&db, &id).await, ["schedule skipped: inactive"]);
    let stopped =
        "next_scheduled_at IS NULL AND scheduled_queue_id IS NULL AND schedule_id IS NOT NULL";
    assert_eq!(state(&db, &id, stopped).await, "true");
    let killed = "SELECT count(*) FROM pgrelay.queue WHERE expire_at = '-infinity'";
    assert_eq!(db.query_one::<i64>(killed, &[]).await, 1);
    // A busy source does not fill the log, and loses nothing.
    for _ in 0..3 {
        db.execute(CHANGE).await;
        dispatch(&db, &id).await;
    }
    assert_eq!(
        log(&db, &id).await,
        ["schedule skipped: inactive", "event skipped: inactive"]
    );
    db.execute("SELECT pgauto_mv.update('public.mv', p_is_active => true)")
        .await;
    assert_eq!(
        state(&db, &id, "next_scheduled_at > clock_timestamp()").await,
        "true"
    );
    dispatch(&db, &id).await;
    assert_eq!(rows(&db).await, 3);
}

#[tokio::test]
async fn step_5_the_slot_that_runs_itself_is_not_killed() {
    let db = database().await;
    let id = counted(&db, "").await;
    slot_due(&db, &id).await;
    db.execute("SELECT pgauto_mv.update('public.mv', p_is_active => false)")
        .await;
    let slot = state(&db, &id, "scheduled_queue_id").await;
    let session = db.connect().await;
    run(
        &session,
        &format!("SELECT set_config('pgrelay.event_id', '{slot}', false)"),
    )
    .await;
    run(&session, &dispatch_sql(&id)).await;
    let killed = "SELECT count(*) FROM pgrelay.queue WHERE expire_at = '-infinity'";
    assert_eq!(db.query_one::<i64>(killed, &[]).await, 0);
}

#[tokio::test]
async fn step_5_a_missing_view_is_skipped_and_its_schedule_goes_on() {
    let db = database().await;
    let id = counted(&db, "").await;
    slot_due(&db, &id).await;
    db.execute("DROP MATERIALIZED VIEW public.mv").await;
    dispatch(&db, &id).await;
    assert_eq!(log(&db, &id).await, ["schedule skipped: mv_missing"]);
    assert_eq!(
        state(&db, &id, "next_scheduled_at > clock_timestamp()").await,
        "true"
    );
    db.execute(CHANGE).await;
    dispatch(&db, &id).await;
    assert_eq!(
        log(&db, &id).await.pop().unwrap(),
        "event skipped: mv_missing"
    );
}

#[tokio::test]
async fn step_6_a_slot_in_the_cooldown_is_passed_over() {
    let db = database().await;
    let id = counted(&db, "p_refresh_lag => 0, p_cooldown => 60").await;
    db.execute(CHANGE).await;
    dispatch(&db, &id).await;
    db.execute(CHANGE).await;
    slot_due(&db, &id).await;
    claim_dispatches(&db).await;
    dispatch(&db, &id).await;
    assert_eq!(
        log(&db, &id).await,
        ["event ok plain", "schedule skipped: in_cooldown"]
    );
    assert_eq!(
        state(&db, &id, "next_scheduled_at > clock_timestamp()").await,
        "true"
    );
    // What is pending keeps its own dispatch, at the end of the cooldown.
    let seen = dispatches(&db, &id).await;
    assert!((55.0..61.0).contains(&seen[0]), "{seen:?}");
}

#[tokio::test]
async fn step_6_a_slot_during_a_refresh_by_hand_is_passed_over() {
    let db = database().await;
    let id = counted(&db, "").await;
    slot_due(&db, &id).await;
    let hand = db.connect().await;
    run(&hand, "BEGIN; REFRESH MATERIALIZED VIEW public.mv").await;
    dispatch(&db, &id).await;
    run(&hand, "COMMIT").await;
    assert_eq!(
        log(&db, &id).await,
        ["schedule skipped: refresh_in_progress"]
    );
}

#[tokio::test]
async fn step_6_a_slot_without_a_change_is_passed_over_where_the_view_wants_it() {
    let db = database().await;
    let id = counted(&db, "p_refresh_lag => 0, p_skip_unchanged => true").await;
    for expected in ["schedule ok plain", "schedule skipped: unchanged"] {
        slot_due(&db, &id).await;
        dispatch(&db, &id).await;
        assert_eq!(log(&db, &id).await.pop().unwrap(), expected);
    }
    db.execute(CHANGE).await;
    slot_due(&db, &id).await;
    dispatch(&db, &id).await;
    assert_eq!(log(&db, &id).await.pop().unwrap(), "schedule ok plain");
}

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
async fn step_5_a_missing_view_is_looked_for_while_something_is_pending() {
    let db = database().await;
    let id = counted(&db, "").await;
    db.execute("DROP MATERIALIZED VIEW public.mv").await;
    db.execute(CHANGE).await;
    claim_dispatches(&db).await;
    dispatch(&db, &id).await;
    one_dispatch_in(&db, &id, 60.0).await;
    // Made anew with contents from before the change, as by a session that began earlier.
    db.execute("CREATE MATERIALIZED VIEW public.mv AS SELECT count(*) AS n FROM public.t; DELETE FROM public.t; DELETE FROM pgauto_mv.mv_events WHERE event_id > (SELECT min(event_id) FROM pgauto_mv.mv_events)").await;
    pass(&db, 60.0).await;
    dispatch(&db, &id).await;
    assert_eq!(rows(&db).await, 0);
}

#[tokio::test]
async fn step_8_a_view_that_was_created_anew_is_found_by_its_name() {
    let db = database().await;
    let id = counted(&db, "").await;
    db.execute("DROP MATERIALIZED VIEW public.mv; CREATE MATERIALIZED VIEW public.mv AS SELECT count(*) AS n FROM public.t").await;
    db.execute(CHANGE).await;
    dispatch(&db, &id).await;
    assert_eq!(rows(&db).await, 1);
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

#[tokio::test]
async fn a_view_that_is_not_registered_is_none_of_its_business() {
    let db = database().await;
    counted(&db, "").await;
    db.execute(
        "SELECT pgauto_mv._process_pending(gen_random_uuid()), pgauto_mv._process_pending(NULL)",
    )
    .await;
    wait::until("nothing to be queued", wait::SOON, || async {
        db.query_one::<i64>("SELECT count(*) FROM pgrelay.queue", &[])
            .await
            == 0
    })
    .await;
}
