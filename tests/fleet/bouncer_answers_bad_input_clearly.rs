//! Wrong options, configurations, logins and tables end with their own exit code and a message that says what to do.

use fleet_tests::bouncer;
use fleet_tests::daemon::Builder;
use fleet_tests::database::Database;

fn with(builder: Builder, arguments: &[&str]) -> Builder {
    arguments
        .iter()
        .fold(builder, |builder, argument| builder.arg(argument))
}

#[tokio::test]
async fn wrong_options_end_with_64() {
    let db = Database::empty().await;
    let cases: [(&[&str], &str); 9] = [
        (
            &["--failed-only", "--timeout-only"],
            "'--failed-only' cannot be used with '--timeout-only'",
        ),
        (
            &["--once", "--timeout-only", "--failed-only"],
            "cannot be used with",
        ),
        (
            &["--check", "--once"],
            "'--check' cannot be used with '--once'",
        ),
        (&["--dry-run", "--check"], "cannot be used with"),
        (
            &["--json"],
            "'--json' needs one of '--once', '--dry-run' and '--check'",
        ),
        (&["--json", "--failed-only"], "needs one of"),
        (&["--once", "--once"], "cannot be used multiple times"),
        (&["--loud"], "unexpected argument '--loud'"),
        (&["once"], "unexpected argument 'once'"),
    ];
    for (arguments, expected) in cases {
        let output = with(bouncer::builder(&db), arguments).run().await;
        assert_eq!(output.code, 64, "{arguments:?} {output}");
        assert!(output.stderr.contains(expected), "{arguments:?} {output}");
        assert_eq!(output.stdout, "", "{arguments:?}");
    }
    for argument in ["--help", "--version"] {
        let output = bouncer::builder(&db).arg(argument).run().await;
        assert_eq!(output.code, 0, "{output}");
        assert!(output.stdout.contains("pepsi-failure-bouncer"), "{output}");
    }
}

#[tokio::test]
async fn wrong_configuration_ends_with_78() {
    const SECTION: &str = "pepsi-failure-bouncer";
    let db = Database::empty().await;
    let cases = [
        (
            bouncer::builder(&db).unset(SECTION, "BOUNCE_STAGE"),
            "[pepsi-failure-bouncer] BOUNCE_STAGE: missing in ",
        ),
        (
            bouncer::builder(&db).set("BOUNCE_STAGE", ""),
            "[pepsi-failure-bouncer] BOUNCE_STAGE = \"\" is not accepted: expected a non-empty string",
        ),
        (
            bouncer::builder(&db).set("SWEEP_INTERVAL", "soon"),
            "SWEEP_INTERVAL = \"soon\" is not accepted: expected a duration from \"100ms\" to \"1d\"",
        ),
        (
            bouncer::builder(&db).set("BOUNCE_STAGES", "bounce"),
            "BOUNCE_STAGES is not a known key; known are BOUNCE_STAGE, USER, SWEEP_INTERVAL, LOG_LEVEL, LOG_FORMAT",
        ),
        (
            bouncer::builder(&db).set_in("pepsi-postgres", "PORT", 0),
            "[pepsi-postgres] PORT = 0 is not accepted",
        ),
    ];
    for (builder, expected) in cases {
        let output = builder.arg("--once").run().await;
        assert_eq!(output.code, 78, "{output}");
        assert!(
            output.stderr.starts_with("pepsi-failure-bouncer: "),
            "{output}"
        );
        assert!(output.stderr.contains(expected), "{output}");
    }
    // Somebody else's section is none of its business.
    let builder = bouncer::builder(&db)
        .set_in("pepsi-postgres", "USER", db.endpoint().user())
        .set_in("pepsi-dispatch", "MAX_RUNTIME", 5);
    assert_eq!(builder.arg("--once").run().await.code, 76);
}

#[tokio::test]
async fn a_database_that_cannot_be_used_ends_with_69() {
    let db = Database::empty().await;
    for arguments in [&["--once"] as &[_], &["--dry-run"], &["--check"]] {
        let builder = bouncer::builder(&db)
            .set("LOG_LEVEL", "info")
            .set_in("pepsi-postgres", "HOST", "127.0.0.1")
            .set_in("pepsi-postgres", "PORT", 1);
        let output = with(builder, arguments).run().await;
        assert_eq!(output.code, 69, "{arguments:?} {output}");
        assert_eq!(
            output.stderr,
            format!(
                "pepsi-failure-bouncer: cannot reach 127.0.0.1:1 (database \"{}\", user \"pepsi\"): Connection refused (os error 111)\n",
                db.name()
            )
        );
        let builder = bouncer::builder(&db).set_in("pepsi-postgres", "USER", "nobody-of-that-name");
        let output = with(builder, arguments).run().await;
        assert_eq!(output.code, 69, "{arguments:?} {output}");
        assert!(output.stderr.contains("login refused by"), "{output}");
    }
}

