//! A server's limits: size, number of recipients, the name in the greeting. And recipients that are refused while others are not.

use fleet_tests::database::Database;
use fleet_tests::mail::postfix::{Port, Postfix, SMALL};
use fleet_tests::processor::Processor;
use fleet_tests::skip;
use serde_json::json;

use crate::mail_steps::{database, finished, log_of, plain, profile, send, to};

#[tokio::test]
async fn too_large_is_permanent_and_the_greeting_names_a_host() {
    let postfix = match Postfix::start().await {
        Ok(postfix) => postfix,
        Err(why) => skip!("mail", "{why}"),
    };
    let db = database().await;
    profile(&db, "small", &plain(postfix.port(Port::Small), json!({}))).await;
    profile(&db, "strict", &plain(postfix.port(Port::Strict), json!({}))).await;
    let _processor = Processor::start(&db).await;
    let large = json!({"to": "large@test.example", "subject": "large", "text": "lorem ipsum\n".repeat(SMALL / 10)});
    let large = send(&db, "small", &large).await;
    let fits = send(&db, "small", &to("fits@test.example")).await;
    let strict = send(&db, "strict", &to("strict@test.example")).await;
    let seen = finished(&db, large).await;
    assert_eq!(
        (seen.status.as_str(), seen.attempts),
        ("failed", 1),
        "{seen:?}"
    );
    let said = seen.last_error.unwrap_or_default();
    assert!(said.contains(&SMALL.to_string()), "{said}");
    for id in [fits, strict] {
        let seen = finished(&db, id).await;
        assert_eq!(seen.status, "sent", "{seen:?}");
    }
    postfix.wait_for("fits@test.example", 1).await;
    postfix.wait_for("strict@test.example", 1).await;
    assert_eq!(postfix.received().len(), 2);
}

/// Who is written to, and what comes of it.
struct Case {
    profile: &'static str,
    /// Local parts, separated by blanks.
    recipients: &'static str,
    status: &'static str,
    attempts: i32,
    /// Those that the detail names.
    named: &'static str,
}

#[rustfmt::skip]
const CASES: [Case; 7] = [
    Case { profile: "all", recipients: "a unknown b", status: "failed", attempts: 1, named: "unknown" },
    Case { profile: "all", recipients: "a grey b", status: "failed", attempts: 3, named: "grey" },
    Case { profile: "all", recipients: "grey unknown", status: "failed", attempts: 1, named: "grey unknown" },
    Case { profile: "few", recipients: "a b c", status: "failed", attempts: 3, named: "c" },
    Case { profile: "some", recipients: "a unknown grey b", status: "sent", attempts: 1, named: "unknown grey" },
    Case { profile: "some", recipients: "unknown", status: "failed", attempts: 1, named: "unknown" },
    Case { profile: "some", recipients: "unknown grey", status: "failed", attempts: 3, named: "unknown grey" },
];

fn addresses(local_parts: &str) -> Vec<String> {
    let all = local_parts.split(' ');
    all.map(|local| format!("{local}@test.example")).collect()
}

async fn check(db: &Database, case: &Case) {
    let recipients = addresses(case.recipients);
    let message = json!({"to": recipients, "subject": "Hello", "text": "x"});
    let id = send(db, case.profile, &message).await;
    let seen = finished(db, id).await;
    let what = format!("{} {recipients:?}: {seen:?}", case.profile);
    let result = (seen.status.as_str(), seen.attempts);
    assert_eq!(result, (case.status, case.attempts), "{what}");
    let sql =
        "SELECT coalesce(last_detail, '') FROM pgrelay_notifier.notification_status WHERE id = $1";
    let detail: String = db.query_one(sql, &[&id]).await;
    let named = addresses(case.named);
    for recipient in recipients {
        let is_named = detail.contains(&format!(" {recipient}: "));
        assert_eq!(
            is_named,
            named.contains(&recipient),
            "{recipient}: {detail}"
        );
    }
    let log = log_of(db, id).await;
    let errors: Vec<String> = log.into_iter().filter_map(|row| row.2).collect();
    assert!(!errors.concat().contains('@'), "{errors:?}");
    assert_eq!(errors.is_empty(), case.status == "sent", "{errors:?}");
}

#[tokio::test]
async fn refused_recipients_are_named_to_the_notifier_and_to_nobody_else() {
    let postfix = match Postfix::start().await {
        Ok(postfix) => postfix,
        Err(why) => skip!("mail", "{why}"),
    };
    postfix.answer("unknown@test.example", Some("550 5.1.1 No such user"));
    postfix.answer("grey@test.example", Some("450 4.7.1 Later"));
    let db = database().await;
    let port = postfix.port(Port::Plain);
    profile(&db, "all", &plain(port, json!({}))).await;
    profile(&db, "some", &plain(port, json!({"partial_delivery": true}))).await;
    profile(&db, "few", &plain(postfix.port(Port::Few), json!({}))).await;
    let processor = Processor::with(&db, |config| config.set("LOG_LEVEL", "trace")).await;
    for case in &CASES {
        check(&db, case).await;
    }
    // Whatever was for all of them or none has reached nobody.
    for recipient in ["a@test.example", "b@test.example"] {
        postfix.wait_for(recipient, 1).await;
    }
    assert_eq!(postfix.received().len(), 2);
    let log = processor.logs();
    assert!(
        log.contains("TRACE") && !log.contains("test.example"),
        "an address is in the log"
    );
}
