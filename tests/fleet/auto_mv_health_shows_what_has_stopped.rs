//! `health` has a row for whatever has stopped, and `reconcile()` sets right what can be set right.

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;
use fleet_tests::wait;

use crate::auto_mv_steps::{
    claim_dispatches, counted, database, dispatch, pass, register, state, upkeep,
};

async fn reasons(db: &Database) -> String {
    db.query_one(
        "SELECT coalesce(string_agg(reason, ' ' ORDER BY reason), '') FROM pgauto_mv.health",
        &[],
    )
    .await
}

async fn reconciled(db: &Database) -> String {
    db.query_one(
        "SELECT coalesce(string_agg(result, ' '), '') FROM pgauto_mv.reconcile()",
        &[],
    )
    .await
}

#[tokio::test]
async fn each_reason_comes_and_goes() {
    let db = database().await;
    let id = counted(&db, "").await;
    assert_eq!(reasons(&db).await, "no_processor");
    let processor = Processor::with(&db, |config| {
        config.set("EXCLUDE_CHANNELS", serde_json::json!(["pg_auto_mv.*"]))
    })
    .await;
    assert_eq!(reasons(&db).await, "");

    db.execute("INSERT INTO public.t VALUES (1)").await;
    pass(&db, 90.0).await;
    assert_eq!(reasons(&db).await, "overdue");
    dispatch(&db, &id).await;
    assert_eq!(reasons(&db).await, "");

    db.execute("ALTER TABLE public.t DISABLE TRIGGER USER")
        .await;
    assert_eq!(reasons(&db).await, "trigger_missing");
    assert_eq!(reconciled(&db).await, "2 triggers repaired");
    dispatch(&db, &id).await;
    assert_eq!(reasons(&db).await, "");

    db.execute(&format!(
        "ALTER TRIGGER pgauto_mv_{}_change ON public.t RENAME TO renamed",
        id.replace('-', "")
    ))
    .await;
    assert_eq!(reasons(&db).await, "trigger_missing");
    assert_eq!(reconciled(&db).await, "2 triggers repaired");
    dispatch(&db, &id).await;
    assert_eq!(reasons(&db).await, "");

    db.execute("SELECT pgauto_mv.create_schedule('s', p_every => '1 hour'), pgauto_mv.assign_schedule('public.mv', 's')").await;
    db.execute("DELETE FROM pgrelay.queue").await;
    assert_eq!(reasons(&db).await, "no_upkeep");
    upkeep(&db).await;
    assert_eq!(reasons(&db).await, "");
    db.execute("DELETE FROM pgrelay.queue WHERE channel <> 'pg_auto_mv.upkeep'; UPDATE pgauto_mv.mv_state SET next_scheduled_at = clock_timestamp() - interval '2 min'").await;
    assert_eq!(reasons(&db).await, "schedule_overdue");
    assert_eq!(reconciled(&db).await, "schedule started");
    db.execute("SELECT pgauto_mv.update_schedule('s', p_enabled => false)")
        .await;
    assert_eq!(reasons(&db).await, "schedule_stopped");
    db.execute("SELECT pgauto_mv.unassign_schedule('public.mv')")
        .await;

    db.execute("REFRESH MATERIALIZED VIEW public.mv WITH NO DATA")
        .await;
    assert_eq!(reasons(&db).await, "unpopulated");
    db.execute("SELECT pgrelay.pause_for('1 hour')").await;
    assert_eq!(reasons(&db).await, "paused unpopulated");
    db.execute("SELECT pgrelay.resume(); DROP MATERIALIZED VIEW public.mv")
        .await;
    assert_eq!(reasons(&db).await, "missing");
    db.execute("SELECT pgauto_mv.unregister_missing(auto_mv_id) FROM pgauto_mv.health WHERE reason = 'missing'").await;
    assert_eq!(reasons(&db).await, "");
    let left = "SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'pgauto_mv%'";
    assert_eq!(db.query_one::<i64>(left, &[]).await, 0);
    drop(processor);
}

#[tokio::test]
async fn reconcile_follows_definitions_and_names() {
    let db = database().await;
    let id = counted(&db, "").await;
    db.execute("CREATE TABLE public.given (id integer); CREATE MATERIALIZED VIEW public.mg AS SELECT count(*) AS n FROM public.given").await;
    let given = register(&db, "public.mg", "0, 0, p_sources => '{public.given}'").await;
    assert_eq!(reconciled(&db).await, "", "nothing is to be done");
    db.execute(
        "CREATE TABLE public.u (id integer);
         DROP MATERIALIZED VIEW public.mv;
         CREATE MATERIALIZED VIEW public.mv AS SELECT count(*) AS n FROM public.u;
         ALTER TABLE public.given RENAME TO given_anew",
    )
    .await;
    assert_eq!(reconciled(&db).await, "4 triggers repaired");
    claim_dispatches(&db).await;
    for (table, id) in [("u", &id), ("given_anew", &given)] {
        db.execute(&format!(
            "DELETE FROM pgauto_mv.mv_events; INSERT INTO public.{table} VALUES (1)"
        ))
        .await;
        assert_eq!(state(&db, id, "is_pending").await, "true", "{table}");
    }
    assert_eq!(reconciled(&db).await, "");
}

#[tokio::test]
async fn what_cannot_be_repaired_holds_up_nothing_else() {
    let db = database().await;
    let id = counted(&db, "").await;
    db.execute(
        "CREATE TABLE public.base (id integer); CREATE MATERIALIZED VIEW public.mb AS SELECT count(*) AS n FROM public.base",
    )
    .await;
    register(&db, "public.mb", "").await;
    db.execute("CREATE TABLE public.heir () INHERITS (public.base); DELETE FROM pgrelay.channels")
        .await;
    db.execute("INSERT INTO public.t VALUES (1)").await;
    let said = reconciled(&db).await;
    assert!(said.contains("failed: PM005"), "{said}");
    let _processor = Processor::start(&db).await;
    db.until_equals("SELECT n FROM public.mv", 1_i64, wait::SOON)
        .await;
    assert_eq!(state(&db, &id, "is_pending").await, "false");
}
