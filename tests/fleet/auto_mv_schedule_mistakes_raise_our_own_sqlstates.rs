//! A caller's mistake with a schedule is refused with a SQLSTATE of our own, the value at fault, and the way on.

use crate::auto_mv_schedule_steps as schedules;
use crate::steps::refusal;

/// Statement, SQLSTATE, message, DETAIL.
const MISTAKES: &[(&str, &str, &str, &str)] = &[
    (
        "SELECT pgauto_mv.preview('none')",
        "PM001",
        "there is no schedule 'none'",
        "Schedules are listed in pgauto_mv.schedules.",
    ),
    (
        "SELECT pgauto_mv.update_schedule(NULL)",
        "PM001",
        "there is no schedule NULL",
        "Schedules are listed in pgauto_mv.schedules.",
    ),
    (
        "SELECT pgauto_mv.drop_schedule('none')",
        "PM001",
        "there is no schedule 'none'",
        "Schedules are listed in pgauto_mv.schedules.",
    ),
    (
        "SELECT pgauto_mv.assign_schedule('v', 'none')",
        "PM001",
        "there is no schedule 'none'",
        "Schedules are listed in pgauto_mv.schedules.",
    ),
    (
        "SELECT pgauto_mv.assign_schedule('w', 's')",
        "PM001",
        "public.w is not registered",
        "Registered views are listed in pgauto_mv.mv_state_v.",
    ),
    (
        "SELECT pgauto_mv.unassign_schedule('source')",
        "PM001",
        "public.source is not registered",
        "Registered views are listed in pgauto_mv.mv_state_v.",
    ),
    (
        "SELECT pgauto_mv.create_schedule('s', '@daily')",
        "PM002",
        "schedule 's' exists already",
        "p_name = 's'",
    ),
    (
        "SELECT pgauto_mv.update_schedule('s', p_new_name => 't')",
        "PM002",
        "schedule 't' exists already",
        "p_new_name = 't'",
    ),
    (
        "SELECT pgauto_mv.create_schedule('', '@daily')",
        "PM003",
        "schedule name must be 1 to 200 characters without control characters",
        "name = ''",
    ),
    (
        "SELECT pgauto_mv.create_schedule(E'a\\nb', '@daily')",
        "PM003",
        "schedule name must be 1 to 200 characters without control characters",
        "name = 'a\nb'",
    ),
    (
        "SELECT pgauto_mv.create_schedule(NULL, '@daily')",
        "PM003",
        "schedule name must be 1 to 200 characters without control characters",
        "name = NULL",
    ),
    (
        "SELECT pgauto_mv.create_schedule('n')",
        "PM003",
        "a schedule is either a cron expression or an interval",
        "p_cron = NULL, p_every = NULL",
    ),
    (
        "SELECT pgauto_mv.create_schedule('n', '@daily', '1 hour')",
        "PM003",
        "a schedule is either a cron expression or an interval",
        "p_cron = '@daily', p_every = '01:00:00'",
    ),
    (
        "SELECT pgauto_mv.create_schedule('n', '@daily', p_anchor => '2026-01-01 00:00Z')",
        "PM003",
        "a cron expression takes no anchor",
        "p_cron = '@daily', p_anchor = '2026-01-01 00:00:00+00'",
    ),
    (
        "SELECT pgauto_mv.create_schedule('n', p_every => '1 hour', p_anchor => 'infinity')",
        "PM003",
        "the anchor of an interval must be a time",
        "p_anchor = 'infinity'",
    ),
    (
        "SELECT pgauto_mv.create_schedule('n', '@daily', p_timezone => 'Mars/Phobos')",
        "PM003",
        "time zone 'Mars/Phobos' is not known",
        "p_timezone = 'Mars/Phobos'",
    ),
    (
        "SELECT pgauto_mv.create_schedule('n', '@daily', p_timezone => 'UTC+5')",
        "PM003",
        "time zone 'UTC+5' is not known",
        "p_timezone = 'UTC+5'",
    ),
    (
        "SELECT pgauto_mv.update_schedule('s', p_timezone => 'Foo5')",
        "PM003",
        "time zone 'Foo5' is not known",
        "p_timezone = 'Foo5'",
    ),
    (
        "SELECT pgauto_mv.preview('s', 0)",
        "PM003",
        "preview shows 1 to 1000 slots",
        "p_count = 0",
    ),
    (
        "SELECT pgauto_mv.preview('s', 1001)",
        "PM003",
        "preview shows 1 to 1000 slots",
        "p_count = 1001",
    ),
    (
        "SELECT pgauto_mv.preview('s', NULL)",
        "PM003",
        "preview shows 1 to 1000 slots",
        "p_count = NULL",
    ),
];

