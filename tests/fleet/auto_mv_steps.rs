//! Steps of the tests of `pg_auto_mv`: a database that has it, a registered view, dispatches by hand, and a clock that can be moved.

use std::time::Duration;

use fleet_tests::database::{Database, describe};
use fleet_tests::gate::Gate;
use fleet_tests::postgres::Server;
use fleet_tests::{processor, wait};
use tokio_postgres::Client;

/// What has to be moved for time to seem to have passed.
const CLOCK: &str = "
CREATE TABLE public.test_clock (origin timestamptz NOT NULL);
INSERT INTO public.test_clock VALUES (clock_timestamp());
CREATE FUNCTION public.pass(p interval) RETURNS void LANGUAGE sql AS $$
    UPDATE public.test_clock SET origin = origin - p;
    UPDATE pgauto_mv.mv_events SET event_at = event_at - p;
    UPDATE pgauto_mv.mv_state SET last_refresh_started = last_refresh_started - p, last_refresh_completed = last_refresh_completed - p,
        data_as_of = data_as_of - p, failing_since = failing_since - p, retry_at = retry_at - p, suspended_at = suspended_at - p,
        next_scheduled_at = next_scheduled_at - p, last_scheduled_at = last_scheduled_at - p, deferred_until = deferred_until - p;
    UPDATE pgauto_mv.mv_refresh_log SET logged_at = logged_at - p, started_at = started_at - p, data_as_of = data_as_of - p,
        completed_at = completed_at - p;
    UPDATE pgrelay.queue SET run_at = run_at - p WHERE status = 'pending';
$$;
-- Seconds since the origin of the test.
CREATE FUNCTION public.at(p timestamptz) RETURNS float8 LANGUAGE sql AS $$
    SELECT extract(epoch FROM p - c.origin)::float8 FROM public.test_clock AS c
$$;";

/// A database with the queue and `pg_auto_mv`, on the shared server.
pub(crate) async fn database() -> Database {
    database_on(&Server::shared().await).await
}

/// The same on a given server.
pub(crate) async fn database_on(server: &Server) -> Database {
    let db = Database::with_schema_on(server).await;
    let output = processor::command(&db, &["install", "--with", "auto-mv"]).await;
    assert_eq!(output.code, 0, "{output}");
    db.execute(CLOCK).await;
    db
}

/// A table `t (id, v)` and a view `mv` that counts and adds up, registered with these further arguments of `register()`.
pub(crate) async fn counted(db: &Database, settings: &str) -> String {
    db.execute(
        "CREATE TABLE public.t (id integer PRIMARY KEY, v integer NOT NULL DEFAULT 1);
         CREATE MATERIALIZED VIEW public.mv AS SELECT count(*) AS n, coalesce(sum(v), 0) AS s FROM public.t",
    )
    .await;
    register(db, "public.mv", settings).await
}

/// A second table `u (id)` and a view `mu` that counts it, registered like `counted()`.
pub(crate) async fn counted_too(db: &Database, settings: &str) -> String {
    db.execute(
        "CREATE TABLE public.u (id integer PRIMARY KEY);
         CREATE MATERIALIZED VIEW public.mu AS SELECT count(*) AS n FROM public.u",
    )
    .await;
    register(db, "public.mu", settings).await
}

/// Registers a view; no lag and no limits unless `settings` say otherwise.
pub(crate) async fn register(db: &Database, view: &str, settings: &str) -> String {
    let settings = if settings.is_empty() {
        "p_refresh_lag => 0, p_max_wait => 0"
    } else {
        settings
    };
    let sql = format!("SELECT pgauto_mv.register('{view}', {settings})::text");
    db.query_one(&sql, &[]).await
}

/// A view `held` over `t` whose refresh stops at the gate, once it is closed. Needs `counted()`.
pub(crate) async fn held(db: &Database, settings: &str) -> (String, Gate) {
    let gate = db.gate(1).await;
    let pass = gate.pass_sql();
    db.execute(&format!(
        "CREATE FUNCTION public.pass_gate() RETURNS integer LANGUAGE plpgsql AS $$ BEGIN EXECUTE '{pass}'; RETURN 1; END $$;
         CREATE MATERIALIZED VIEW public.held AS SELECT count(*) AS n, public.pass_gate() FROM public.t WITH NO DATA"
    ))
    .await;
    (register(db, "public.held", settings).await, gate)
}

/// A write to the source of `counted()`.
pub(crate) const CHANGE: &str =
    "INSERT INTO public.t SELECT coalesce(max(id), 0) + 1 FROM public.t";

/// Gives a view a schedule whose slot is due now.
pub(crate) async fn slot_due(db: &Database, id: &str) {
    db.execute(&format!(
        "INSERT INTO pgauto_mv.schedules (name, every, timezone, anchor) VALUES ('hourly', '1 hour', 'UTC', clock_timestamp() - interval '1 min')
         ON CONFLICT DO NOTHING;
         UPDATE pgauto_mv.materialised_views SET schedule_id = (SELECT schedule_id FROM pgauto_mv.schedules) WHERE auto_mv_id = '{id}';
         SELECT pgauto_mv._queue_slot('{id}', clock_timestamp() - interval '1 s')"
    ))
    .await;
}

/// A dispatch by hand.
pub(crate) async fn dispatch(db: &Database, id: &str) {
    db.execute(&dispatch_sql(id)).await;
}

pub(crate) fn dispatch_sql(id: &str) -> String {
    format!("SELECT pgauto_mv._process_pending('{id}')")
}

