//! What could not be sent is refused at the call, with a SQLSTATE of our own, the key, and what would be accepted; a secret or content is never quoted.

use fleet_tests::database::{Database, describe};

use crate::notifier_db::{M365, SMTP, WEBHOOK, with_profiles};
use crate::steps::{Refusal, literal, refusal};

fn settings(transport: &str) -> &'static str {
    match transport {
        "smtp" => SMTP,
        "m365" => M365,
        _ => WEBHOOK,
    }
}

/// A row of a table of cases: `transport | JSON | SQLSTATE | message | DETAIL`, where a DETAIL that ends in … is a beginning.
struct Case<'a> {
    transport: &'a str,
    json: &'a str,
    sqlstate: &'a str,
    message: &'a str,
    detail: &'a str,
}

fn cases(table: &str) -> Vec<Case<'_>> {
    let case = |line| {
        let columns: Vec<&str> = str::split(line, " | ").collect();
        let [transport, json, sqlstate, message, detail] = columns[..] else {
            panic!("not five columns: {line}");
        };
        Case {
            transport,
            json,
            sqlstate,
            message,
            detail,
        }
    };
    table.lines().map(case).collect()
}

fn check(case: &Case<'_>, subject: &str, refused: &Refusal, wrong: &mut Vec<String>) {
    let message = format!("malformed {subject}: {}", case.message);
    let detail = refused.detail.as_deref().unwrap_or_default();
    let as_expected = match case.detail.strip_suffix('…') {
        Some(beginning) => detail.starts_with(beginning),
        None => detail == case.detail,
    };
    let has_hint = refused.hint.as_ref().is_some_and(|hint| hint.len() > 10);
    if refused.sqlstate != case.sqlstate
        || refused.message != message
        || !as_expected
        || !has_hint
        || detail.contains("hunter2")
        || detail.contains("s3cret")
    {
        wrong.push(format!("{} {}: {refused:?}", case.transport, case.json));
    }
}

#[tokio::test]
async fn bad_profiles() {
    let db = Database::with_companion("notifier").await;
    let session = db.connect().await;
    let (mut wrong, all) = (Vec::new(), cases(include_str!("notifier_bad_profiles.txt")));
    assert!(all.len() > 100);
    for case in &all {
        let good = literal(settings(case.transport));
        // "-key" takes a key away, an object is laid over the good settings, anything else stands for them.
        let profile = match (case.json.strip_prefix('-'), case.json.starts_with('{')) {
            (Some(key), _) => format!("{good}::jsonb - '{key}'"),
            (None, true) => format!("{good}::jsonb || {}", literal(case.json)),
            (None, false) => format!("{}::jsonb", literal(case.json)),
        };
        let transport = case.transport;
        let sql =
            format!("SELECT pgrelay_notifier.create_profile('bad', '{transport}', {profile})");
        check(case, "profile", &refusal(&session, &sql).await, &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn bad_messages() {
    let db = with_profiles().await;
    db.execute(&format!(
        "SELECT pgrelay_notifier.create_profile('graph', 'm365', {})",
        literal(M365)
    ))
    .await;
    let session = db.connect().await;
    let (mut wrong, all) = (Vec::new(), cases(include_str!("notifier_bad_messages.txt")));
    assert!(all.len() > 100);
    for case in &all {
        let profile = match case.transport {
            "smtp" => "mail",
            "m365" => "graph",
            _ => "hook",
        };
        let sql = format!(
            "SELECT pgrelay_notifier.send('{profile}', {})",
            literal(case.json)
        );
        check(case, "message", &refusal(&session, &sql).await, &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let enqueued: i64 = db
        .query_one("SELECT count(*) FROM pgrelay.queue", &[])
        .await;
    assert_eq!(enqueued, 0);
}

#[tokio::test]
async fn bad_calls() {
    let db = with_profiles().await;
    db.execute("SELECT pgrelay.register('sql', 'SELECT 1')")
        .await;
    let session = db.connect().await;
    for line in include_str!("notifier_bad_calls.txt").lines() {
        let columns: Vec<&str> = line.split(" | ").collect();
        let [sql, sqlstate, message, detail] = columns[..] else {
            panic!("not four columns: {line}");
        };
        let refused = refusal(&session, sql).await;
        // Whose login the tests have is the server's affair.
        let message = message.replace("LOGIN", db.endpoint().user());
        assert_eq!(refused.sqlstate, sqlstate, "{sql}");
        assert_eq!(refused.message, message, "{sql}");
        assert_eq!(refused.detail.as_deref(), Some(detail), "{sql}");
        assert!(refused.hint.is_some(), "{sql}");
    }
}

#[tokio::test]
async fn a_depth_that_no_parser_takes_is_refused_with_our_own_sqlstate() {
    let db = with_profiles().await;
    let session = db.connect().await;
    let deep = "(repeat('[', 3000) || repeat(']', 3000))::jsonb";
    for (call, sqlstate) in [
        (
            format!("SELECT pgrelay_notifier.send_webhook('hook', {deep})"),
            "PN004",
        ),
        (
            format!(
                "SELECT pgrelay_notifier.create_profile('deep', 'smtp', {}::jsonb || jsonb_build_object('x', {deep}))",
                literal(SMTP)
            ),
            "PN003",
        ),
    ] {
        let refused = refusal(&session, &call).await;
        assert_eq!(refused.sqlstate, sqlstate, "{refused:?}");
        assert!(
            refused.message.contains("more than 100 deep"),
            "{refused:?}"
        );
    }
}

/// Messages that are refused for one key and hold content in others, or in that very key.
const CONTENT: &[(&str, &str)] = &[
    (
        "mail",
        r#"{"to": "nobody", "subject": "PLANTED", "text": "PLANTED", "html": "PLANTED"}"#,
    ),
    ("mail", r#"{"to": "a@x.org", "subject": "PLANTED\n"}"#),
    ("mail", r#"{"to": "a@x.org", "subject": ["PLANTED"]}"#),
    ("mail", r#"{"to": "a@x.org", "text": {"PLANTED": 1}}"#),
    (
        "mail",
        r#"{"to": "a@x.org", "text": "PLANTED", "_x": "PLANTED"}"#,
    ),
    (
        "mail",
        r#"{"to": "a@x.org", "headers": {"X-A": "PLANTED\n"}}"#,
    ),
    (
        "mail",
        r#"{"to": "a@x.org", "attachments": [{"filename": "a", "content_base64": "PLANTED!"}]}"#,
    ),
    ("mail", r#"{"to": "a@x.org", "attachments": ["PLANTED"]}"#),
    ("mail", r#"["PLANTED"]"#),
    ("hook", r#"{"body": {"a": "PLANTED", "b": "_env:HOME"}}"#),
    (
        "hook",
        r#"{"body": "PLANTED", "headers": {"Cookie": "PLANTED"}}"#,
    ),
];

#[tokio::test]
async fn content_is_never_quoted() {
    let db = with_profiles().await;
    let session = db.connect().await;
    for (profile, message) in CONTENT {
        let sql = "SELECT pgrelay_notifier.send($1, $2::text::jsonb)";
        let error = session
            .query_one(sql, &[profile, message])
            .await
            .expect_err(message);
        // With its context, which is the part that PostgreSQL writes.
        let said = describe(&error);
        assert!(said.contains("PN0") && said.contains("WHERE: "), "{said}");
        assert!(!said.contains("PLANTED"), "{message}: {said}");
    }
}
