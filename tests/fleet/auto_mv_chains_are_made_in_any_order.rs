//! Views that read each other are chained alike in whatever order they are registered, and the one below is refreshed once, after all it reads.

use fleet_tests::database::Database;

use crate::auto_mv_steps::{begin_dispatch, database, dispatch, log, register};

/// Every order of `items`.
fn orders<'a>(items: &[&'a str]) -> Vec<Vec<&'a str>> {
    if items.is_empty() {
        return vec![vec![]];
    }
    let mut all = Vec::new();
    for (place, first) in items.iter().enumerate() {
        let rest = [&items[..place], &items[place + 1..]].concat();
        all.extend(
            orders(&rest)
                .into_iter()
                .map(|tail| [&[*first], &tail[..]].concat()),
        );
    }
    all
}

/// Registers the views in an order, and checks that a change reaches `bottom` once, although it is dispatched after each of the `others`.
async fn is_chained(db: &Database, order: &[&str], others: &[&str], links: &str) {
    let mut ids = std::collections::HashMap::new();
    for name in order {
        ids.insert(*name, register(db, &format!("public.{name}"), "0, 0").await);
    }
    let made = "SELECT string_agg(p.mv_name || ' ' || c.mv_name, ', ' ORDER BY p.mv_name, c.mv_name) FROM pgauto_mv.mv_chain AS l
                JOIN pgauto_mv.materialised_views AS p ON p.auto_mv_id = l.parent_id
                JOIN pgauto_mv.materialised_views AS c ON c.auto_mv_id = l.child_id";
    assert_eq!(
        db.query_one::<String>(made, &[]).await,
        links,
        "registered as {order:?}"
    );
    db.execute("INSERT INTO public.t VALUES (1)").await;
    for other in others {
        dispatch(db, &ids[other]).await;
        dispatch(db, &ids["bottom"]).await;
    }
    assert_eq!(
        log(db, &ids["bottom"]).await,
        ["chain ok plain"],
        "registered as {order:?}"
    );
    for name in order {
        db.execute(&format!("SELECT pgauto_mv.unregister('public.{name}')"))
            .await;
    }
}

#[tokio::test]
async fn a_diamond() {
    let db = database().await;
    db.execute(
        "CREATE TABLE public.t (id integer);
         CREATE MATERIALIZED VIEW public.top AS SELECT count(*) AS n FROM public.t;
         CREATE MATERIALIZED VIEW public.left_one AS SELECT n FROM public.top;
         CREATE MATERIALIZED VIEW public.right_one AS SELECT n FROM public.top;
         CREATE MATERIALIZED VIEW public.bottom AS SELECT l.n + r.n AS n FROM public.left_one AS l, public.right_one AS r",
    )
    .await;
    let links = "left_one bottom, right_one bottom, top left_one, top right_one";
    for order in orders(&["top", "left_one", "right_one", "bottom"]) {
        is_chained(&db, &order, &["top", "left_one", "right_one"], links).await;
    }
    let shown = "SELECT n = 2 * (SELECT count(*) FROM public.t) FROM public.bottom";
    assert!(db.query_one::<bool>(shown, &[]).await);
}

/// `bottom` reads `top` and what lies between them: it gets its event with the one in between, from the same refresh.
#[tokio::test]
async fn a_triangle() {
    let db = database().await;
    db.execute(
        "CREATE TABLE public.t (id integer);
         CREATE MATERIALIZED VIEW public.top AS SELECT count(*) AS n FROM public.t;
         CREATE MATERIALIZED VIEW public.side AS SELECT n FROM public.top;
         CREATE MATERIALIZED VIEW public.bottom AS SELECT s.n + t.n AS n FROM public.side AS s, public.top AS t",
    )
    .await;
    let links = "side bottom, top bottom, top side";
    for order in orders(&["top", "side", "bottom"]) {
        is_chained(&db, &order, &["top", "side"], links).await;
    }
    let shown = "SELECT n = 2 * (SELECT count(*) FROM public.t) FROM public.bottom";
    assert!(db.query_one::<bool>(shown, &[]).await);
}

/// One that only skips is not, see `auto_mv_chains_follow`.
#[tokio::test]
async fn and_a_parent_that_is_running_is_waited_for_however_late_it_is() {
    let db = database().await;
    let gate = db.gate(1).await;
    db.execute(&format!(
        "CREATE TABLE public.t (id integer);
         CREATE FUNCTION public.pass_gate() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN EXECUTE '{}'; RETURN 1; END $$;
         CREATE MATERIALIZED VIEW public.top AS SELECT count(*) AS n FROM public.t;
         CREATE MATERIALIZED VIEW public.side AS SELECT n, public.pass_gate() FROM public.top WITH NO DATA;
         CREATE MATERIALIZED VIEW public.bottom AS SELECT s.n FROM public.side AS s, public.top AS t WITH NO DATA",
        gate.pass_sql()
    ))
    .await;
    let top = register(&db, "public.top", "0, 0").await;
    let side = register(&db, "public.side", "0, 0").await;
    let bottom = register(&db, "public.bottom", "0, 0").await;
    db.execute("INSERT INTO public.t VALUES (1)").await;
    dispatch(&db, &top).await;
    let running = begin_dispatch(&db, &side).await;
    gate.wait_for_arrivals(1).await;
    db.execute("UPDATE pgauto_mv.mv_events SET event_at = event_at - interval '10 min'")
        .await;
    dispatch(&db, &bottom).await;
    assert!(log(&db, &bottom).await.is_empty(), "it waits for side");
    gate.open().await;
    running.await.expect("the refresh");
    dispatch(&db, &bottom).await;
    assert_eq!(log(&db, &bottom).await, ["chain ok plain"]);
}
