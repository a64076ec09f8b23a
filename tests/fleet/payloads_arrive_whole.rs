//! A payload reaches the action as it was given: of any type the action asks for, NULL, or megabytes long.

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;

use crate::steps::{all_ended, notify_with, only_log_row, refusal, register, run_one};

#[tokio::test]
async fn ten_megabytes_reach_the_action() {
    let db = Database::with_schema().await;
    db.execute("CREATE TABLE got (length int, hash text)").await;
    register(
        &db,
        "c",
        "INSERT INTO got SELECT octet_length($1), md5($1)",
        "",
    )
    .await;
    let _processor = Processor::start(&db).await;
    let id = notify_with(&db, "c", "repeat('0123456789', 1024 * 1024)").await;
    assert_eq!(only_log_row(&db, id).await.status, "ok");
    let sql = "SELECT length = 10 * 1024 * 1024 AND hash = md5(repeat('0123456789', 1024 * 1024)) FROM got";
    assert!(db.query_one::<bool>(sql, &[]).await);
}

#[tokio::test]
async fn sixteen_mebibytes_are_the_limit() {
    let db = Database::with_schema().await;
    db.execute("CREATE TABLE got (length int)").await;
    register(&db, "c", "INSERT INTO got SELECT octet_length($1)", "").await;
    let _processor = Processor::start(&db).await;
    let id = notify_with(&db, "c", "repeat('x', 16777216)").await;
    let session = db.connect().await;
    for sql in [
        "SELECT pgrelay.notify('c', repeat('x', 16777217))",
        "SELECT pgrelay.notify_many('c', ARRAY['small', repeat('x', 16777217)])",
    ] {
        let refused = refusal(&session, sql).await;
        assert_eq!(refused.sqlstate, "PR004");
        assert_eq!(
            refused.message,
            "payload of 16777217 bytes exceeds the limit of 16777216 bytes (16 MiB)"
        );
        assert_eq!(refused.detail.as_deref(), Some("channel = 'c'"));
        assert_eq!(
            refused.hint.as_deref(),
            Some("Store the data in a table of your own and send its key.")
        );
    }
    assert_eq!(only_log_row(&db, id).await.status, "ok");
    let length: i32 = db.query_one("SELECT length FROM got", &[]).await;
    assert_eq!(length, 16_777_216);
}

#[tokio::test]
async fn the_limit_counts_bytes_and_not_characters() {
    let db = Database::with_schema().await;
    register(&db, "c", "SELECT $1", "").await;
    let session = db.connect().await;
    let sql = "SELECT pgrelay.notify('c', repeat('ä', 8388609))";
    let refused = refusal(&session, sql).await;
    assert!(
        refused.message.starts_with("payload of 16777218 bytes"),
        "{refused:?}"
    );
}

#[tokio::test]
async fn no_payload_arrives_as_null_and_an_empty_one_as_empty() {
    let db = Database::with_schema().await;
    db.execute("CREATE TABLE got (id int, what text)").await;
    let action = "INSERT INTO got SELECT current_setting('pgrelay.event_id')::int, coalesce(quote_literal($1), 'null')";
    register(&db, "c", action, "").await;
    let _processor = Processor::start(&db).await;
    db.execute("SELECT pgrelay.notify('c'); SELECT pgrelay.notify('c', NULL); SELECT pgrelay.notify('c', '')")
        .await;
    all_ended(&db).await;
    let sql = "SELECT string_agg(what, ' ' ORDER BY id) FROM got";
    assert_eq!(db.query_one::<String>(sql, &[]).await, "null null ''");
}

