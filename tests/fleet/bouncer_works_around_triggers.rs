//! Triggers of a table that is somebody else's may raise, refuse or suppress what they like: what can be moved is moved, and what cannot is told.

use std::time::Duration;

use fleet_tests::bouncer;
use fleet_tests::command::Output;
use fleet_tests::database::Database;
use fleet_tests::wait;

use crate::ingress;

/// Messages that failed at a stage, in one statement.
async fn stuck(db: &Database, count: i64) {
    let sql = "INSERT INTO pepsi.ingress (stage, status, sender, recipients, message)
               SELECT 'relay', 'failed', 'ann@example.org', '[]', 'hello' FROM generate_series(1, $1::bigint)";
    db.rows(sql, &[&count]).await;
}

/// A trigger before each row's update (`FOR EACH ROW`) or after each statement's, with `body` in it.
async fn trigger(db: &Database, timing: &str, body: &str) {
    db.execute(&format!(
        "CREATE FUNCTION public.meddle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} END $$;
         CREATE TRIGGER meddle {timing} EXECUTE FUNCTION public.meddle();"
    ))
    .await;
}

const EACH_ROW: &str = "BEFORE UPDATE ON pepsi.ingress FOR EACH ROW";

async fn once(db: &Database) -> Output {
    bouncer::builder(db).arg("--once").run().await
}

async fn at_bounce(db: &Database) -> i64 {
    let sql = "SELECT count(*) FROM pepsi.ingress WHERE stage = 'bounce' AND status = 'pending'";
    db.query_one(sql, &[]).await
}

#[tokio::test]
async fn that_raise_an_sqlstate_of_their_own() {
    for state in ["PE001", "42501", "55000", "0A000"] {
        let db = bouncer::database().await;
        stuck(&db, 3).await;
        let body = format!(
            "IF NEW.id = 2 THEN RAISE EXCEPTION 'swordfish' USING ERRCODE = '{state}', DETAIL = 'swordfish'; END IF; RETURN NEW;"
        );
        trigger(&db, EACH_ROW, &body).await;
        let output = once(&db).await;
        assert_eq!(output.code, 76, "{output}");
        assert_eq!(at_bounce(&db).await, 2, "{output}");
        let told = format!("message 2 stuck: pepsi.ingress refuses the move (SQLSTATE {state})");
        assert!(output.stderr.contains(&told), "{output}");
        assert!(!output.stderr.contains("swordfish"), "{output}");
    }
}

#[tokio::test]
async fn whose_words_are_not_repeated_when_they_look_like_the_server_s() {
    let db = bouncer::database().await;
    stuck(&db, 1).await;
    let body = "RAISE EXCEPTION 'swordfish' USING ERRCODE = '53200', DETAIL = 'swordfish';";
    trigger(&db, EACH_ROW, body).await;
    let output = once(&db).await;
    assert_eq!(output.code, 69, "{output}");
    assert!(output.stderr.contains("SQLSTATE 53200"), "{output}");
    assert!(!output.stderr.contains("swordfish"), "{output}");
}

#[tokio::test]
async fn that_refuse_very_many_before_one_that_goes() {
    let db = bouncer::database().await;
    stuck(&db, 1_200).await;
    let body = "IF NEW.id <= 1100 THEN RAISE EXCEPTION 'no'; END IF; RETURN NEW;";
    trigger(&db, EACH_ROW, body).await;
    let output = once(&db).await;
    assert_eq!(
        output.stdout, "bounced 100 (failed 100, timeout 0), left 0 at stage bounce\n",
        "{output}"
    );
    assert_eq!(output.code, 76, "{output}");
    // The refusals of two batches are one line.
    let told = "message 1 and 1099 others stuck: pepsi.ingress refuses the move (SQLSTATE P0001)";
    assert_eq!(output.stderr.matches(" stuck: ").count(), 1, "{output}");
    assert!(output.stderr.contains(told), "{output}");
}

#[tokio::test]
async fn that_refuse_some_in_each_batch_of_every_sweep() {
    let db = bouncer::database().await;
    stuck(&db, 1_200).await;
    let body = "IF NEW.id IN (1, 1100) THEN RAISE EXCEPTION 'no'; END IF; RETURN NEW;";
    trigger(&db, EACH_ROW, body).await;
    // Both stay: one in each of two batches at first, both in one later on. The tenth time it would be told again.
    let mut bouncer = bouncer::start(bouncer::builder(&db).set("SWEEP_INTERVAL", "250ms")).await;
    bouncer
        .wait_for_log(" stuck: ", Duration::from_secs(20))
        .await;
    wait::while_holding("one line", Duration::from_secs(1), || async {
        bouncer.logs().matches(" stuck: ").count() == 1
    })
    .await;
    let log = bouncer.logs();
    assert!(log.contains("message 1 and 1 others stuck"), "{log}");
}

