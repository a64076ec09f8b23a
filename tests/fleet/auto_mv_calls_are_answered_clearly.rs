//! Mistakes of callers get our own SQLSTATEs with the place, the value and a way out; roles can do their calls and nothing else.

use fleet_tests::database::Database;

use crate::auto_mv_steps::{counted, database, register, run, state};
use crate::steps::refusal;

/// Calls, the SQLSTATE each raises, and what its message says.
const MISTAKES: &[(&str, &str, &str)] = &[
    ("register('public.mv')", "PM002", "already registered"),
    (
        "register('public.t')",
        "PM003",
        "must be a materialised view",
    ),
    (
        "register('public.plain')",
        "PM003",
        "must be a materialised view",
    ),
    ("register(NULL)", "PM003", "must be a materialised view"),
    (
        "register('public.free', -1)",
        "PM003",
        "p_refresh_lag must be",
    ),
    (
        "register('public.free', NULL)",
        "PM003",
        "p_refresh_lag must be",
    ),
    (
        "register('public.free', p_max_wait => -1)",
        "PM003",
        "p_max_wait must be",
    ),
    (
        "register('public.free', p_cooldown => 40000000)",
        "PM003",
        "p_cooldown must be",
    ),
    (
        "register('public.free', p_index_policy => 'x')",
        "PM003",
        "p_index_policy must be",
    ),
    (
        "register('public.free', p_events => '{select}')",
        "PM003",
        "p_events may hold",
    ),
    (
        "register('public.free', p_lock_timeout => '0')",
        "PM003",
        "p_lock_timeout must be",
    ),
    (
        "register('public.free', p_retry_growth => 0.5)",
        "PM003",
        "p_retry_growth must be",
    ),
    (
        "register('public.free', p_retry_max => 1)",
        "PM003",
        "p_retry_max must be",
    ),
    (
        "register('public.free', p_suspend_after => -1)",
        "PM003",
        "p_suspend_after must be",
    ),
    (
        "register('public.free', p_keep_log => '-1 s')",
        "PM003",
        "p_keep_log must not",
    ),
    (
        "register('public.free', p_concurrent => true)",
        "PM005",
        "cannot be refreshed concurrently",
    ),
    (
        "register('public.free', p_sources => '{public.plain}')",
        "PM005",
        "cannot be a source",
    ),
    (
        "register('public.free', p_sources => ARRAY[NULL]::regclass[])",
        "PM005",
        "cannot be a source",
    ),
    ("update('public.free')", "PM001", "not registered"),
    (
        "update('public.mv', p_cooldown => -1)",
        "PM003",
        "p_cooldown must be",
    ),
    ("unregister('public.free')", "PM001", "not registered"),
    (
        "unregister_missing(gen_random_uuid())",
        "PM001",
        "not registered",
    ),
    ("refresh('public.free')", "PM001", "not registered"),
    ("resume('public.free')", "PM001", "not registered"),
    (
        "chain('public.mv', 'public.free')",
        "PM001",
        "not registered",
    ),
];

#[tokio::test]
async fn mistakes_raise_our_own_sqlstates() {
    let db = database().await;
    counted(&db, "").await;
    db.execute("CREATE MATERIALIZED VIEW public.free AS SELECT 1 AS n; CREATE VIEW public.plain AS SELECT 1 AS n").await;
    let session = db.connect().await;
    for (call, sqlstate, message) in MISTAKES {
        let refused = refusal(&session, &format!("SELECT pgauto_mv.{call}")).await;
        assert_eq!(refused.sqlstate, *sqlstate, "{call}: {refused:?}");
        assert!(refused.message.contains(message), "{call}: {refused:?}");
        assert!(
            refused.detail.is_some() || refused.hint.is_some(),
            "{call}: {refused:?}"
        );
    }
    let refused = refusal(&session, "SELECT pgauto_mv.register('public.free', -1)").await;
    assert_eq!(refused.detail.as_deref(), Some("refresh_lag = -1"));
    let present =
        "SELECT pgauto_mv.unregister_missing(auto_mv_id) FROM pgauto_mv.materialised_views";
    assert_eq!(refusal(&session, present).await.sqlstate, "PM004");
}

/// Runs the test's statements as a member of one role, and gives those that were refused for lack of privileges.
async fn refused_to(db: &Database, role: &str, statements: &[&str]) -> Vec<String> {
    let login = format!("{}_{role}", db.name());
    db.execute(&format!("CREATE ROLE {login}; GRANT {role} TO {login}"))
        .await;
    let session = db.as_role(&login).await;
    let mut refused = Vec::new();
    for statement in statements {
        if let Err(error) = session.batch_execute(statement).await {
            assert_eq!(
                error.code().map(tokio_postgres::error::SqlState::code),
                Some("42501"),
                "{statement}: {error:?}"
            );
            refused.push((*statement).to_owned());
        }
    }
    drop(session);
    db.execute(&format!("DROP OWNED BY {login}; DROP ROLE {login}"))
        .await;
    refused
}

