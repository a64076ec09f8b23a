//! With a real server: retry, retry, failed; retry, sent; failed at once for whatever is permanent; expired; invalid. The notifier and the log agree.

use fleet_tests::database::Database;
use fleet_tests::mail::exim::Exim;
use fleet_tests::mail::postfix::{Port, Postfix, REFUSED_SUBJECT};
use fleet_tests::mail::reading;
use fleet_tests::processor::Processor;
use fleet_tests::skip;
use serde_json::{Value, json};

use crate::mail_steps::{
    database, finished, log_of, message_id, plain, profile, reaches, send, to,
};
use crate::notifier_db::attempts;
use crate::steps::{notify, only_log_row};

/// What the notifier was told, and what the log says: (status, attempt).
async fn check(db: &Database, id: i64, told: &[(&str, i32)], logged: &[(&str, i32)]) {
    let attempts = attempts(db, id).await;
    let seen: Vec<(&str, i32)> = attempts
        .iter()
        .map(|(number, status, _)| (status.as_deref().unwrap_or(""), number.unwrap_or(0)))
        .collect();
    assert_eq!(seen, told, "notification {id}: {attempts:?}");
    let log = log_of(db, id).await;
    let seen: Vec<(&str, i32)> = log.iter().map(|row| (row.0.as_str(), row.1)).collect();
    assert_eq!(seen, logged, "notification {id}: {log:?}");
}

#[tokio::test]
async fn transient_failures_are_retried_until_they_pass_or_the_retries_are_used_up() {
    let postfix = match Postfix::start().await {
        Ok(postfix) => postfix,
        Err(why) => skip!("mail", "{why}"),
    };
    let db = database().await;
    profile(&db, "mail", &plain(postfix.port(Port::Plain), json!({}))).await;
    let _processor = Processor::start(&db).await;
    postfix.answer("grey@test.example", Some("450 4.7.1 Come back later"));
    postfix.answer("full@test.example", Some("452 4.2.2 Mailbox full"));
    postfix.answer("bye@test.example", Some("421 4.3.2 Closing"));

    for recipient in ["grey@test.example", "bye@test.example"] {
        let id = send(&db, "mail", &to(recipient)).await;
        let seen = finished(&db, id).await;
        assert_eq!((seen.status.as_str(), seen.attempts), ("failed", 3));
        let said = seen.last_error.unwrap_or_default();
        assert!(said.contains(recipient), "{said}");
        let told = [("retry", 1), ("retry", 2), ("failed", 3)];
        let logged = [
            ("retry_scheduled", 1),
            ("retry_scheduled", 2),
            ("max_retries_exceeded", 3),
        ];
        check(&db, id, &told, &logged).await;
    }

    let id = send(&db, "mail", &to("full@test.example")).await;
    reaches(&db, id, "retry").await;
    postfix.answer("full@test.example", None);
    assert_eq!(finished(&db, id).await.status, "sent");
    check(
        &db,
        id,
        &[("retry", 1), ("sent", 2)],
        &[("retry_scheduled", 1), ("ok", 2)],
    )
    .await;
    let received = postfix.wait_for("full@test.example", 1).await;
    let id = message_id(&db, id).await;
    assert!(
        received[0]
            .text()
            .contains(&format!("Message-ID: <{id}>\n")),
        "{}",
        received[0].text()
    );
    assert_eq!(postfix.received().len(), 1, "nobody else was sent anything");
}

#[tokio::test]
async fn greylisting_by_another_server_is_passed_at_the_second_attempt() {
    let exim = match Exim::start().await {
        Ok(exim) => exim,
        Err(why) => skip!("mail", "{why}"),
    };
    let db = database().await;
    profile(&db, "mail", &plain(exim.port(), json!({}))).await;
    let _processor = Processor::start(&db).await;
    let text = ".\n..\nGrüße";
    let message = json!({"to": "grey@test.example", "bcc": "ok@test.example", "subject": "Grüße 👋", "text": text});
    let id = send(&db, "mail", &message).await;
    assert_eq!(finished(&db, id).await.status, "sent");
    let logged = [("retry_scheduled", 1), ("ok", 2)];
    check(&db, id, &[("retry", 1), ("sent", 2)], &logged).await;
    for recipient in ["grey@test.example", "ok@test.example"] {
        let received = exim.wait_for(recipient, 1).await;
        let reading = reading::read(&received[0].message);
        assert_eq!(reading.subject.as_deref(), Some("Grüße 👋"));
        // A message ends with a line end, whether its text does or not.
        assert_eq!(reading.text.as_deref().map(str::trim_end), Some(text));
    }
    for message in [
        to("unknown@test.example"),
        json!({"to": "ok@test.example", "subject": "unwelcome", "text": ""}),
    ] {
        let id = send(&db, "mail", &message).await;
        assert_eq!(finished(&db, id).await.status, "failed");
        check(&db, id, &[("failed", 1)], &[("error", 1)]).await;
    }
}

