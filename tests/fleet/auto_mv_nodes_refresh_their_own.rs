//! Two databases, one of which replicates to the other: each refreshes its own views, once for each change.

use fleet_tests::database::Database;
use fleet_tests::postgres::Server;
use fleet_tests::processor::Processor;
use fleet_tests::wait;

use crate::auto_mv_nodes::{SHARED, server, subscribe};
use crate::auto_mv_steps::{QUEUED, database_on, dispatch, log, register, state, until_fresh};

const VIEW: &str = "
    CREATE TABLE public.t (id integer PRIMARY KEY, v integer NOT NULL DEFAULT 1);
    CREATE MATERIALIZED VIEW public.mv AS SELECT count(*) AS n FROM public.t";

/// Two nodes, `a` and `b`, of one server, and the view's id. The registry goes from `a` to `b`, sync requests go both ways, each node's own only.
struct Nodes {
    a: Database,
    b: Database,
    id: String,
}

impl Nodes {
    /// Registers the view on `a` with these settings.
    async fn with(settings: &str) -> (Self, Server) {
        let server = server(None).await;
        let (a, b) = (database_on(&server).await, database_on(&server).await);
        for (node, name, number) in [(&a, "a", 1), (&b, "b", 2)] {
            node.execute(VIEW).await;
            node.execute(&format!(
                "SELECT pgrelay.set_node('{name}', {number}, 2);
                 CREATE PUBLICATION requests FOR TABLE pgauto_mv.mv_sync_requests WHERE (origin_node = '{name}') WITH (publish = 'insert')"
            ))
            .await;
        }
        a.execute(&format!(
            "CREATE PUBLICATION changes FOR TABLE public.t, {SHARED}"
        ))
        .await;
        let id = register(&a, "public.mv", settings).await;
        subscribe(&b, &a, "changes, requests", "").await;
        subscribe(&a, &b, "requests", "").await;
        b.until_equals(
            "SELECT count(*) FROM pgauto_mv.mv_sources",
            1_i64,
            wait::SOON,
        )
        .await;
        b.execute("SELECT pgauto_mv.reconcile(); DELETE FROM pgauto_mv.mv_events")
            .await;
        (Self { a, b, id }, server)
    }

    /// Waits until `b` has what was committed on `a`.
    async fn replicated(&self) {
        self.a
            .execute("INSERT INTO public.t SELECT -1 - count(*) FROM public.t")
            .await;
        let count: i64 = self.a.query_one("SELECT count(*) FROM public.t", &[]).await;
        self.b
            .until_equals("SELECT count(*) FROM public.t", count, wait::SOON)
            .await;
    }
}

#[tokio::test]
async fn replicated_changes_count_where_the_view_wants_it() {
    let (nodes, _server) =
        Nodes::with("0, 0, p_fire_on_replica => true, p_sync_after_refresh => true").await;
    let _on_a = Processor::start(&nodes.a).await;
    let _on_b = Processor::start(&nodes.b).await;
    for change in [
        "INSERT INTO public.t VALUES (1)",
        "UPDATE public.t SET v = 2",
        "DELETE FROM public.t",
        "INSERT INTO public.t VALUES (2)",
        "TRUNCATE public.t",
    ] {
        let (before_a, before_b) = (
            log(&nodes.a, &nodes.id).await.len(),
            log(&nodes.b, &nodes.id).await.len(),
        );
        nodes.a.execute(change).await;
        for (node, before) in [(&nodes.a, before_a), (&nodes.b, before_b)] {
            let logged = "SELECT count(*) FROM pgauto_mv.mv_refresh_log";
            node.until_equals(logged, i64::try_from(before + 1).unwrap(), wait::SOON)
                .await;
            until_fresh(
                node,
                "public.mv",
                "SELECT count(*) FROM public.t",
                wait::SOON,
            )
            .await;
        }
    }
    // The requests have arrived as well, and have led to no second refresh.
    nodes
        .b
        .until_equals(
            "SELECT count(*) FROM pgauto_mv.mv_sync_requests WHERE origin_node = 'a'",
            5_i64,
            wait::SOON,
        )
        .await;
    assert_eq!(log(&nodes.b, &nodes.id).await, ["event ok plain"; 5]);
    assert_eq!(log(&nodes.a, &nodes.id).await, ["event ok plain"; 5]);
}