#[tokio::test]
async fn that_suppress_the_move() {
    let db = bouncer::database().await;
    stuck(&db, 3).await;
    trigger(
        &db,
        EACH_ROW,
        "IF NEW.id = 2 THEN RETURN NULL; END IF; RETURN NEW;",
    )
    .await;
    let output = once(&db).await;
    assert_eq!(output.code, 76, "{output}");
    assert_eq!(at_bounce(&db).await, 2, "{output}");
    assert!(
        output
            .stderr
            .contains("1 messages stuck: their move has no effect"),
        "{output}"
    );
}

#[tokio::test]
async fn that_let_no_large_batch_come_to_its_end() {
    let db = bouncer::database().await;
    stuck(&db, 500).await;
    // As the server would after statement_timeout, but at once.
    trigger(
        &db,
        "AFTER UPDATE ON pepsi.ingress REFERENCING NEW TABLE AS moved FOR EACH STATEMENT",
        "IF (SELECT count(*) FROM moved) > 100 THEN RAISE EXCEPTION 'slow' USING ERRCODE = '57014'; END IF; RETURN NULL;",
    )
    .await;
    let output = once(&db).await;
    assert_eq!(output.code, 0, "{output}");
    assert_eq!(at_bounce(&db).await, 500);
    let batches = "SELECT count(DISTINCT xmin::text) FROM pepsi.ingress_trail";
    assert!(db.query_one::<i64>(batches, &[]).await < 20);
}

#[tokio::test]
async fn that_run_into_a_conflict_which_passes() {
    let db = bouncer::database().await;
    stuck(&db, 3).await;
    db.execute("CREATE SEQUENCE public.tries; GRANT ALL ON SEQUENCE public.tries TO PUBLIC")
        .await;
    // As a row does that another bouncer moves to another partition.
    let body = "IF nextval('public.tries') <= 2 THEN RAISE EXCEPTION 'moved' USING ERRCODE = '40001'; END IF; RETURN NEW;";
    trigger(&db, EACH_ROW, body).await;
    let output = once(&db).await;
    assert_eq!((output.code, at_bounce(&db).await), (0, 3), "{output}");
}

#[tokio::test]
async fn and_ids_that_look_like_lines() {
    let db = Database::empty().await;
    db.execute(
        "CREATE SCHEMA pepsi;
         CREATE TABLE pepsi.ingress (id text PRIMARY KEY, stage text, status text CHECK (status <> 'pending'));
         INSERT INTO pepsi.ingress VALUES (E'1\\nERROR forged\\u2028' || repeat('x', 5000), 'relay', 'failed')",
    )
    .await;
    let builder = bouncer::builder(&db).set_in("pepsi-postgres", "USER", db.endpoint().user());
    let output = builder.arg("--once").run().await;
    assert_eq!(output.code, 76, "{output}");
    let line = output.stderr.lines().find(|line| line.contains(" stuck: "));
    let line = line.unwrap_or_else(|| panic!("{output}"));
    assert!(line.contains("message 1 ERROR forged x"), "{line}");
    assert!(line.len() < 500, "{line}");
    ingress_is_untouched(&db).await;
}

async fn ingress_is_untouched(db: &Database) {
    let sql = "SELECT stage || '/' || status FROM pepsi.ingress";
    assert_eq!(db.query_one::<String>(sql, &[]).await, "relay/failed");
}

#[tokio::test]
async fn and_a_database_that_ends_idle_sessions() {
    let db = bouncer::database().await;
    db.execute(&format!(
        "ALTER DATABASE {} SET idle_session_timeout = '300ms'",
        db.name()
    ))
    .await;
    let bouncer = bouncer::start(bouncer::builder(&db).set("SWEEP_INTERVAL", "1d")).await;
    wait::while_holding("both sessions", Duration::from_secs(2), || async {
        !bouncer.logs().contains("not listening") && !bouncer.logs().contains("not bouncing")
    })
    .await;
    let id = ingress::stuck(&db, "relay", "failed").await;
    ingress::wait_until_bounced(&db, id, wait::SOON).await;
}
