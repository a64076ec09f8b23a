//! Whoever asks, with whatever settings, gets the same slots; the zone of a new schedule is the database's, not the session's.

use crate::auto_mv_schedule_steps as schedules;

const SETTINGS: &[&str] = &[
    "",
    "SET TimeZone = 'Pacific/Auckland'",
    "SET TimeZone = 'America/New_York'",
    "SET TimeZone = 'UTC+5'; SET DateStyle = 'SQL, DMY'; SET IntervalStyle = 'sql_standard'",
    "SET DateStyle = 'German'; SET IntervalStyle = 'iso_8601'; SET extra_float_digits = 0",
    "SET search_path = evil, pg_catalog",
];

#[tokio::test]
async fn slots_are_the_same_in_every_session() {
    let db = schedules::database().await;
    db.execute(
        "SELECT pgauto_mv.create_schedule('fixed', '30 1,2 * * *', p_timezone => 'America/New_York');
         SELECT pgauto_mv.create_schedule('wild', '*/40 * * * *', p_timezone => 'Australia/Lord_Howe');
         SELECT pgauto_mv.create_schedule('rare', '0 0 29 2 *', p_timezone => 'Europe/Berlin');
         SELECT pgauto_mv.create_schedule('every', p_every => '1 day 90 minutes', p_timezone => 'Europe/London', p_anchor => '2026-01-01Z');
         CREATE SCHEMA evil;
         CREATE FUNCTION evil.timezone(text, timestamptz) RETURNS timestamp LANGUAGE sql AS 'SELECT NULL::timestamp';
         CREATE FUNCTION evil.date_part(text, timestamp) RETURNS double precision LANGUAGE sql AS 'SELECT 1::double precision'",
    )
    .await;
    let sql = "
        SELECT string_agg(concat_ws(' ', s.name, extract(epoch FROM p.slot)::bigint, p.local_time, p.note), E'\\n' ORDER BY s.name, p.slot)
        FROM pgauto_mv.schedules AS s
        CROSS JOIN LATERAL pgauto_mv.preview(s.name, 40, '2026-10-31T00:00:00Z') AS p";
    let mut answers = Vec::new();
    for settings in SETTINGS {
        let session = db.connect().await;
        session.batch_execute(settings).await.expect("settings");
        let row = session.query_one(sql, &[]).await.expect("slots");
        answers.push(row.get::<_, String>(0));
    }
    assert_eq!(answers[0].lines().count(), 160);
    for (settings, answer) in SETTINGS.iter().zip(&answers) {
        assert_eq!(answer, &answers[0], "{settings}");
    }
}

#[tokio::test]
async fn a_schedule_has_the_zone_of_its_database() {
    let db = schedules::database().await;
    let name = db.name().to_owned();
    db.execute(&format!(
        "ALTER DATABASE {name} SET TimeZone = 'Europe/Lisbon'"
    ))
    .await;
    let session = db.connect().await;
    let sql = "
        SET TimeZone = 'Asia/Tokyo';
        SELECT pgauto_mv.create_schedule('unnamed', '@daily');
        SELECT pgauto_mv.create_schedule('named', '@daily', p_timezone => 'asia/TOKYO')";
    session.batch_execute(sql).await.expect("schedules");
    let zones = "SELECT string_agg(s.timezone, ', ' ORDER BY s.name) FROM pgauto_mv.schedules AS s";
    let zones: String = db.query_one(zones, &[]).await;
    assert_eq!(zones, "Asia/Tokyo, Europe/Lisbon");
}

/// The session's reading of backslashes is no part of an expression's.
#[tokio::test]
async fn an_expression_is_read_alike_with_nonstandard_strings() {
    let db = schedules::database().await;
    let session = db.connect().await;
    let sql = "
        SET standard_conforming_strings = off;
        SELECT pgauto_mv.create_schedule('odd', '  */20\t1-3/2  ?  JAN-MAR  FRIL ', p_timezone => 'UTC')";
    session.batch_execute(sql).await.expect("a schedule");
    db.execute("SELECT pgauto_mv.create_schedule('plain', '*/20 1-3/2 ? JAN-MAR FRIL', p_timezone => 'UTC')")
        .await;
    let alike =
        "SELECT count(DISTINCT s.fields::text) = 1 AND count(*) = 2 FROM pgauto_mv.schedules AS s";
    assert!(db.query_one::<bool>(alike, &[]).await);
}
