//! Storing what went wrong never fails itself: odd characters are escaped, and what is too long is cut.

use fleet_tests::database::Database;
use fleet_tests::processor::Processor;

use crate::steps::{register, run_one};

const RAISE: &str = "CREATE FUNCTION raise_text(p text) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION USING MESSAGE = p, DETAIL = 'in detail', HINT = 'a hint'; END $$";

#[tokio::test]
async fn control_characters_are_escaped_and_letters_are_kept() {
    let db = Database::with_schema().await;
    db.execute(RAISE).await;
    let action =
        r"SELECT raise_text(E'tab\t line\nbell\x07 escape\x1b[31m delete\x7f straße 𝄞 ' || $1)";
    register(&db, "c", action, "").await;
    let _processor = Processor::start(&db).await;
    let log = run_one(&db, "c", "quote'").await;
    assert_eq!(log.status, "error");
    assert_eq!(log.sqlstate.as_deref(), Some("P0001"));
    assert_eq!(
        log.error.as_deref(),
        Some(
            "tab\t line\nbell\\u{7} escape\\u{1b}[31m delete\\u{7f} straße 𝄞 quote'\nDETAIL: in detail\nHINT: a hint"
        )
    );
}

#[tokio::test]
async fn a_megabyte_is_cut_on_a_character() {
    let db = Database::with_schema().await;
    db.execute(RAISE).await;
    register(&db, "c", "SELECT raise_text(repeat($1, 500000))", "").await;
    let _processor = Processor::start(&db).await;
    for (payload, character) in [("é", 'é'), ("\u{1}", '\\'), ("x", 'x')] {
        let log = run_one(&db, "c", payload).await;
        assert_eq!(log.status, "error");
        let error = log.error.unwrap();
        assert!(
            (4096..=8192).contains(&error.len()),
            "{} bytes stored",
            error.len()
        );
        assert!(error.starts_with(character));
        assert!(error.ends_with('…'), "the cut is not marked");
    }
}

#[tokio::test]
async fn bytes_that_are_no_text_end_in_an_error_that_can_be_read() {
    let db = Database::with_schema().await;
    register(&db, "nul", "SELECT chr($1)", "").await;
    register(
        &db,
        "utf8",
        r"SELECT convert_from('\xc328'::bytea, 'UTF8'), $1::text",
        "",
    )
    .await;
    let _processor = Processor::start(&db).await;
    let log = run_one(&db, "nul", "0").await;
    assert_eq!(log.sqlstate.as_deref(), Some("54000"), "{log:?}");
    let log = run_one(&db, "utf8", "").await;
    assert_eq!(log.sqlstate.as_deref(), Some("22021"), "{log:?}");
    assert!(log.error.unwrap().contains("0xc3 0x28"));
}