/// Every mode tells the same finding, and ends with 76.
async fn blocked(db: &Database, finding: &str) {
    let builder = || bouncer::builder(db).set_in("pepsi-postgres", "USER", db.endpoint().user());
    for arguments in [
        &[] as &[_],
        &["--once"],
        &["--dry-run"],
        &["--once", "--json"],
    ] {
        let output = with(builder(), arguments).run().await;
        assert_eq!(output.code, 76, "{arguments:?} {output}");
        assert!(
            output.stderr.contains(finding),
            "{finding}: {arguments:?} {output}"
        );
    }
    let output = builder().arg("--check").run().await;
    assert_eq!(output.code, 76, "{output}");
    assert!(
        output.stdout.starts_with(&format!("blocking {finding}")),
        "{output}"
    );
    assert!(output.stdout.ends_with("not ready\n"), "{output}");
}

#[tokio::test]
async fn a_table_that_cannot_be_served_ends_with_76() {
    const KEY: &str = "id bigint PRIMARY KEY";
    let db = Database::empty().await;
    blocked(&db, "bounce:table: schema pepsi is missing").await;
    db.execute("CREATE SCHEMA pepsi").await;
    blocked(&db, "bounce:table: table pepsi.ingress is missing").await;
    db.execute(
        "CREATE VIEW pepsi.ingress AS SELECT 1 AS id, 'a'::text AS stage, 'b'::text AS status",
    )
    .await;
    blocked(&db, "bounce:table: pepsi.ingress in database").await;
    db.execute("DROP VIEW pepsi.ingress").await;
    for (columns, finding) in [
        (
            KEY.to_owned(),
            "bounce:columns: pepsi.ingress has no column stage, status",
        ),
        (
            format!("{KEY}, stage integer, status text"),
            "bounce:types: column stage of pepsi.ingress has type integer, which cannot hold 'bounce'",
        ),
        (
            format!("{KEY}, stage varchar(3), status text"),
            "bounce:types: column stage of pepsi.ingress has type character varying(3), which cannot hold 'bounce'",
        ),
        (
            format!("{KEY}, stage pepsi_stage, status text"),
            "bounce:types: column stage of pepsi.ingress has type public.pepsi_stage, which cannot hold 'bounce'",
        ),
        (
            format!("{KEY}, stage text, status boolean"),
            "bounce:types: column status of pepsi.ingress has type boolean, which cannot hold 'failed'",
        ),
        (
            "id point, stage text, status text".to_owned(),
            "bounce:types: pepsi.ingress cannot be worked with: ",
        ),
    ] {
        db.execute(&format!(
            "DROP TYPE IF EXISTS public.pepsi_stage CASCADE;
             CREATE TYPE public.pepsi_stage AS ENUM ('relay', 'scan');
             CREATE TABLE pepsi.ingress ({columns})"
        ))
        .await;
        blocked(&db, finding).await;
        db.execute("DROP TABLE pepsi.ingress").await;
    }
}

#[tokio::test]
async fn a_missing_grant_ends_with_76_and_says_which() {
    let db = bouncer::database().await;
    let role = format!("guest_{}", db.name());
    db.execute(&format!("CREATE ROLE {role} LOGIN")).await;
    let run = |argument: &'static str| {
        let builder = bouncer::builder(&db).set_in("pepsi-postgres", "USER", role.as_str());
        builder.arg(argument).run()
    };
    let output = run("--check").await;
    assert_eq!(output.code, 76, "{output}");
    assert!(
        output.stdout.starts_with(&format!(
            "blocking bounce:grants: role \"{role}\" lacks USAGE on schema pepsi; SELECT (id) on pepsi.ingress; \
             SELECT (stage) on pepsi.ingress; UPDATE (stage) on pepsi.ingress; \
             SELECT (status) on pepsi.ingress; UPDATE (status) on pepsi.ingress (hint: GRANT USAGE"
        )),
        "{output}"
    );
    db.execute(&format!(
        "GRANT USAGE ON SCHEMA pepsi TO {role}; GRANT SELECT, UPDATE (status) ON pepsi.ingress TO {role}"
    ))
    .await;
    let output = run("--once").await;
    assert_eq!(output.code, 76, "{output}");
    assert!(
        output
            .stderr
            .contains("lacks UPDATE (stage) on pepsi.ingress"),
        "{output}"
    );
    db.execute(&format!("GRANT UPDATE (stage) ON pepsi.ingress TO {role}"))
        .await;
    let output = run("--once").await;
    assert_eq!(output.code, 0, "{output}");
    db.execute(&format!("DROP OWNED BY {role}; DROP ROLE {role}"))
        .await;
}
