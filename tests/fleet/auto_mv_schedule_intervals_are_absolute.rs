//! An interval has a fixed length: its slots are at anchor + n × interval whatever the clock on the wall does.

use fleet_tests::database::Database;

use crate::auto_mv_schedule_steps as schedules;
use crate::steps::refusal;

/// Interval, anchor, time asked for, next slot, all in UTC.
const SLOTS: &[(&str, &str, &str, &str)] = &[
    (
        "15 minutes",
        "2026-01-01 00:00",
        "2026-01-01 00:00",
        "2026-01-01 00:15:00",
    ),
    (
        "15 minutes",
        "2026-01-01 00:00",
        "2026-01-01 00:14:59.999999",
        "2026-01-01 00:15:00",
    ),
    (
        "15 minutes",
        "2026-01-01 00:00",
        "2026-01-01 00:15",
        "2026-01-01 00:30:00",
    ),
    // Missed ones are left out.
    (
        "15 minutes",
        "2026-01-01 00:00",
        "2027-06-01 10:07",
        "2027-06-01 10:15:00",
    ),
    // The anchor need not be in the past.
    (
        "15 minutes",
        "2030-01-01 00:05",
        "2026-01-01 00:00",
        "2026-01-01 00:05:00",
    ),
    (
        "7 hours",
        "2030-01-01 00:00",
        "2029-12-31 16:59",
        "2029-12-31 17:00:00",
    ),
    (
        "1 second",
        "2026-01-01 00:00",
        "2026-01-01 00:00:00.5",
        "2026-01-01 00:00:01",
    ),
    (
        "90 seconds",
        "2026-01-01 00:00:00.25",
        "2026-01-01 00:00:00.25",
        "2026-01-01 00:01:30.25",
    ),
    // A day is 24 hours, also when the clock of the zone has 23 or 25 of them.
    (
        "1 day",
        "2026-03-07 07:00",
        "2026-03-07 07:00",
        "2026-03-08 07:00:00",
    ),
    (
        "1 day",
        "2026-03-07 07:00",
        "2026-03-08 07:00",
        "2026-03-09 07:00:00",
    ),
    (
        "1 week",
        "2026-10-28 05:00",
        "2026-10-28 05:00",
        "2026-11-04 05:00:00",
    ),
    (
        "366 days",
        "2026-01-01 00:00",
        "2026-01-01 00:00",
        "2027-01-02 00:00:00",
    ),
];

const REFUSED: &[(&str, &str)] = &[
    (
        "1 month",
        "an interval of months or years has no fixed length",
    ),
    (
        "1 year",
        "an interval of months or years has no fixed length",
    ),
    (
        "1 month -30 days",
        "an interval of months or years has no fixed length",
    ),
    (
        "0",
        "an interval must be whole seconds, at least one and at most 366 days",
    ),
    (
        "-5 minutes",
        "an interval must be whole seconds, at least one and at most 366 days",
    ),
    (
        "500 milliseconds",
        "an interval must be whole seconds, at least one and at most 366 days",
    ),
    (
        "1.5 seconds",
        "an interval must be whole seconds, at least one and at most 366 days",
    ),
    (
        "367 days",
        "an interval must be whole seconds, at least one and at most 366 days",
    ),
];

async fn next_slot(db: &Database, schedule: &str, after: &str) -> String {
    let sql = "
        SELECT (pgauto_mv._next_slot(s.schedule_id, ($2 || ' UTC')::timestamptz) AT TIME ZONE 'UTC')::text
        FROM pgauto_mv.schedules AS s
        WHERE s.name = $1";
    db.query_one(sql, &[&schedule, &after]).await
}

#[tokio::test]
async fn slots_are_whole_intervals_from_the_anchor() {
    let db = schedules::database().await;
    for (n, (every, anchor, after, expected)) in SLOTS.iter().enumerate() {
        let name = format!("number {n}");
        db.execute(&format!(
            "SELECT pgauto_mv.create_schedule('{name}', p_every => '{every}', p_timezone => 'America/New_York', p_anchor => '{anchor} UTC')"
        ))
        .await;
        assert_eq!(
            next_slot(&db, &name, after).await,
            *expected,
            "{every} from {anchor} after {after}"
        );
    }
}

#[tokio::test]
async fn the_anchor_is_the_last_midnight_unless_given() {
    let db = schedules::database().await;
    db.execute(
        "SELECT pgauto_mv.create_schedule('s', p_every => '6 hours', p_timezone => 'Asia/Kolkata')",
    )
    .await;
    let sql = "
        SELECT (s.anchor AT TIME ZONE 'Asia/Kolkata')::time = '00:00'
               AND s.anchor <= s.created_at AND s.anchor > s.created_at - interval '24 hours'
        FROM pgauto_mv.schedules AS s";
    assert!(db.query_one::<bool>(sql, &[]).await);
}

#[tokio::test]
async fn what_has_no_fixed_length_or_none_to_speak_of_is_refused() {
    let db = schedules::database().await;
    let session = db.connect().await;
    for (every, message) in REFUSED {
        let sql = format!("SELECT pgauto_mv.create_schedule('s', p_every => '{every}')");
        let refusal = refusal(&session, &sql).await;
        assert_eq!(
            (refusal.sqlstate.as_str(), refusal.message.as_str()),
            ("PM003", *message),
            "{every}"
        );
        assert!(
            refusal.detail.is_some() && refusal.hint.is_some(),
            "{every}"
        );
    }
}
