//! However wrong the planner's statistics are, each claim walks its own index in order, and neither scans nor sorts the queue.

use fleet_tests::database::Database;
use serde_json::Value;
use tokio_postgres::Client;

/// Name, text and indexes of each statement that looks for work.
const STATEMENTS: &[(&str, &str, &[&str])] = &[
    (
        "claim_ready",
        concat!(
            include_str!("../../processor/src/engine/sql/claim_ready.sql"),
            include_str!("../../processor/src/engine/sql/claimed.sql")
        ),
        &["queue_ready_sql"],
    ),
    (
        "claim_head",
        concat!(
            include_str!("../../processor/src/engine/sql/claim_head.sql"),
            include_str!("../../processor/src/engine/sql/claimed.sql")
        ),
        &["queue_lane_sql", "queue_pkey"],
    ),
    (
        "due_lanes",
        include_str!("../../processor/src/engine/sql/due_lanes.sql"),
        &["queue_lane_due_sql"],
    ),
    (
        "next_lanes",
        include_str!("../../processor/src/engine/sql/next_lanes.sql"),
        &["queue_lane_sql"],
    ),
    (
        "claim_ids",
        concat!(
            include_str!("../../processor/src/engine/sql/claim_ids.sql"),
            include_str!("../../processor/src/engine/sql/claimed.sql")
        ),
        &["queue_pkey"],
    ),
    (
        "fold_twins",
        include_str!("../../processor/src/engine/sql/fold_twins.sql"),
        &["queue_pkey", "queue_twin"],
    ),
    (
        "lock_notify_next",
        include_str!("../../processor/src/engine/sql/lock_notify_next.sql"),
        &["queue_ready_notify"],
    ),
    (
        "lock_notify_head",
        include_str!("../../processor/src/engine/sql/lock_notify_head.sql"),
        &["queue_lane_notify"],
    ),
    (
        "claim_notify",
        concat!(
            include_str!("../../processor/src/engine/sql/claim_notify.sql"),
            include_str!("../../processor/src/engine/sql/claimed.sql")
        ),
        &["queue_lane_notify", "queue_pkey"],
    ),
    (
        "due_lanes_notify",
        include_str!("../../processor/src/engine/sql/due_lanes.sql"),
        &["queue_lane_due_notify"],
    ),
    (
        "next_lanes_notify",
        include_str!("../../processor/src/engine/sql/next_lanes.sql"),
        &["queue_lane_notify"],
    ),
];

const SESSION: &str = include_str!("../../processor/src/engine/session.rs");

/// The settings which the engine gives its own statements, read from where it defines them.
fn own_settings() -> String {
    let (_, from) = SESSION
        .split_once("OWN_SETTINGS: &str = \"")
        .expect("session.rs defines its own settings");
    let (text, _) = from
        .split_once("\";")
        .expect("the text of the settings ends");
    text.replace("\\\n", " ")
}

const FILL: &str = "INSERT INTO pgrelay.queue (channel, action_type, run_at, twin_key, lane)
    SELECT 'c', CASE WHEN mod(i, 5) > 2 THEN 'notify' ELSE 'sql' END, now() - i * interval '1 s', i, CASE mod(i, 3) WHEN 1 THEN mod(i, 500) END
    FROM generate_series(1, 200000) AS i";

const FINISHED: &str =
    "INSERT INTO pgrelay.queue (channel, action_type, run_at, twin_key, status, finished_at)
    SELECT 'c', 'sql', now(), 0, 'done', now() FROM generate_series(1, 1000)";

async fn check_plans(db: &Database, statistics: &str) {
    let session = db.connect().await;
    session
        .batch_execute(&format!("BEGIN; {}", own_settings()))
        .await
        .expect("the engine's own settings");
    let mut problems = Vec::new();
    for (name, sql, indexes) in STATEMENTS {
        let pool = if name.ends_with("_notify") {
            "notify"
        } else {
            "sql"
        };
        let plan = plan_of(&session, name, &sql.replace("{action_type}", pool)).await;
        let mut used = Vec::new();
        inspect(&plan, name, &mut used, &mut problems);
        used.sort_unstable();
        used.dedup();
        if used != *indexes {
            problems.push(format!("{name} uses {used:?}, not {indexes:?}:\n{plan:#}"));
        }
    }
    assert!(
        problems.is_empty(),
        "with {statistics}:\n{}",
        problems.join("\n")
    );
}