/// Starts a dispatch on a session of its own, for tests in which it has to wait.
pub(crate) async fn begin_dispatch(db: &Database, id: &str) -> tokio::task::JoinHandle<()> {
    let session = db.connect().await;
    let sql = dispatch_sql(id);
    tokio::spawn(async move { run(&session, &sql).await })
}

/// Runs statements on a session of its own.
pub(crate) async fn run(session: &Client, sql: &str) {
    let result = session.batch_execute(sql).await;
    result.unwrap_or_else(|error| panic!("{sql}\n{}", describe(&error)));
}

/// Lets seconds seem to have passed.
pub(crate) async fn pass(db: &Database, seconds: f64) {
    db.execute(&format!("SELECT public.pass({seconds} * interval '1 s')"))
        .await;
}

/// A column of `mv_state_v` as text; "" for NULL.
pub(crate) async fn state(db: &Database, id: &str, expression: &str) -> String {
    let sql = format!(
        "SELECT coalesce(({expression})::text, '') FROM pgauto_mv.mv_state_v WHERE auto_mv_id = '{id}'"
    );
    db.query_one(&sql, &[]).await
}

/// The log of a view, oldest first: source, outcome and what was used, such as `event ok plain` or `schedule skipped: inactive`.
pub(crate) async fn log(db: &Database, id: &str) -> Vec<String> {
    let sql = format!(
        "SELECT refresh_source || CASE WHEN skip_reason IS NOT NULL THEN ' skipped: ' || skip_reason
                WHEN success THEN CASE WHEN concurrent THEN ' ok concurrent' ELSE ' ok plain' END
                ELSE ' failed ' || sqlstate END
         FROM pgauto_mv.mv_refresh_log WHERE auto_mv_id = '{id}' ORDER BY log_id"
    );
    let rows = db.rows(&sql, &[]).await;
    rows.iter().map(|row| row.get(0)).collect()
}

/// The latest row of `log()`; "" when there is none.
pub(crate) async fn last_logged(db: &Database, id: &str) -> String {
    log(db, id).await.pop().unwrap_or_default()
}

/// The pending dispatches of a view, as seconds from now, earliest first.
pub(crate) async fn dispatches(db: &Database, id: &str) -> Vec<f64> {
    let sql = format!(
        "SELECT extract(epoch FROM run_at - clock_timestamp())::float8 FROM pgrelay.queue
         WHERE status = 'pending' AND expire_at IS NULL AND payload = '{id}' AND channel = 'pg_auto_mv.refresh_materialised_view'
         ORDER BY run_at"
    );
    let rows = db.rows(&sql, &[]).await;
    rows.iter().map(|row| row.get(0)).collect()
}

/// How many events there are but for the upkeep, which is always coming.
pub(crate) const QUEUED: &str = "SELECT count(*) FROM pgrelay.queue WHERE status = 'pending' AND channel <> 'pg_auto_mv.upkeep'";

/// An upkeep by hand.
pub(crate) async fn upkeep(db: &Database) {
    db.execute("SELECT pgauto_mv._upkeep()").await;
}

/// Forgets the pending dispatches, as if a Processor had claimed them for the dispatch that the test runs by hand.
pub(crate) async fn claim_dispatches(db: &Database) {
    db.execute(
        "DELETE FROM pgrelay.queue WHERE status = 'pending' AND channel <> 'pg_auto_mv.upkeep'",
    )
    .await;
}

/// Fails unless `dispatches()` has exactly one entry, this many seconds from now, give or take one.
pub(crate) async fn one_dispatch_in(db: &Database, id: &str, seconds: f64) {
    let seen = dispatches(db, id).await;
    assert!(
        seen.len() == 1 && (seen[0] - seconds).abs() < 1.5,
        "one dispatch in {seconds} s was expected: {seen:?}"
    );
}

/// Whether a view shows what its definition gives now.
pub(crate) async fn is_fresh(db: &Database, view: &str, definition: &str) -> bool {
    let sql = format!(
        "SELECT (SELECT array_agg(x ORDER BY x) FROM (SELECT m::text AS x FROM {view} AS m) AS a)
             IS NOT DISTINCT FROM
             (SELECT array_agg(x ORDER BY x) FROM (SELECT d::text AS x FROM ({definition}) AS d) AS b)"
    );
    db.query_one(&sql, &[]).await
}

/// State, log and queue, for a person who wants to know why a view is not fresh.
pub(crate) async fn everything(db: &Database) -> String {
    let seen = "SELECT jsonb_pretty(jsonb_build_object(
        'state', (SELECT jsonb_agg(to_jsonb(v)) FROM pgauto_mv.mv_state_v AS v),
        'log', (SELECT jsonb_agg(to_jsonb(l) ORDER BY l.log_id) FROM (SELECT * FROM pgauto_mv.mv_refresh_log ORDER BY log_id DESC LIMIT 5) AS l),
        'queue', (SELECT jsonb_agg(to_jsonb(q)) FROM pgrelay.queue AS q WHERE q.status = 'pending')))";
    db.query_one(seen, &[]).await
}

/// Waits until a view shows what its definition gives now.
pub(crate) async fn until_fresh(db: &Database, view: &str, definition: &str, limit: Duration) {
    let what = format!("{view} to be fresh");
    wait::until(&what, limit, || async {
        if is_fresh(db, view, definition).await {
            return Ok(());
        }
        Err(everything(db).await)
    })
    .await;
}
