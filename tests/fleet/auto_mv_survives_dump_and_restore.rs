//! A restored database keeps its views fresh as the dumped one did: nothing is missing, nothing dangles, and schedules go on without a burst.

use fleet_tests::database::Database;
use fleet_tests::postgres::{Bindir, PrivateOptions, Server};
use fleet_tests::processor::{Processor, command};
use fleet_tests::{skip, wait};

use crate::auto_mv_steps::{database_on, register, state, until_fresh, upkeep};
use crate::extension_files::{Pair, copy};

/// Two chained views, a schedule, something pending, a view whose OID dangles, and one that is gone.
async fn fill(db: &Database) {
    db.execute(
        "CREATE TABLE public.t (id integer PRIMARY KEY, v integer NOT NULL DEFAULT 1);
         CREATE TABLE public.p (id integer) PARTITION BY RANGE (id);
         CREATE TABLE public.p1 PARTITION OF public.p FOR VALUES FROM (0) TO (100);
         CREATE MATERIALIZED VIEW public.gone AS SELECT 1 AS n;
         CREATE MATERIALIZED VIEW public.mv AS SELECT count(*) AS n FROM public.t;
         CREATE MATERIALIZED VIEW public.child AS SELECT n FROM public.mv;
         CREATE MATERIALIZED VIEW public.mp AS SELECT count(*) AS n FROM public.p",
    )
    .await;
    for view in ["public.mv", "public.child", "public.gone"] {
        register(db, view, "0, 0").await;
    }
    register(db, "public.mp", "0, 0, p_fire_on_replica => true").await;
    db.execute(
        "SELECT pgauto_mv.create_schedule('s', p_every => '1 hour'), pgauto_mv.assign_schedule('public.child', 's');
         DROP MATERIALIZED VIEW public.gone;
         ALTER MATERIALIZED VIEW public.mp RENAME TO mq;
         INSERT INTO public.t VALUES (1), (2); INSERT INTO public.p VALUES (1)",
    )
    .await;
    db.execute("SELECT pgauto_mv._process_pending(auto_mv_id) FROM pgauto_mv.mv_state_v WHERE mv_name = 'mq'").await;
    // Slots that nobody served: five of them in the dump.
    db.execute("UPDATE pgauto_mv.mv_state SET next_scheduled_at = next_scheduled_at - interval '6 hours', last_scheduled_at = NULL WHERE next_scheduled_at IS NOT NULL;
                UPDATE pgrelay.queue SET run_at = run_at - interval '6 hours' WHERE id IN (SELECT scheduled_queue_id FROM pgauto_mv.mv_state)").await;
}

/// A filled database on a server of its own, with the client programs beside it; none where there are no such programs.
async fn filled() -> Option<(Bindir, Server, Database)> {
    let bindir = Bindir::with_clients()?;
    let server = Server::private(PrivateOptions {
        bindir: Some(bindir.clone()),
        ..PrivateOptions::default()
    })
    .await;
    let original = database_on(&server).await;
    fill(&original).await;
    Some((bindir, server, original))
}

async fn works_as_before(restored: &Database) {
    let dangling = "SELECT string_agg(mv_name, ' ') FROM pgauto_mv.mv_state_v WHERE mv_missing";
    assert_eq!(restored.query_one::<String>(dangling, &[]).await, "gone");
    let triggers = "SELECT count(*) FROM pgauto_mv.health WHERE reason = 'trigger_missing'";
    assert_eq!(restored.query_one::<i64>(triggers, &[]).await, 0);
    let stopped =
        "SELECT count(*) FROM pgauto_mv.health WHERE reason IN ('no_upkeep', 'sources_changed')";
    assert_eq!(restored.query_one::<i64>(stopped, &[]).await, 0);
    // The upkeep sees other OIDs everywhere, and nothing that has changed: no view is refreshed for having been restored.
    let events = "SELECT count(*) FROM pgauto_mv.mv_events";
    let before: i64 = restored.query_one(events, &[]).await;
    for _ in 0..2 {
        upkeep(restored).await;
    }
    assert_eq!(restored.query_one::<i64>(events, &[]).await, before);
    let _processor = Processor::start(restored).await;
    // What was pending in the dump is refreshed, and what is written now is noticed.
    let nothing = "SELECT count(*) FROM pgauto_mv.mv_events WHERE source <> 'event' OR event_at < clock_timestamp() - interval '1 s'";
    restored.until_equals(nothing, 0_i64, wait::SOON).await;
    restored
        .execute("INSERT INTO public.t VALUES (7); INSERT INTO public.p1 VALUES (8)")
        .await;
    until_fresh(
        restored,
        "public.child",
        "SELECT count(*) FROM public.t",
        wait::SOON,
    )
    .await;
    until_fresh(
        restored,
        "public.mq",
        "SELECT count(*) FROM public.p",
        wait::SOON,
    )
    .await;
    let child: String = restored
        .query_one(
            "SELECT auto_mv_id::text FROM pgauto_mv.mv_state_v WHERE mv_name = 'child'",
            &[],
        )
        .await;
    let slots = "SELECT count(*) FROM pgauto_mv.mv_refresh_log WHERE refresh_source = 'schedule'";
    assert_eq!(
        restored.query_one::<i64>(slots, &[]).await,
        1,
        "missed slots run once"
    );
    assert_eq!(
        state(restored, &child, "next_scheduled_at > clock_timestamp()").await,
        "true"
    );
    let result: String = restored
        .query_one(
            "SELECT coalesce(string_agg(result, ' '), '') FROM pgauto_mv.reconcile()",
            &[],
        )
        .await;
    assert_eq!(result, "", "there is nothing to repair");
    restored
        .execute("SELECT pgauto_mv.unregister_missing(auto_mv_id) FROM pgauto_mv.mv_state_v WHERE mv_missing")
        .await;
    restored
        .until_equals::<Option<String>>(HEALTH, None, wait::SOON)
        .await;
    let minutes = "SELECT count(*) FROM pgrelay.log WHERE channel = 'pg_auto_mv.upkeep'";
    let upkeeps: i64 = restored.query_one(minutes, &[]).await;
    assert!(upkeeps <= 2, "{upkeeps} upkeeps since the restore");
}

/// What health says.
const HEALTH: &str =
    "SELECT string_agg(DISTINCT reason, ' ' ORDER BY reason) FROM pgauto_mv.health";

/// A dump need not hold the queue: what was coming is then gone, and nothing that was pending.
#[tokio::test]
async fn without_the_queue_reconcile_or_a_refresh_sets_the_upkeep_going() {
    let Some((bindir, server, original)) = filled().await else {
        skip!("dump", "PostgreSQL's client programs are not installed");
    };
    original
        .execute("SELECT pgauto_mv.unregister_missing(auto_mv_id) FROM pgauto_mv.mv_state_v WHERE mv_missing")
        .await;
    for by_refresh in [false, true] {
        let restored = Database::empty_on(&server).await;
        copy(&bindir, &original, &restored);
        restored.execute("TRUNCATE pgrelay.queue").await;
        let _processor = Processor::start(&restored).await;
        let health: String = restored.query_one(HEALTH, &[]).await;
        assert!(health.contains("no_upkeep"), "{health}");
        if by_refresh {
            restored
                .execute("SELECT pgauto_mv.refresh('public.mv')")
                .await;
            // The upkeep, due in a minute, finds what else is coming no more.
            let next = "SELECT count(*) FROM pgrelay.queue WHERE channel = 'pg_auto_mv.upkeep' AND status = 'pending'";
            restored.until_equals(next, 1_i64, wait::SOON).await;
            restored
                .execute(
                    "UPDATE pgrelay.queue SET run_at = now() WHERE channel = 'pg_auto_mv.upkeep'",
                )
                .await;
        } else {
            restored.execute("SELECT pgauto_mv.reconcile()").await;
        }
        restored
            .until_equals::<Option<String>>(HEALTH, None, wait::SOON)
            .await;
        for (view, definition) in [
            ("public.child", "SELECT count(*) FROM public.t"),
            ("public.mq", "SELECT count(*) FROM public.p"),
        ] {
            until_fresh(&restored, view, definition, wait::SOON).await;
        }
    }
}

#[tokio::test]
async fn as_plain_sql() {
    let Some((bindir, server, original)) = filled().await else {
        skip!("dump", "PostgreSQL's client programs are not installed");
    };
    let restored = Database::empty_on(&server).await;
    copy(&bindir, &original, &restored);
    works_as_before(&restored).await;
    let again = command(&restored, &["install", "--with", "auto-mv"]).await;
    assert!(
        again.stdout.contains("pg_auto_mv 1.0 is already installed"),
        "{again}"
    );
}

#[tokio::test]
async fn as_an_extension() {
    let pair = match Pair::with(&["--with", "auto-mv"]).await {
        Ok(pair) => pair,
        Err(why) => skip!("extension", "{why}"),
    };
    pair.original
        .execute("CREATE EXTENSION pg_auto_mv CASCADE")
        .await;
    fill(&pair.original).await;
    pair.copy();
    works_as_before(&pair.restored).await;
    pair.restored
        .execute("DROP EXTENSION pg_auto_mv CASCADE")
        .await;
    let left = "SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'pgauto_mv%'";
    assert_eq!(pair.restored.query_one::<i64>(left, &[]).await, 0);
}

#[tokio::test]
async fn a_copy_of_the_database_binds_its_views_anew() {
    let Some((_, server, original)) = filled().await else {
        skip!("dump", "PostgreSQL's client programs are not installed");
    };
    let before: String = original
        .query_one("SELECT pgauto_mv._database_identity()", &[])
        .await;
    let session = server.endpoint().connect("postgres").await;
    let disconnect = format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{}'",
        original.name()
    );
    session
        .batch_execute(&disconnect)
        .await
        .expect("disconnecting");
    let copied = format!("{}_copy", original.name());
    session
        .batch_execute(&format!(
            "CREATE DATABASE {copied} TEMPLATE {}",
            original.name()
        ))
        .await
        .expect("copying");
    let session = server.endpoint().connect(&copied).await;
    let row = session.query_one("SELECT pgauto_mv._database_identity(), (SELECT count(*) FROM pgauto_mv.mv_state_v WHERE mv_missing)", &[]).await;
    let row = row.expect("the copy");
    assert_ne!(row.get::<_, String>(0), before);
    // The renamed one was dispatched, so that the registry knows its new name.
    assert_eq!(row.get::<_, i64>(1), 1);
}