#[tokio::test]
async fn a_request_makes_the_other_node_refresh_once_and_comes_not_back() {
    let (nodes, _server) = Nodes::with("0, 0, p_sync_after_refresh => true").await;
    nodes.a.execute("INSERT INTO public.t VALUES (1)").await;
    nodes.replicated().await;
    assert_eq!(
        state(&nodes.b, &nodes.id, "is_pending").await,
        "false",
        "the trigger is silent here"
    );
    let _on_a = Processor::start(&nodes.a).await;
    let _on_b = Processor::start(&nodes.b).await;
    until_fresh(
        &nodes.b,
        "public.mv",
        "SELECT count(*) FROM public.t",
        wait::SOON,
    )
    .await;
    assert_eq!(log(&nodes.b, &nodes.id).await, ["event ok plain"]);
    let sent = "SELECT count(*) FROM pgauto_mv.mv_sync_requests WHERE origin_node = 'b'";
    nodes.b.until_equals(QUEUED, 0_i64, wait::SOON).await;
    assert_eq!(nodes.b.query_one::<i64>(sent, &[]).await, 0);
    // The other way: a refresh that somebody wants on b reaches a.
    nodes
        .b
        .execute("SELECT pgauto_mv.refresh('public.mv')")
        .await;
    nodes
        .a
        .until_equals(
            "SELECT count(*) FROM pgauto_mv.mv_refresh_log",
            2_i64,
            wait::SOON,
        )
        .await;
    assert_eq!(
        log(&nodes.b, &nodes.id).await,
        ["event ok plain", "direct ok plain"]
    );
}

#[tokio::test]
async fn without_either_the_other_node_is_left_alone() {
    let (nodes, _server) = Nodes::with("0, 0").await;
    nodes.a.execute("INSERT INTO public.t VALUES (1)").await;
    nodes.replicated().await;
    dispatch(&nodes.a, &nodes.id).await;
    assert_eq!(log(&nodes.a, &nodes.id).await, ["event ok plain"]);
    assert_eq!(state(&nodes.b, &nodes.id, "is_pending").await, "false");
    // A local write on b is its own.
    nodes.b.execute("INSERT INTO public.t VALUES (1000)").await;
    dispatch(&nodes.b, &nodes.id).await;
    assert_eq!(log(&nodes.b, &nodes.id).await, ["event ok plain"]);
    assert_eq!(state(&nodes.a, &nodes.id, "is_pending").await, "false");
}

#[tokio::test]
async fn damage_on_the_other_node_does_not_stop_its_replication() {
    let (nodes, _server) =
        Nodes::with("0, 0, p_fire_on_replica => true, p_sync_after_refresh => true").await;
    nodes
        .b
        .execute(
            "DELETE FROM pgrelay.channels; ALTER TABLE pgauto_mv.mv_events RENAME TO elsewhere",
        )
        .await;
    nodes.a.execute(&format!("INSERT INTO public.t VALUES (1); SELECT pgauto_mv.refresh('public.mv'); SELECT pgauto_mv._process_pending('{0}'); SELECT pgauto_mv._sync_mv('{0}')", nodes.id)).await;
    nodes
        .b
        .until_equals(
            "SELECT count(*) FROM pgauto_mv.mv_sync_requests",
            1_i64,
            wait::SOON,
        )
        .await;
    nodes.replicated().await;
}

/// Both nodes look for themselves, and only one writes down what both of them see: the same row from both would stop the replication.
#[tokio::test]
async fn a_changed_definition_is_written_down_by_the_home_of_the_registry() {
    let (nodes, _server) = Nodes::with("p_refresh_lag => 0, p_max_wait => 0").await;
    let change = "CREATE TABLE public.u (id integer);
        DROP MATERIALIZED VIEW public.mv; CREATE MATERIALIZED VIEW public.mv AS SELECT count(*) AS n FROM public.u";
    for node in [&nodes.b, &nodes.a] {
        node.execute(change).await;
        node.execute("SELECT pgauto_mv._upkeep()").await;
    }
    let sources = "SELECT string_agg(source_name, ' ') FROM pgauto_mv.mv_sources";
    nodes
        .b
        .until_equals(sources, "u".to_owned(), wait::SOON)
        .await;
    nodes.replicated().await;
    nodes
        .b
        .execute("SELECT pgauto_mv._upkeep(); DELETE FROM pgauto_mv.mv_events; INSERT INTO public.u VALUES (1)")
        .await;
    assert_eq!(state(&nodes.b, &nodes.id, "pending_events").await, "1");
}