#[tokio::test]
async fn every_mistake_has_its_code_its_place_and_a_hint() {
    let db = schedules::database().await;
    db.execute(
        "CREATE TABLE source (i integer);
         CREATE MATERIALIZED VIEW v AS SELECT * FROM source;
         CREATE MATERIALIZED VIEW w AS SELECT * FROM source;
         SELECT pgauto_mv.register('v');
         SELECT pgauto_mv.create_schedule('s', '@daily'), pgauto_mv.create_schedule('t', '@daily')",
    )
    .await;
    let session = db.connect().await;
    session
        .batch_execute("SET TimeZone = 'UTC'")
        .await
        .expect("a zone");
    for (sql, sqlstate, message, detail) in MISTAKES {
        let refusal = refusal(&session, sql).await;
        assert_eq!(refusal.sqlstate, *sqlstate, "{sql}");
        assert_eq!(refusal.message, *message, "{sql}");
        assert_eq!(refusal.detail.as_deref(), Some(*detail), "{sql}");
        assert!(refusal.hint.is_some_and(|hint| !hint.is_empty()), "{sql}");
    }
    let kept: i64 = db
        .query_one(
            "SELECT count(*) FROM pgauto_mv.schedules WHERE cron = '@daily'",
            &[],
        )
        .await;
    assert_eq!(kept, 2);
}

/// Statement, and who may run it: a(dmin), m(onitor).
const CALLS: &[(&str, &str)] = &[
    ("SELECT pgauto_mv.create_schedule('n', '@daily')", "a"),
    (
        "SELECT pgauto_mv.update_schedule('s', p_cron => '@hourly')",
        "a",
    ),
    ("SELECT pgauto_mv.drop_schedule('s')", "a"),
    ("SELECT pgauto_mv.assign_schedule('v', 's')", "a"),
    ("SELECT pgauto_mv.unassign_schedule('v')", "a"),
    ("SELECT pgauto_mv.preview('s')", "am"),
    ("SELECT FROM pgauto_mv.schedules", "am"),
    ("UPDATE pgauto_mv.schedules SET cron = '@daily'", ""),
    ("DELETE FROM pgauto_mv.schedules", ""),
    ("SELECT pgauto_mv._next_slot(gen_random_uuid(), now())", ""),
    ("SELECT pgauto_mv._start_schedule(gen_random_uuid())", ""),
    ("SELECT pgauto_mv._parse_cron('@daily')", ""),
    ("SELECT pgauto_mv._zone('UTC')", ""),
];

#[tokio::test]
async fn each_role_can_do_its_calls_and_nothing_else() {
    let db = schedules::database().await;
    db.execute(
        "CREATE TABLE source (i integer);
         CREATE MATERIALIZED VIEW v AS SELECT * FROM source;
         SELECT pgauto_mv.register('v');
         SELECT pgauto_mv.create_schedule('s', '@daily')",
    )
    .await;
    for role in ["pgauto_mv_admin", "pgauto_mv_monitor", "pgrelay_producer"] {
        let session = db.as_role(role).await;
        let letter = role
            .strip_prefix("pgauto_mv_")
            .map_or('-', |name| name.as_bytes()[0].into());
        for (sql, allowed) in CALLS {
            session.batch_execute("BEGIN").await.expect("a transaction");
            if allowed.contains(letter) {
                let done = session.batch_execute(sql).await;
                done.unwrap_or_else(|error| {
                    panic!("{role}: {sql}: {}", fleet_tests::database::describe(&error))
                });
            } else {
                assert_eq!(
                    refusal(&session, sql).await.sqlstate,
                    "42501",
                    "{role}: {sql}"
                );
            }
            session.batch_execute("ROLLBACK").await.expect("a rollback");
        }
    }
}