#[tokio::test]
async fn the_parameter_takes_the_type_that_the_action_needs() {
    let db = Database::with_schema().await;
    db.execute(
        "CREATE TABLE got (what text);
        CREATE TYPE mood AS ENUM ('fine');
        CREATE FUNCTION keep(j jsonb) RETURNS void LANGUAGE sql AS $$ INSERT INTO got VALUES (j ->> 'a') $$;
        CREATE FUNCTION twice(i int) RETURNS void LANGUAGE sql AS $$ INSERT INTO got VALUES (i * 2) $$;
        CREATE PROCEDURE call_me(t timestamptz) LANGUAGE sql AS $$ INSERT INTO got VALUES (t AT TIME ZONE 'UTC') $$",
    )
    .await;
    let table = [
        ("SELECT keep($1)", r#"{"a": "json"}"#, "json"),
        ("SELECT twice($1)", "21", "42"),
        (
            "CALL call_me($1)",
            "2001-02-03 04:05:06+00",
            "2001-02-03 04:05:06",
        ),
        (
            "INSERT INTO got VALUES ($1::uuid)",
            "6BA7B810-9dad-11d1-80b4-00c04fd430c8",
            "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
        ),
        (
            "INSERT INTO got SELECT length($1::bytea)::text",
            "\\x0001ff",
            "3",
        ),
        ("INSERT INTO got VALUES ($1::mood)", "fine", "fine"),
        ("INSERT INTO got SELECT ($1::int[])[2]", "{1,2}", "2"),
        ("INSERT INTO got SELECT $1 || $1", "ab", "abab"),
        ("INSERT INTO got VALUES ('none')", "ignored", "none"),
        ("(SELECT twice($1))", "4", "8"),
        (
            "/* why */ -- so\n wItH x AS (INSERT INTO got VALUES ($1)) SELECT 1;",
            "odd",
            "odd",
        ),
    ];
    let _processor = Processor::start(&db).await;
    for (place, (action, payload, expected)) in table.into_iter().enumerate() {
        let channel = format!("c{place}");
        register(&db, &channel, action, "").await;
        let log = run_one(&db, &channel, payload).await;
        assert_eq!(log.status, "ok", "{action}: {log:?}");
        let sql = "DELETE FROM got RETURNING what";
        assert_eq!(db.query_one::<String>(sql, &[]).await, expected, "{action}");
    }
}

#[tokio::test]
async fn a_payload_that_does_not_fit_the_type_is_an_error() {
    let db = Database::with_schema().await;
    register(&db, "c", "SELECT $1::int", "max_retries := 3").await;
    let _processor = Processor::start(&db).await;
    let log = run_one(&db, "c", "twelve").await;
    assert_eq!(log.status, "error");
    assert_eq!(log.sqlstate.as_deref(), Some("22P02"));
    assert_eq!(run_one(&db, "c", "12").await.status, "ok");
}

#[tokio::test]
async fn many_payloads_become_events_in_their_order() {
    let db = Database::with_schema().await;
    db.execute("CREATE TABLE got (number bigint GENERATED ALWAYS AS IDENTITY, what text)")
        .await;
    let action = "INSERT INTO got (what) VALUES ($1)";
    register(&db, "c", action, "concurrency_mode := 'serial'").await;
    let sql = "SELECT pgrelay.notify_many('c', ARRAY['one', NULL, 'two', 'one'])";
    assert_eq!(db.query_one::<i64>(sql, &[]).await, 4);
    let sql = "SELECT pgrelay.notify_many('c', ARRAY[]::text[])";
    assert_eq!(db.query_one::<i64>(sql, &[]).await, 0);
    let sql = "SELECT pgrelay.notify_many('c', ARRAY['late'], run_at => now() + interval '1 hour', expire_at => now() + interval '2 hours')";
    assert_eq!(db.query_one::<i64>(sql, &[]).await, 1);
    let _processor = Processor::start(&db).await;
    let sql = "SELECT count(*) FROM pgrelay.queue WHERE status = 'done'";
    db.until_equals(sql, 4_i64, fleet_tests::wait::SOON).await;
    let sql = "SELECT string_agg(coalesce(what, '-'), ' ' ORDER BY number) FROM got";
    assert_eq!(db.query_one::<String>(sql, &[]).await, "one - two one");
}
