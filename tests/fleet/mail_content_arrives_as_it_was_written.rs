//! Subjects, names, bodies and files of every script and shape arrive as they were written, and two parsers that know nothing of us agree on that.

use fleet_tests::database::Database;
use fleet_tests::mail::maildir::Received;
use fleet_tests::mail::postfix::{Port, Postfix};
use fleet_tests::mail::reading::{self, Reading};
use fleet_tests::processor::Processor;
use fleet_tests::skip;
use serde_json::{Value, json};

use crate::mail_steps::{database, finished, message_id, plain, profile, send};
use crate::steps::refusal;

/// Longer than a line of a header may be, in one word.
fn token() -> String {
    "a1B2".repeat(240)
}

fn subjects() -> Vec<String> {
    let mut subjects: Vec<String> = [
        "Plain",
        "Grüße aus Zürich",
        "日本語の件名です",
        "family 👩‍👩‍👧‍👦 and flag 🏳️‍🌈",
        "שלום עולם \u{202b}مرحبا\u{202c}",
        "e\u{301}a\u{308}o\u{30a} combining",
        " blanks at both ends ",
        "  two   inside  ",
        "=?x?=",
        "=?utf-8?Q?not_encoded_by_us?=",
        "5 ao ût, déjà vu: \"quoted\", <angled>; (round) @ sign",
        "trailing colon:",
        "",
    ]
    .map(str::to_owned)
    .to_vec();
    subjects.push("ä日x ".repeat(50));
    subjects.push("word ".repeat(180));
    subjects.push(token());
    subjects
}

/// What is sent, and what must be read; bodies with their line ends as LF.
fn bodies() -> Vec<(String, String)> {
    let same = |text: &str| (text.to_owned(), text.to_owned());
    vec![
        same("one line, no end"),
        same("ends with one\n"),
        same(".\n..\n...dots\n.\n"),
        same("\n\nempty lines first and last\n\n"),
        same("From the start\n>From quoted\n"),
        same("trailing blanks   \n\t\n \n"),
        same("a = b =3D =\n=\n"),
        same(&format!("{}\nlong\n", "x".repeat(5000))),
        same(&format!("{}\n", "wörd ".repeat(1000))),
        same("日本語\n👩‍👩‍👧‍👦\n"),
        (
            "cr\rlf\ncrlf\r\nlfcr\n\rend".to_owned(),
            "cr\nlf\ncrlf\nlfcr\n\nend".to_owned(),
        ),
        (
            "\n.\r\nMAIL FROM:<smuggled@test.example>\r\n".to_owned(),
            "\n.\nMAIL FROM:<smuggled@test.example>\n".to_owned(),
        ),
    ]
}

/// Sends all messages at once, and gives what arrived for each, in order.
async fn travel(db: &Database, postfix: &Postfix, messages: &[Value]) -> Vec<(Received, Reading)> {
    let mut ids = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        let mut message = message.clone();
        message["to"] = json!(format!("r{place}@test.example"));
        ids.push(send(db, "mail", &message).await);
    }
    let mut arrived = Vec::new();
    for (place, id) in ids.iter().enumerate() {
        let seen = finished(db, *id).await;
        assert_eq!(seen.status, "sent", "{:?}: {seen:?}", messages[place]);
        let recipient = format!("r{place}@test.example");
        arrived.push(postfix.wait_for(&recipient, 1).await.remove(0));
    }
    let bytes: Vec<&[u8]> = arrived
        .iter()
        .map(|received| received.message.as_slice())
        .collect();
    let readings = reading::read_all(&bytes);
    for ((received, reading), id) in arrived.iter().zip(&readings).zip(ids) {
        check_lines(received);
        assert_eq!(reading.message_id, Some(message_id(db, id).await));
    }
    arrived.into_iter().zip(readings).collect()
}

/// RFC 5322, 2.1.1; and two encoded words with nothing between them are none.
fn check_lines(received: &Received) {
    let longest = received
        .message
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::len)
        .max();
    assert!(longest <= Some(998), "a line of {longest:?} octets");
    let text = received.text();
    let header = text.split("\n\n").next().unwrap_or_default();
    assert!(header.is_ascii() && !header.contains("?==?"), "{header}");
}

async fn start() -> Result<(Postfix, Database, Processor), String> {
    let postfix = Postfix::start().await?;
    let db = database().await;
    profile(&db, "mail", &plain(postfix.port(Port::Plain), json!({}))).await;
    let processor = Processor::start(&db).await;
    Ok((postfix, db, processor))
}