#[tokio::test]
async fn each_role_can_do_its_calls_and_nothing_else() {
    let db = database().await;
    let id = counted(&db, "").await;
    let (process, sync) = (
        format!("SELECT pgauto_mv._process_pending('{id}')"),
        format!("SELECT pgauto_mv._sync_mv('{id}')"),
    );
    let calls = [
        "SELECT pgauto_mv.update('public.mv', 1), pgauto_mv.refresh('public.mv'), pgauto_mv.resume('public.mv'), pgauto_mv.reconcile()",
        "TABLE pgauto_mv.mv_state_v",
        "TABLE pgauto_mv.health",
        "TABLE pgauto_mv.mv_refresh_log",
        &process,
        &sync,
        "SELECT pgauto_mv._forget(gen_random_uuid())",
        "SELECT pgauto_mv._send(gen_random_uuid())",
        "DELETE FROM pgauto_mv.mv_events",
        "UPDATE pgauto_mv.materialised_views SET cooldown = 1",
    ];
    let [_, state, health, log, _, _, rest @ ..] = &calls;
    let mut of_admin = vec![calls[4], calls[5]];
    of_admin.extend(rest);
    assert_eq!(refused_to(&db, "pgauto_mv_admin", &calls).await, of_admin);
    let mut of_monitor = vec![calls[0]];
    of_monitor.extend(&of_admin);
    assert_eq!(
        refused_to(&db, "pgauto_mv_monitor", &calls).await,
        of_monitor
    );
    let mut of_processor = vec![calls[0], state, health, log];
    of_processor.extend(rest);
    assert_eq!(
        refused_to(&db, "pgrelay_processor", &calls).await,
        of_processor
    );
}

#[tokio::test]
async fn everything_in_the_schema_is_commented_and_closed_to_the_public() {
    let db = database().await;
    let bare = "SELECT coalesce(string_agg(what, ' '), '') FROM (
            SELECT 'function ' || p.proname AS what FROM pg_proc AS p
            WHERE p.pronamespace = 'pgauto_mv'::regnamespace
              AND (obj_description(p.oid, 'pg_proc') IS NULL
                   OR has_function_privilege('public', p.oid, 'EXECUTE') AND p.proname <> '_source_changed'
                   OR p.prosecdef AND p.proname <> '_source_changed'
                   AND ('search_path=pg_catalog, pg_temp' = ANY (p.proconfig)) IS NOT TRUE)
            UNION ALL
            SELECT 'relation ' || c.relname FROM pg_class AS c
            WHERE c.relnamespace = 'pgauto_mv'::regnamespace AND c.relkind IN ('r', 'v')
              AND (obj_description(c.oid, 'pg_class') IS NULL OR has_table_privilege('public', c.oid, 'SELECT'))
            UNION ALL
            SELECT 'column ' || c.relname || '.' || a.attname FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
            WHERE c.relnamespace = 'pgauto_mv'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
              AND col_description(c.oid, a.attnum) IS NULL) AS x";
    assert_eq!(db.query_one::<String>(bare, &[]).await, "");
}

#[tokio::test]
async fn an_installer_who_is_no_superuser_says_what_is_lacking() {
    let db = database().await;
    db.execute("CREATE TABLE public.t (id integer); CREATE MATERIALIZED VIEW public.mv AS SELECT count(*) AS n FROM public.t").await;
    let installer = format!("{}_installer", db.name());
    db.execute(&format!(
        "CREATE ROLE {installer}; GRANT pgrelay_admin, pgrelay_processor TO {installer}; GRANT USAGE ON SCHEMA pgauto_mv TO {installer};
         GRANT ALL ON ALL TABLES IN SCHEMA pgauto_mv, pgrelay TO {installer};
         DO $$ DECLARE f regprocedure; BEGIN
             FOR f IN SELECT oid FROM pg_proc WHERE pronamespace = 'pgauto_mv'::regnamespace AND prokind = 'f' LOOP
                 EXECUTE format('ALTER FUNCTION %s OWNER TO {installer}', f);
             END LOOP;
         END $$"
    ))
    .await;
    let session = db.connect().await;
    let refused = refusal(&session, "SELECT pgauto_mv.register('public.mv')").await;
    assert_eq!(refused.sqlstate, "PM006", "{refused:?}");
    assert!(refused.message.contains("may not refresh"), "{refused:?}");
    db.execute(&format!(
        "ALTER MATERIALIZED VIEW public.mv OWNER TO {installer}"
    ))
    .await;
    let refused = refusal(&session, "SELECT pgauto_mv.register('public.mv')").await;
    assert_eq!(refused.sqlstate, "PM006", "{refused:?}");
    assert_eq!(
        refused.hint,
        Some(format!("GRANT TRIGGER ON public.t TO {installer};"))
    );
    db.execute(&format!("GRANT TRIGGER, SELECT ON public.t TO {installer}; GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA pgauto_mv TO {installer}; GRANT ALL ON SCHEMA public TO {installer}")).await;
    let id = register(&db, "public.mv", "").await;
    run(&session, "INSERT INTO public.t VALUES (1)").await;
    run(&session, &crate::auto_mv_steps::dispatch_sql(&id)).await;
    assert_eq!(state(&db, &id, "is_pending").await, "false");
    db.execute(&format!(
        "DROP OWNED BY {installer} CASCADE; DROP ROLE {installer}"
    ))
    .await;
}

#[tokio::test]
async fn a_view_that_depends_on_the_clock_is_warned_of() {
    let db = database().await;
    db.execute(
        "CREATE TABLE public.t (id integer, at timestamptz, know text);
         CREATE VIEW public.recent AS SELECT id FROM public.t WHERE at > now() - interval '1 day';
         CREATE MATERIALIZED VIEW public.plain AS SELECT know AS \"now\" FROM public.t;
         CREATE MATERIALIZED VIEW public.behind AS SELECT count(*) AS n FROM public.recent;
         CREATE MATERIALIZED VIEW public.today AS SELECT count(*) AS n FROM public.t WHERE at >= current_date",
    )
    .await;
    for (view, warned) in [("plain", false), ("behind", true), ("today", true)] {
        let warnings = db
            .warnings(&format!("SELECT pgauto_mv.register('public.{view}')"))
            .await;
        let expected =
            format!("public.{view} depends on the current time and goes stale without a write");
        assert_eq!(warnings.contains(&expected), warned, "{view}: {warnings:?}");
    }
}
