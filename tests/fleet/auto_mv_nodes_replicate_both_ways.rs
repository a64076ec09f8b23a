//! Two databases that replicate everything they may share to each other, the queue included: registrations and changes come from both, each node
//! refreshes its own views once for each change, and neither node's events serve the other. `origin = none`, which this takes, is known from 16 on.

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;
use fleet_tests::{skip, wait};

use crate::auto_mv_nodes::BothWays;
use crate::auto_mv_steps::{log, until_fresh, upkeep};

/// The nodes for which an event with this payload or of this channel is pending.
async fn pending(node: &Database, of: &str) -> String {
    let sql = format!(
        "SELECT coalesce(string_agg(node, ' ' ORDER BY node), '') FROM pgrelay.queue
         WHERE status = 'pending' AND '{of}' IN (payload, channel)"
    );
    node.query_one(&sql, &[]).await
}

/// The reasons that `health` gives, but for the absence of a Processor.
async fn reasons(node: &Database) -> String {
    let sql = "SELECT coalesce(string_agg(DISTINCT reason, ' ' ORDER BY reason), '') FROM pgauto_mv.health WHERE reason <> 'no_processor'";
    node.query_one(sql, &[]).await
}

#[tokio::test]
async fn a_change_on_either_node_is_refreshed_once_on_each() {
    let settings = "0, 0, p_fire_on_replica => true, p_sync_after_refresh => true";
    let nodes = match BothWays::with(settings).await {
        Ok(nodes) => nodes,
        Err(why) => skip!("versions", "{why}"),
    };
    let _on_a = Processor::start(&nodes.a).await;
    let _on_b = Processor::start(&nodes.b).await;
    let mut changes = 0;
    for change in [
        "INSERT INTO public.t SELECT coalesce(max(id), 0) + 1 FROM public.t",
        "UPDATE public.t SET v = 2",
        "DELETE FROM public.t WHERE id = (SELECT max(id) FROM public.t)",
        "INSERT INTO public.t SELECT coalesce(max(id), 0) + 1 FROM public.t",
        "TRUNCATE public.t",
    ] {
        for writer in nodes.both() {
            changes += 1;
            writer.execute(change).await;
            writer
                .execute(&change.replace("public.t", "public.u"))
                .await;
            for node in nodes.both() {
                let logged = "SELECT count(*) FROM pgauto_mv.mv_refresh_log";
                node.until_equals(logged, 2 * changes, wait::SOON).await;
                for (view, source) in [("public.mv", "public.t"), ("public.mu", "public.u")] {
                    let definition = format!("SELECT count(*) FROM {source}");
                    until_fresh(node, view, &definition, wait::SOON).await;
                }
            }
        }
    }
    // Every refresh has asked the other node for one, which knew already.
    nodes.quiet(4 * changes).await;
    for node in nodes.both() {
        for id in [&nodes.mv, &nodes.mu] {
            assert_eq!(log(node, id).await, ["event ok plain"; 10]);
        }
    }
}

#[tokio::test]
async fn a_request_of_either_node_makes_the_other_refresh_once_and_comes_not_back() {
    let nodes = match BothWays::with("0, 0, p_sync_after_refresh => true").await {
        Ok(nodes) => nodes,
        Err(why) => skip!("versions", "{why}"),
    };
    let _on_a = Processor::start(&nodes.a).await;
    let _on_b = Processor::start(&nodes.b).await;
    // Each table is written by the node that did not register its view.
    nodes.b.execute("INSERT INTO public.t VALUES (1)").await;
    nodes.a.execute("INSERT INTO public.u VALUES (1)").await;
    for (asked, view) in [(&nodes.a, "public.mv"), (&nodes.b, "public.mu")] {
        until_fresh(asked, view, "SELECT 1", wait::SOON).await;
    }
    nodes.quiet(2).await;
    let requests =
        "SELECT string_agg(origin_node, ' ' ORDER BY origin_node) FROM pgauto_mv.mv_sync_requests";
    for node in nodes.both() {
        assert_eq!(node.query_one::<String>(requests, &[]).await, "a b");
        for id in [&nodes.mv, &nodes.mu] {
            assert_eq!(log(node, id).await, ["event ok plain"]);
        }
    }
}

#[tokio::test]
async fn neither_node_s_events_serve_the_other() {
    let nodes = match BothWays::with("0, 0").await {
        Ok(nodes) => nodes,
        Err(why) => skip!("versions", "{why}"),
    };
    nodes.a.execute("INSERT INTO public.t VALUES (1)").await;
    nodes.exchanged().await;
    assert_eq!(
        pending(&nodes.b, &nodes.mv).await,
        "a",
        "the trigger is silent here"
    );
    // Now b has the dispatch of a in its queue, and makes one of its own; neither makes a second one.
    for (id, node) in [(2, &nodes.b), (3, &nodes.a), (4, &nodes.b)] {
        let change = format!("INSERT INTO public.t VALUES ({id})");
        node.execute(&change).await;
        nodes.exchanged().await;
    }
    for node in nodes.both() {
        assert_eq!(pending(node, &nodes.mv).await, "a b");
    }
    // A Processor takes what is its node's, and leaves the other's.
    let _on_b = Processor::start(&nodes.b).await;
    nodes
        .b
        .until_equals("SELECT n FROM public.mv", 4_i64, wait::SOON)
        .await;
    nodes.exchanged().await;
    for node in nodes.both() {
        assert_eq!(pending(node, &nodes.mv).await, "a");
    }
    let _on_a = Processor::start(&nodes.a).await;
    nodes.quiet(0).await;
    for node in nodes.both() {
        assert_eq!(log(node, &nodes.mv).await, ["event ok plain"]);
    }
}

