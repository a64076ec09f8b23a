//! A PEPSI database that somebody else made is served as it is, whatever the types of its columns, and `install` keeps its hands off it.

use std::time::Duration;

use fleet_tests::bouncer;
use fleet_tests::database::Database;
use fleet_tests::processor::command;
use fleet_tests::wait;
use serde_json::Value;

/// Their own table: other types, more columns, a trigger that fires the same topic.
const THEIRS: &str = "
    CREATE SCHEMA pepsi;
    CREATE TYPE pepsi.state AS ENUM ('pending', 'running', 'failed', 'timeout', 'done', 'quarantined');
    CREATE TABLE pepsi.ingress (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        body text NOT NULL DEFAULT 'hello',
        error text DEFAULT 'no route',
        status pepsi.state NOT NULL,
        stage varchar(20)
    );
    CREATE INDEX ON pepsi.ingress (status);
    CREATE FUNCTION pepsi.wake() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM pg_notify('ingress_failed', NEW.id::text);
        RETURN NULL;
    END $$;
    CREATE TRIGGER ingress_failed_notify AFTER UPDATE OF status ON pepsi.ingress
        FOR EACH ROW WHEN (NEW.status IN ('failed', 'timeout')) EXECUTE FUNCTION pepsi.wake();";

/// What the catalog says about everything in the schema.
async fn catalog(db: &Database) -> String {
    let sql = "
        SELECT string_agg(line, E'\\n' ORDER BY line) FROM (
            SELECT format('%s %s %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod)) AS line
            FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
            WHERE c.relnamespace = 'pepsi'::regnamespace
            UNION ALL
            SELECT pg_get_functiondef(p.oid) FROM pg_proc AS p WHERE p.pronamespace = 'pepsi'::regnamespace
            UNION ALL
            SELECT pg_get_triggerdef(t.oid) FROM pg_trigger AS t WHERE t.tgrelid = 'pepsi.ingress'::regclass
        ) AS everything";
    db.query_one(sql, &[]).await
}

#[tokio::test]
async fn with_its_own_types_and_without_our_trail() {
    let db = Database::empty().await;
    db.execute(THEIRS).await;
    let insert = "INSERT INTO pepsi.ingress (status, stage) VALUES ('failed', 'relay'), ('timeout', NULL), ('failed', 'bounce'), ('running', 'relay')";
    db.execute(insert).await;
    let builder = || bouncer::builder(&db).set_in("pepsi-postgres", "USER", db.endpoint().user());
    let check = builder().arg("--check").run().await;
    assert_eq!(
        (check.code, check.stdout.as_str()),
        (0, "ready\n"),
        "{check}"
    );
    let once = builder().arg("--once").run().await;
    assert_eq!(
        once.stdout, "bounced 2 (failed 1, timeout 1), left 1 at stage bounce\n",
        "{once}"
    );
    // Nothing but stage and status is touched.
    let kept = "SELECT count(*) FROM pepsi.ingress WHERE stage = 'bounce' AND status = 'pending' AND error = 'no route'";
    assert_eq!(db.query_one::<i64>(kept, &[]).await, 2);

    let _bouncer = bouncer::start(builder().set("SWEEP_INTERVAL", "1d")).await;
    db.execute("UPDATE pepsi.ingress SET status = 'timeout' WHERE status = 'running'")
        .await;
    db.until_equals(kept, 3_i64, wait::SOON).await;
}

#[tokio::test]
async fn whatever_can_be_an_id() {
    for (id, values) in [
        ("text", ["a", "b'); --", "ä \\ \"c\""]),
        ("integer", ["-1", "0", "2147483647"]),
        ("numeric", ["1.5", "-2", "1e30"]),
        ("char(8)", ["x", "y", "z"]),
        (
            "timestamptz",
            ["2020-01-01", "2021-01-01 12:00:00.000001", "infinity"],
        ),
    ] {
        let db = Database::empty().await;
        db.execute(&format!(
            "CREATE SCHEMA pepsi; CREATE TABLE pepsi.ingress (id {id} PRIMARY KEY, stage text, status text)"
        ))
        .await;
        for value in values {
            let insert = format!(
                "INSERT INTO pepsi.ingress VALUES ($1::text::{id}, 'relay', 'running') RETURNING 1"
            );
            db.rows(&insert, &[&value]).await;
        }
        let builder = bouncer::builder(&db).set_in("pepsi-postgres", "USER", db.endpoint().user());
        let _bouncer = bouncer::start(builder.set("SWEEP_INTERVAL", "1d")).await;
        // Their own trigger would do this.
        db.execute("UPDATE pepsi.ingress SET status = 'failed'; SELECT pg_notify('ingress_failed', id::text) FROM pepsi.ingress").await;
        let bounced =
            "SELECT count(*) FROM pepsi.ingress WHERE stage = 'bounce' AND status = 'pending'";
        db.until_equals(bounced, 3_i64, Duration::from_secs(20))
            .await;
    }
}

#[tokio::test]
async fn and_install_names_it_and_changes_nothing() {
    let db = Database::empty().await;
    db.execute(THEIRS).await;
    let before = catalog(&db).await;
    for arguments in [
        &["install", "--with", "pepsi"] as &[_],
        &["install", "--with", "pepsi", "--dry-run"],
    ] {
        let output = command(&db, arguments).await;
        assert_eq!(output.code, 76, "{output}");
        assert_eq!(
            output.stderr,
            format!(
                "pg-relay-processor: schema pepsi exists in database \"{}\", but install has not made it; it holds table ingress, function wake\n\
                 hint: nothing was changed; a pepsi.ingress of another origin is served as it is: pepsi-failure-bouncer --check\n",
                db.name()
            )
        );
    }
    assert_eq!(catalog(&db).await, before);
    let queue = "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'pgrelay')";
    assert!(
        !db.query_one::<bool>(queue, &[]).await,
        "half of it was installed"
    );
    // The queue beside it is installed and upgraded as anywhere.
    for arguments in [["install"], ["upgrade"]] {
        let output = command(&db, &arguments).await;
        assert_eq!(output.code, 0, "{output}");
    }
    assert_eq!(catalog(&db).await, before);
    let empty = Database::empty().await;
    empty.execute("CREATE SCHEMA pepsi").await;
    let output = command(&empty, &["install", "--with", "pepsi"]).await;
    assert_eq!(output.code, 76, "{output}");
    let hint = "it holds nothing\nhint: DROP SCHEMA pepsi; install creates it\n";
    assert!(output.stderr.ends_with(hint), "{output}");
}

#[tokio::test]
async fn while_our_own_is_installed_once() {
    let db = bouncer::database().await;
    let output = command(&db, &["install", "--with", "pepsi"]).await;
    assert_eq!(output.code, 0, "{output}");
    assert!(
        output.stdout.contains("pepsi 1.1 is already installed"),
        "{output}"
    );
    let owners = "
        SELECT count(*) FROM (
            SELECT relowner AS owner FROM pg_class WHERE relnamespace = 'pepsi'::regnamespace AND relkind <> 'i'
            UNION ALL SELECT proowner FROM pg_proc WHERE pronamespace = 'pepsi'::regnamespace
            UNION ALL SELECT nspowner FROM pg_namespace WHERE nspname = 'pepsi'
        ) AS o WHERE o.owner <> 'pepsi'::regrole";
    assert_eq!(
        db.query_one::<i64>(owners, &[]).await,
        0,
        "role pepsi owns it all"
    );
    let check = bouncer::builder(&db)
        .arg("--check")
        .arg("--json")
        .run()
        .await;
    let result: Value = serde_json::from_str(&check.stdout).expect("one JSON object");
    assert_eq!(result, serde_json::json!({"ready": true, "findings": []}));
}

#[tokio::test]
async fn by_whatever_index_leads_to_what_is_stuck() {
    let db = Database::empty().await;
    db.execute(
        "CREATE SCHEMA pepsi;
         CREATE TABLE pepsi.ingress (id bigint PRIMARY KEY, stage text, status text);
         INSERT INTO pepsi.ingress
         SELECT n, 'relay', CASE WHEN n > 19990 THEN 'failed' ELSE 'done' END FROM generate_series(1, 20000) AS n;",
    )
    .await;
    let builder = || bouncer::builder(&db).set_in("pepsi-postgres", "USER", db.endpoint().user());
    let warning = "no index of pepsi.ingress leads to stuck messages";
    let check = builder().arg("--check").run().await;
    assert!(check.stdout.contains(warning), "{check}");
    db.execute("CREATE INDEX by_status ON pepsi.ingress (status); ANALYZE pepsi.ingress")
        .await;
    let check = builder().arg("--check").run().await;
    assert!(!check.stdout.contains(warning), "{check}");
    let once = builder().arg("--once").run().await;
    assert_eq!(once.code, 0, "{once}");
    // Reported when the session has ended.
    let read = "SELECT idx_tup_read FROM pg_stat_user_indexes WHERE indexrelname = 'by_status' AND idx_tup_read > 0";
    wait::until("the index to have been read", wait::SOON, || async {
        if db.rows(read, &[]).await.is_empty() {
            Err("not read")
        } else {
            Ok(())
        }
    })
    .await;
    let walked =
        "SELECT idx_tup_read < 1000 FROM pg_stat_user_indexes WHERE indexrelname = 'ingress_pkey'";
    assert!(
        db.query_one::<bool>(walked, &[]).await,
        "the whole key was walked"
    );
}

#[tokio::test]
async fn and_an_id_that_may_be_absent_is_warned_of() {
    let db = Database::empty().await;
    db.execute(
        "CREATE SCHEMA pepsi; CREATE TABLE pepsi.ingress (id bigint, stage text, status text)",
    )
    .await;
    let builder = bouncer::builder(&db).set_in("pepsi-postgres", "USER", db.endpoint().user());
    let check = builder.arg("--check").run().await;
    assert!(
        check
            .stdout
            .contains("column id of pepsi.ingress can be NULL"),
        "{check}"
    );
}

#[tokio::test]
async fn and_rules_are_refused() {
    let db = Database::empty().await;
    db.execute(
        "CREATE SCHEMA pepsi; CREATE TABLE pepsi.ingress (id bigint PRIMARY KEY, stage text, status text);
         CREATE TABLE pepsi.seen (id bigint);
         CREATE RULE note AS ON UPDATE TO pepsi.ingress DO ALSO INSERT INTO pepsi.seen VALUES (NEW.id);
         INSERT INTO pepsi.ingress VALUES (1, 'relay', 'failed')",
    )
    .await;
    let builder = || bouncer::builder(&db).set_in("pepsi-postgres", "USER", db.endpoint().user());
    let once = builder().arg("--once").run().await;
    assert_eq!(once.code, 76, "{once}");
    assert!(once.stderr.contains("rewrites UPDATE"), "{once}");
    db.execute("ALTER TABLE pepsi.ingress DISABLE RULE note")
        .await;
    let once = builder().arg("--once").run().await;
    assert_eq!(once.code, 0, "{once}");
}

/// The planner is bound only to an index that holds what is stuck, by id.
#[tokio::test]
async fn and_not_every_index_is_one_of_stuck_messages() {
    let db = Database::empty().await;
    db.execute("CREATE SCHEMA pepsi; CREATE TABLE pepsi.ingress (id bigint NOT NULL, stage text, status varchar(9))")
        .await;
    let stuck = "status IN ('failed', 'timeout')";
    for (index, bound, serves) in [
        (format!("(id) WHERE {stuck}"), true, true),
        ("(id)".to_owned(), false, false),
        ("(status, id)".to_owned(), false, true),
        (format!("(status) WHERE {stuck}"), false, true),
        (format!("(stage) WHERE {stuck}"), false, false),
        ("(id) WHERE status = 'failed'".to_owned(), false, false),
        (
            format!("(id) WHERE {stuck} AND stage = 'relay'"),
            false,
            false,
        ),
        (format!("(id) WHERE NOT {stuck}"), false, false),
    ] {
        db.execute(&format!("CREATE INDEX it ON pepsi.ingress {index}"))
            .await;
        let sql = include_str!("../../bouncer/src/sql/surroundings.sql")
            .replace("$1::oid", "'pepsi.ingress'::regclass")
            .replace("$2", "$1");
        let rows = db.rows(&sql, &[&vec!["'failed'", "'timeout'"]]).await;
        let found: (bool, bool) = (rows[0].get(1), rows[0].get(2));
        assert_eq!(found, (bound, serves), "{index}");
        db.execute("DROP INDEX pepsi.it").await;
    }
}
