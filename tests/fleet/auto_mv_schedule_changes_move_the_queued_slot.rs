//! Whatever is done to a schedule or an assignment, each active view has one event for its next slot in the queue, at the time the schedule says now.

use fleet_tests::database::Database;

use crate::auto_mv_schedule_steps as schedules;
use crate::steps::refusal;

/// Views `v1` and `v2`, registered, and a schedule at three o'clock in Berlin.
async fn views() -> Database {
    let db = schedules::database().await;
    db.execute(
        "CREATE TABLE source (i integer);
         CREATE MATERIALIZED VIEW v1 AS SELECT * FROM source;
         CREATE MATERIALIZED VIEW v2 AS SELECT * FROM source;
         SELECT pgauto_mv.register('v1'), pgauto_mv.register('v2');
         SELECT pgauto_mv.create_schedule('nightly', '0 3 * * *', p_timezone => 'Europe/Berlin')",
    )
    .await;
    db
}

/// The local time of each view's next slot, as its state, its event in the queue and its schedule agree on it; `-` for none.
async fn slots(db: &Database) -> String {
    let sql = "
        SELECT string_agg(concat(v.mv_name, ' ', coalesce(to_char(t.next_scheduled_at AT TIME ZONE 'Europe/Berlin', 'HH24:MI'), '-')), ', ' ORDER BY v.mv_name),
               bool_and(t.next_scheduled_at IS NOT DISTINCT FROM q.run_at),
               bool_and(t.next_scheduled_at IS NULL OR t.next_scheduled_at = pgauto_mv._next_slot(v.schedule_id, clock_timestamp())),
               count(*) FILTER (WHERE q.id IS NOT NULL)
                   = (SELECT count(*) FROM pgrelay.queue AS p WHERE p.run_at > clock_timestamp() AND p.expire_at IS NULL
                        AND p.channel <> 'pg_auto_mv.upkeep')
        FROM pgauto_mv.materialised_views AS v
        LEFT JOIN pgauto_mv.mv_state AS t ON t.auto_mv_id = v.auto_mv_id
        LEFT JOIN pgrelay.queue AS q ON q.id = t.scheduled_queue_id AND q.status = 'pending' AND q.expire_at IS NULL";
    let rows = db.rows(sql, &[]).await;
    let said: String = rows[0].get(0);
    assert!(
        rows[0].get::<_, bool>(1),
        "{said}, but in the queue otherwise"
    );
    assert!(
        rows[0].get::<_, bool>(2),
        "{said}, but the schedule says otherwise"
    );
    assert!(
        rows[0].get::<_, bool>(3),
        "{said}, but other events are in the queue"
    );
    said
}

#[tokio::test]
async fn each_call_leaves_one_event_at_the_right_time() {
    let db = views().await;
    let steps = [
        ("SELECT 1", "v1 -, v2 -"),
        (
            "SELECT pgauto_mv.assign_schedule('v1', 'nightly')",
            "v1 03:00, v2 -",
        ),
        (
            "SELECT pgauto_mv.assign_schedule('v2', 'nightly')",
            "v1 03:00, v2 03:00",
        ),
        (
            "SELECT pgauto_mv.assign_schedule('v2', 'nightly')",
            "v1 03:00, v2 03:00",
        ),
        (
            "SELECT pgauto_mv.update_schedule('nightly', p_cron => '30 4 * * *')",
            "v1 04:30, v2 04:30",
        ),
        (
            "SELECT pgauto_mv.update_schedule('nightly', p_timezone => 'UTC', p_cron => '0 0 1 1 *')",
            "v1 01:00, v2 01:00",
        ),
        (
            "SELECT pgauto_mv.update_schedule('nightly', p_new_name => 'yearly')",
            "v1 01:00, v2 01:00",
        ),
        (
            "SELECT pgauto_mv.create_schedule('noon', '0 12 * * *', p_timezone => 'Europe/Berlin');
          SELECT pgauto_mv.assign_schedule('v1', 'noon')",
            "v1 12:00, v2 01:00",
        ),
        (
            "SELECT pgauto_mv.update_schedule('yearly', p_enabled => false)",
            "v1 12:00, v2 -",
        ),
        (
            "SELECT pgauto_mv.update_schedule('yearly', p_enabled => true)",
            "v1 12:00, v2 01:00",
        ),
        ("SELECT pgauto_mv.unassign_schedule('v2')", "v1 12:00, v2 -"),
        ("SELECT pgauto_mv.unassign_schedule('v2')", "v1 12:00, v2 -"),
        ("SELECT pgauto_mv.drop_schedule('yearly')", "v1 12:00, v2 -"),
        (
            "SELECT pgauto_mv.update_schedule('noon', p_every => '8784 hours', p_anchor => '2020-01-01 09:00+01')",
            "v1 09:00, v2 -",
        ),
    ];
    for (sql, expected) in steps {
        db.execute(sql).await;
        assert_eq!(slots(&db).await, expected, "{sql}");
    }
}

#[tokio::test]
async fn an_inactive_view_gets_its_slot_when_it_becomes_active() {
    let db = views().await;
    db.execute(
        "SELECT pgauto_mv.update('v1', p_is_active => false);
         SELECT pgauto_mv.assign_schedule('v1', 'nightly');
         SELECT pgauto_mv.update_schedule('nightly', p_cron => '30 4 * * *')",
    )
    .await;
    assert_eq!(slots(&db).await, "v1 -, v2 -");
    db.execute("SELECT pgauto_mv.update('v1', p_is_active => true)")
        .await;
    assert_eq!(slots(&db).await, "v1 04:30, v2 -");
}

#[tokio::test]
async fn a_slot_that_is_due_is_served_before_the_new_rule_counts() {
    let db = views().await;
    db.execute(
        "SELECT pgauto_mv.assign_schedule('v1', 'nightly');
         UPDATE pgauto_mv.mv_state SET next_scheduled_at = clock_timestamp() - interval '1 minute' WHERE next_scheduled_at IS NOT NULL;
         SELECT pgauto_mv.update_schedule('nightly', p_cron => '30 4 * * *')",
    )
    .await;
    let due = "SELECT t.next_scheduled_at < clock_timestamp() FROM pgauto_mv.mv_state AS t WHERE t.next_scheduled_at IS NOT NULL";
    assert!(db.query_one::<bool>(due, &[]).await, "the due slot is gone");
    db.execute("SELECT pgauto_mv._process_pending(v.auto_mv_id) FROM pgauto_mv.materialised_views AS v WHERE v.mv_name = 'v1'")
        .await;
    assert_eq!(slots(&db).await, "v1 04:30, v2 -");
}

#[tokio::test]
async fn a_schedule_in_use_is_not_dropped() {
    let db = views().await;
    db.execute("SELECT pgauto_mv.assign_schedule('v1', 'nightly'), pgauto_mv.assign_schedule('v2', 'nightly')").await;
    let session = db.connect().await;
    let refusal = refusal(&session, "SELECT pgauto_mv.drop_schedule('nightly')").await;
    assert_eq!(refusal.sqlstate, "PM004");
    assert_eq!(refusal.message, "schedule 'nightly' is in use");
    assert_eq!(
        refusal.detail.as_deref(),
        Some("Assigned to it: public.v1, public.v2")
    );
    assert!(
        refusal
            .hint
            .is_some_and(|hint| hint.contains("unassign_schedule"))
    );
}