#[tokio::test]
async fn each_node_has_an_upkeep_of_its_own() {
    let nodes = match BothWays::with("").await {
        Ok(nodes) => nodes,
        Err(why) => skip!("versions", "{why}"),
    };
    let upkeep = "pg_auto_mv.upkeep";
    assert_eq!(pending(&nodes.a, upkeep).await, "a b");
    nodes
        .b
        .execute("DELETE FROM pgrelay.queue WHERE channel = 'pg_auto_mv.upkeep' AND node = 'b'")
        .await;
    nodes.exchanged().await;
    assert_eq!(reasons(&nodes.a).await, "");
    assert_eq!(reasons(&nodes.b).await, "no_upkeep", "that of a is none");
    nodes.b.execute("SELECT pgauto_mv.reconcile(); UPDATE pgrelay.queue SET run_at = now() WHERE channel = 'pg_auto_mv.upkeep'").await;
    nodes.exchanged().await;
    let _on_a = Processor::start(&nodes.a).await;
    let _on_b = Processor::start(&nodes.b).await;
    for (node, name) in [(&nodes.a, "a"), (&nodes.b, "b")] {
        let ran = "SELECT string_agg(q.node, ' ') FROM pgrelay.log AS l JOIN pgrelay.queue AS q ON q.id = l.queue_id
                   WHERE l.channel = 'pg_auto_mv.upkeep' AND l.status = 'ok'";
        node.until_equals(ran, Some(name.to_owned()), wait::SOON)
            .await;
    }
    nodes.exchanged().await;
    for node in nodes.both() {
        assert_eq!(pending(node, upkeep).await, "a b");
        assert_eq!(reasons(node).await, "");
    }
}

/// Neither node is the home of the registry: if both wrote the same row, the replication would stop.
#[tokio::test]
async fn a_changed_definition_waits_for_reconcile_on_one_node() {
    let nodes = match BothWays::with("0, 0").await {
        Ok(nodes) => nodes,
        Err(why) => skip!("versions", "{why}"),
    };
    let change = "DROP MATERIALIZED VIEW public.mv; CREATE MATERIALIZED VIEW public.mv AS SELECT count(*) AS n FROM public.marks";
    for node in nodes.both() {
        node.execute(change).await;
        upkeep(node).await;
    }
    nodes.exchanged().await;
    for node in nodes.both() {
        assert_eq!(reasons(node).await, "sources_changed");
    }
    nodes.a.execute("SELECT pgauto_mv.reconcile()").await;
    nodes.exchanged().await;
    // One table a transaction: the one that came, the one that went.
    for _ in 0..2 {
        upkeep(&nodes.b).await;
    }
    for node in nodes.both() {
        assert_eq!(reasons(node).await, "");
        let watched = format!(
            "SELECT string_agg(tgrelid::regclass::text, ' ') FROM pg_trigger WHERE tgname LIKE 'pgauto_mv_' || replace('{}', '-', '') || '_change'",
            nodes.mv
        );
        assert_eq!(node.query_one::<String>(&watched, &[]).await, "marks");
    }
}

#[tokio::test]
async fn a_view_that_one_node_has_unregistered_leaves_nothing_on_the_other() {
    let nodes = match BothWays::with("0, 0").await {
        Ok(nodes) => nodes,
        Err(why) => skip!("versions", "{why}"),
    };
    nodes
        .b
        .execute("SELECT pgauto_mv.unregister('public.mv')")
        .await;
    nodes.exchanged().await;
    // Until reconcile() its triggers are there, and what they insert is not kept.
    let _on_a = Processor::start(&nodes.a).await;
    nodes.a.execute("INSERT INTO public.t VALUES (1)").await;
    nodes.quiet(0).await;
    let events = "SELECT count(*) FROM pgauto_mv.mv_events";
    assert_eq!(nodes.a.query_one::<i64>(events, &[]).await, 0);
    let result = "SELECT string_agg(result, ' ') FROM pgauto_mv.reconcile()";
    assert_eq!(
        nodes.a.query_one::<String>(result, &[]).await,
        "triggers of a view that is not registered removed"
    );
    for table in ["mv_state", "mv_sources", "materialised_views"] {
        let rows = format!("SELECT count(*) FROM pgauto_mv.{table}");
        for node in nodes.both() {
            assert_eq!(
                node.query_one::<i64>(&rows, &[]).await,
                1,
                "{table}: that of mu"
            );
        }
    }
}