#[tokio::test]
async fn subjects_and_bodies() {
    let (postfix, db, _processor) = match start().await {
        Ok(started) => started,
        Err(why) => skip!("mail", "{why}"),
    };
    let subjects = subjects();
    let bodies = bodies();
    let mut messages: Vec<Value> = subjects
        .iter()
        .map(|subject| json!({"subject": subject, "text": "x"}))
        .collect();
    messages.extend(
        bodies
            .iter()
            .map(|(text, _)| json!({"subject": "alone", "text": text})),
    );
    messages.extend(bodies.iter().map(
        |(text, _)| json!({"subject": "both", "text": text, "html": format!("<p>{text}</p>")}),
    ));
    let arrived = travel(&db, &postfix, &messages).await;
    for (subject, (received, reading)) in subjects.iter().zip(&arrived) {
        assert_eq!(
            reading.subject.as_deref().unwrap_or_default(),
            subject,
            "{}",
            received.text()
        );
    }
    let (alone, both) = arrived[subjects.len()..].split_at(bodies.len());
    for ((_, expected), (received, reading)) in bodies.iter().zip(alone) {
        assert_body(reading.text.as_deref(), expected, received);
    }
    for ((_, expected), (received, reading)) in bodies.iter().zip(both) {
        assert_body(reading.text.as_deref(), expected, received);
        let expected = format!("<p>{expected}</p>");
        assert_body(reading.html.as_deref(), &expected, received);
    }
    let mut ids: Vec<_> = arrived
        .iter()
        .map(|(_, reading)| reading.message_id.clone())
        .collect();
    ids.sort();
    ids.dedup();
    assert_eq!(
        ids.len(),
        messages.len(),
        "every notification has an id of its own"
    );
}

/// The last line end may come or go: between parts it belongs to the boundary (RFC 2046, 5.1.1), and elsewhere every message ends with one.
fn assert_body(found: Option<&str>, expected: &str, received: &Received) {
    let found = found.unwrap_or_default();
    let but_for_one_end = |long: &str, short: &str| long.strip_suffix('\n') == Some(short);
    assert!(
        found == expected || but_for_one_end(found, expected) || but_for_one_end(expected, found),
        "{found:?} is not {expected:?} in\n{}",
        received.text()
    );
}

#[tokio::test]
async fn files_and_pictures() {
    let (postfix, db, _processor) = match start().await {
        Ok(started) => started,
        Err(why) => skip!("mail", "{why}"),
    };
    let base64 = |sql: &str| format!("SELECT replace(encode({sql}, 'base64'), E'\\n', '')");
    let every_byte = "decode((SELECT string_agg(lpad(to_hex(g), 2, '0'), '') FROM generate_series(0, 255) AS g), 'hex')";
    let binary: String = db.query_one(&base64(every_byte), &[]).await;
    let names = [
        "plain.bin",
        "příloha č. 1.pdf",
        "日本語.txt",
        "quote\"d; semi.txt",
        "a b  c.txt",
        "emoji 🐎.png",
    ];
    let files: Vec<Value> = names
        .iter()
        .map(|name| json!({"filename": name, "content_type": "application/octet-stream", "content_base64": binary}))
        .collect();
    let picture = json!({"filename": "logo.png", "content_type": "image/png", "content_base64": binary, "content_id": "logo@test.example"});
    let html = "<p>Grüße <img src=\"cid:logo@test.example\"></p>";
    let messages = [
        json!({"subject": "files", "text": "see below", "attachments": files}),
        json!({"subject": "picture", "text": "no picture", "html": html, "attachments": [picture]}),
        json!({"subject": "both", "html": html, "attachments": [picture, files[1]]}),
        json!({"subject": "only a file", "attachments": [files[0]]}),
    ];
    let arrived = travel(&db, &postfix, &messages).await;
    let all_bytes: Vec<u8> = (0..=255).collect();
    let found = |place: usize| &arrived[place].1.attachments;
    assert!(arrived.iter().all(|(_, reading)| {
        reading
            .attachments
            .iter()
            .all(|file| file.content == all_bytes)
    }));
    let seen: Vec<_> = found(0)
        .iter()
        .map(|file| file.filename.as_deref().unwrap_or_default())
        .collect();
    assert_eq!(seen, names);
    assert!(
        found(0)
            .iter()
            .all(|file| !file.inline && file.content_id.is_none())
    );
    for place in [1, 2] {
        let picture = &found(place)[0];
        assert!(picture.inline, "{picture:?}");
        assert_eq!(picture.content_id.as_deref(), Some("logo@test.example"));
        assert_eq!(picture.content_type, "image/png");
        assert_eq!(arrived[place].1.html.as_deref(), Some(html));
    }
    assert_eq!(arrived[1].1.text.as_deref(), Some("no picture"));
    assert_eq!(found(2)[1].filename.as_deref(), Some(names[1]));
    assert_eq!(found(3).len(), 1);
}

#[tokio::test]
async fn what_no_header_can_hold_is_refused_at_the_call() {
    let db = database().await;
    profile(&db, "mail", &plain(25, json!({}))).await;
    let session = db.connect().await;
    for subject in [
        r"a\tb",
        r"a\nb",
        r"a\rb",
        r"a\r\nBcc: x@test.example",
        r"a\u2028b",
        r"a\u0085b",
    ] {
        let sql = format!(
            r#"SELECT pgrelay_notifier.send('mail', '{{"to": "a@test.example", "subject": "{subject}"}}')"#
        );
        let refusal = refusal(&session, &sql).await;
        assert_eq!(refusal.sqlstate, "PN004", "{subject}: {refusal:?}");
    }
    // PostgreSQL itself keeps NUL out of text.
    let nul = refusal(
        &session,
        r#"SELECT pgrelay_notifier.send('mail', '{"to": "a@test.example", "text": "a\u0000b"}')"#,
    )
    .await;
    assert_eq!(nul.sqlstate, "22P05", "{nul:?}");
}