/// The plan for parameters that are not known, as the engine has it.
async fn plan_of(session: &Client, name: &str, sql: &str) -> Value {
    let prepare = format!("PREPARE {name} AS {sql}");
    session
        .batch_execute(&prepare)
        .await
        .expect("the statement can be prepared");
    let code: String = sql
        .lines()
        .filter(|line| !line.trim_start().starts_with("--"))
        .collect();
    let parameters = (1..20)
        .filter(|n| code.contains(&format!("${n}")))
        .map(|_| "NULL");
    let parameters = match parameters.collect::<Vec<_>>().join(", ").as_str() {
        "" => String::new(),
        some => format!("({some})"),
    };
    let explain = format!("EXPLAIN (FORMAT JSON) EXECUTE {name}{parameters}");
    let row = session.query_one(&explain, &[]).await.expect("a plan");
    let plans: Value = row.get(0);
    plans[0]["Plan"].clone()
}

/// Collects the indexes of the queue that a plan walks, and its scans and sorts of the queue as problems.
fn inspect(node: &Value, name: &str, used: &mut Vec<String>, problems: &mut Vec<String>) {
    let kind = node["Node Type"].as_str().unwrap_or_default();
    if node["Relation Name"] == "queue" {
        if !matches!(kind, "Index Scan" | "Index Only Scan") {
            problems.push(format!("{name}: {kind} on the queue:\n{node:#}"));
        }
        used.push(node["Index Name"].as_str().unwrap_or_default().to_owned());
    }
    if matches!(kind, "Sort" | "Incremental Sort") && feeds_from_queue(node) {
        problems.push(format!("{name} sorts the queue:\n{node:#}"));
    }
    for child in node["Plans"].as_array().into_iter().flatten() {
        inspect(child, name, used, problems);
    }
}

/// Whether rows of the queue reach this node without a limit in between.
fn feeds_from_queue(node: &Value) -> bool {
    node["Plans"].as_array().into_iter().flatten().any(|child| {
        let feeds = !matches!(
            child["Parent Relationship"].as_str(),
            Some("InitPlan" | "SubPlan")
        );
        // A look-up by primary key is as long as the list of ids it was given.
        let limited = child["Node Type"] == "Limit" || child["Index Name"] == "queue_pkey";
        feeds && !limited && (child["Relation Name"] == "queue" || feeds_from_queue(child))
    })
}

async fn without_autovacuum() -> Database {
    let db = Database::with_schema().await;
    db.execute("ALTER TABLE pgrelay.queue SET (autovacuum_enabled = off)")
        .await;
    db
}

#[tokio::test]
async fn with_no_statistics_at_all() {
    let db = without_autovacuum().await;
    db.execute(FILL).await;
    check_plans(&db, "no statistics").await;
    db.execute(
        "UPDATE pg_class SET reltuples = 0, relpages = 0 WHERE oid = 'pgrelay.queue'::regclass",
    )
    .await;
    check_plans(&db, "a size of zero").await;
    db.execute(
        "UPDATE pg_class SET reltuples = 1e9, relpages = 1 WHERE oid = 'pgrelay.queue'::regclass",
    )
    .await;
    check_plans(&db, "a size of a billion").await;
}

#[tokio::test]
async fn with_statistics_of_an_empty_table() {
    let db = without_autovacuum().await;
    db.execute("ANALYZE pgrelay.queue").await;
    check_plans(&db, "statistics of an empty table, still empty").await;
    db.execute(FILL).await;
    check_plans(&db, "statistics of an empty table").await;
}

#[tokio::test]
async fn with_statistics_from_before_the_backlog() {
    let db = without_autovacuum().await;
    db.execute(FINISHED).await;
    db.execute("ANALYZE pgrelay.queue").await;
    db.execute(FILL).await;
    check_plans(&db, "statistics of finished events only").await;
    db.execute("ANALYZE pgrelay.queue").await;
    check_plans(&db, "statistics of the backlog").await;
    db.execute("DELETE FROM pgrelay.queue WHERE id > 1100")
        .await;
    check_plans(&db, "statistics of a backlog that is gone").await;
}