/// Makes the stored documents what no call would accept.
async fn store(
    db: &Database,
    profile: &str,
    transport: &str,
    settings: &Value,
    message: &Value,
) -> i64 {
    let id = send(db, "later", &to("ok@test.example")).await;
    let sql = "INSERT INTO pgrelay_notifier.profiles (name, transport, channel, profile) VALUES ($1, $2, 'pg_relay_notifier.send', $3)";
    db.rows(sql, &[&profile, &transport, settings]).await;
    let sql = "UPDATE pgrelay_notifier.notifications SET profile = $2, message = $3 WHERE id = $1";
    db.rows(sql, &[&id, &profile, message]).await;
    id
}

/// Notifications that fail for good: what is wrong, id, and what the reason must name.
async fn hopeless(db: &Database, port: u16) -> [(&'static str, i64, &'static str); 8] {
    for name in ["mail", "later"] {
        profile(db, name, &plain(port, json!({}))).await;
    }
    let login = json!({"username": "u", "password": "_env:PGRELAY_TEST_UNSET"});
    profile(db, "unset", &plain(port, login)).await;
    db.execute("ALTER TABLE pgrelay_notifier.profiles DROP CONSTRAINT profiles_transport")
        .await;
    let good = to("ok@test.example");
    let unknown = send(db, "mail", &to("unknown@test.example")).await;
    let closed = send(db, "mail", &to("closed@test.example")).await;
    let unwelcome = json!({"to": "ok@test.example", "subject": REFUSED_SUBJECT, "text": "x"});
    let unwelcome = send(db, "mail", &unwelcome).await;
    let unset = send(db, "unset", &good).await;
    let pigeon = store(db, "t", "pigeon", &json!({}), &good).await;
    let bad = plain(port, json!({"port": "25"}));
    let bad_profile = store(db, "p", "smtp", &bad, &good).await;
    let right = plain(port, json!({}));
    let bad_message = store(db, "m", "smtp", &right, &json!({"to": 7})).await;
    let nobody = store(db, "n", "smtp", &right, &json!({})).await;
    [
        ("RCPT 550", unknown, "550 5.1.1"),
        ("RCPT 554", closed, "554 5.7.1"),
        ("after the dot", unwelcome, "550 5.7.1"),
        ("unset variable", unset, "PGRELAY_TEST_UNSET"),
        ("unknown transport", pigeon, "pigeon"),
        ("malformed profile", bad_profile, "port"),
        ("malformed message", bad_message, "to"),
        ("no recipient", nobody, "to"),
    ]
}

#[tokio::test]
async fn permanent_failures_burn_no_retry() {
    let postfix = match Postfix::start().await {
        Ok(postfix) => postfix,
        Err(why) => skip!("mail", "{why}"),
    };
    postfix.answer("unknown@test.example", Some("550 5.1.1 No such user"));
    postfix.answer("closed@test.example", Some("554 5.7.1 Go away"));
    let db = database().await;
    let cases = hopeless(&db, postfix.port(Port::Plain)).await;
    let _processor = Processor::start(&db).await;
    for (what, id, named) in cases {
        let seen = finished(&db, id).await;
        let result = (seen.status.as_str(), seen.attempts);
        assert_eq!(result, ("failed", 1), "{what}: {seen:?}");
        let said = seen.last_error.unwrap_or_default();
        assert!(said.contains(named), "{what}: {said}");
        check(&db, id, &[("failed", 1)], &[("error", 1)]).await;
    }
    assert!(postfix.received().is_empty(), "{:?}", postfix.received());
}

#[tokio::test]
async fn an_event_that_leads_to_no_notification_fails_for_good() {
    let db = database().await;
    profile(&db, "mail", &plain(1, json!({}))).await;
    let _processor = Processor::start(&db).await;
    for payload in ["999999999", "not a number", "{\"id\": 1}", ""] {
        let event = notify(&db, "pg_relay_notifier.send", payload).await;
        let row = only_log_row(&db, event).await;
        let result = (row.status.as_str(), row.attempt);
        assert_eq!(result, ("error", 1), "{payload:?}: {row:?}");
    }
}

#[tokio::test]
async fn what_is_not_attempted_is_reported_too() {
    let db = database().await;
    // Nobody listens there, and nobody is asked.
    profile(&db, "mail", &plain(1, json!({}))).await;
    let mut ids = Vec::new();
    let sql =
        "SELECT pgrelay_notifier.send('mail', $1, p_expire_at => now() - interval '1 second')";
    ids.push((
        "expired",
        db.query_one::<i64>(sql, &[&to("a@test.example")]).await,
    ));
    for (channel, end) in [
        ("off", "update('off', p_enabled := false)"),
        ("gone", "unregister('gone')"),
    ] {
        let register = format!("SELECT pgrelay.register('{channel}', action_type := 'notify')");
        db.execute(&register).await;
        let sql = "SELECT pgrelay_notifier.send('mail', $1, p_channel => $2)";
        ids.push((
            "invalid",
            db.query_one::<i64>(sql, &[&to("a@test.example"), &channel])
                .await,
        ));
        db.execute(&format!("SELECT pgrelay.{end}")).await;
    }
    let _processor = Processor::start(&db).await;
    for (status, id) in ids {
        let seen = finished(&db, id).await;
        assert_eq!(
            (seen.status.as_str(), seen.attempts, seen.elapsed_ms),
            (status, 0, Some(0))
        );
        check(&db, id, &[(status, 1)], &[(status, 1)]).await;
    }
}
