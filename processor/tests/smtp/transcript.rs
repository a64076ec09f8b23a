//! What a server is told, word by word.

use crate::client::{LONG, SHORT, attempt, letter, login, profile, send};
use crate::peer::{Act, Peer, Script};
use serde_json::{Value, json};
use shared::failure::{Class, Evidence, Offer, Phase};

fn offering(offers: &[&'static str]) -> Script {
    Script {
        offers: offers.to_vec(),
        ..Script::default()
    }
}

fn mail_line(peer: &Peer) -> String {
    let lines = peer.heard().lines;
    let mut lines = lines.into_iter().filter(|line| line.starts_with("MAIL"));
    let line = lines.next().unwrap();
    assert_eq!(lines.next(), None);
    line
}

#[tokio::test]
async fn a_dialogue_from_the_banner_to_quit() {
    let peer = Peer::start(offering(&["PIPELINING"]));
    let message = json!({"to": ["a@example.org", "A <a@EXAMPLE.org>"], "cc": "b@example.org", "bcc": "c@bücher.example", "text": ".\n..\nx\r.y"});
    let attempt = attempt(&profile(&peer, &json!({})), &message, LONG).await;
    let sent = attempt.sent();
    assert_eq!(
        (sent.provider_ref.as_deref(), sent.detail.as_deref()),
        (Some("Ok: queued as 4XYZ"), None)
    );
    let heard = peer.heard_to_the_end().await;
    assert_eq!(
        heard.lines,
        [
            "EHLO app.example.org",
            "MAIL FROM:<app@example.org>",
            "RCPT TO:<a@example.org>",
            "RCPT TO:<b@example.org>",
            "RCPT TO:<c@xn--bcher-kva.example>",
            "DATA",
            "QUIT",
        ]
    );
    let raw = String::from_utf8(heard.message.unwrap()).unwrap();
    assert!(raw.ends_with("\r\n\r\n..\r\n...\r\nx\r\n..y\r\n"), "{raw}");
    assert!(
        !raw.to_lowercase().contains("bcc") && !raw.contains("c@xn--"),
        "{raw}"
    );
    let reading = fleet_tests::mail::reading::read(raw.replace("\r\n.", "\r\n").as_bytes());
    assert_eq!(
        reading.text.as_deref().map(str::trim_end),
        Some(".\n..\nx\n.y")
    );
}

#[tokio::test]
async fn the_message_id_is_the_same_when_the_outcome_was_unknown() {
    let peer = Peer::start(Script::with("dot", Act::Silence));
    let mut ids = Vec::new();
    for _ in 0..2 {
        send(&peer, &json!({}), SHORT).await.failure();
        let raw = String::from_utf8(peer.heard().message.unwrap()).unwrap();
        let id = raw
            .lines()
            .find(|line| line.starts_with("Message-ID: "))
            .unwrap()
            .to_owned();
        assert!(id.ends_with("@example.org>"), "{id}");
        ids.push(id);
    }
    assert_eq!(ids[0], ids[1]);
}

#[tokio::test]
async fn parameters_are_given_to_those_who_offer_them() {
    let utf8 = json!({"to": "ü@example.org", "text": "ü"});
    for (offers, message, expected) in [
        (&[][..], letter(), ""),
        (&["SIZE"], letter(), " SIZE="),
        (&["SIZE 0"], letter(), " SIZE="),
        (
            &["SIZE 1000000", "8BITMIME", "SMTPUTF8"],
            letter(),
            " SIZE=",
        ),
        (&["SIZES 10", "8BITMIME"], letter(), ""),
        (
            &["SMTPUTF8", "8BITMIME"],
            utf8.clone(),
            " BODY=8BITMIME SMTPUTF8",
        ),
        (&["SMTPUTF8"], utf8, " SMTPUTF8"),
        (
            &["SMTPUTF8", "8BITMIME"],
            json!({"to": "a@bücher.example", "subject": "ü", "text": "ü"}),
            "",
        ),
    ] {
        let peer = Peer::start(offering(offers));
        attempt(&profile(&peer, &json!({})), &message, LONG)
            .await
            .sent();
        let line = mail_line(&peer);
        let parameters = line.strip_prefix("MAIL FROM:<app@example.org>").unwrap();
        assert_eq!(
            parameters
                .trim_end_matches(|c: char| c.is_ascii_digit() && parameters.contains("SIZE=")),
            expected,
            "{offers:?}"
        );
    }
}

#[tokio::test]
async fn the_size_that_is_announced_is_that_of_the_message() {
    let peer = Peer::start(offering(&["SIZE 100000"]));
    let message = json!({"to": "a@example.org", "text": ".\n.\n.\n"});
    attempt(&profile(&peer, &json!({})), &message, LONG)
        .await
        .sent();
    let heard = peer.heard();
    let raw = heard.message.unwrap();
    let stuffed = raw
        .split(|byte| *byte == b'\n')
        .filter(|line| line.starts_with(b"."))
        .count();
    let expected = format!("MAIL FROM:<app@example.org> SIZE={}", raw.len() - stuffed);
    assert!(
        heard.lines.contains(&expected),
        "{expected} in {:?}",
        heard.lines
    );
}

#[tokio::test]
async fn a_message_that_the_server_has_no_room_for_is_not_sent() {
    let peer = Peer::start(offering(&["SIZE 100"]));
    let attempt = send(&peer, &json!({}), LONG).await;
    assert_eq!(attempt.refusal(), (Phase::Mail, 552));
    assert_eq!(attempt.class(), Class::Permanent);
    assert!(
        attempt
            .failure()
            .summary
            .ends_with("bytes, and the server takes 100 (SIZE)"),
        "{}",
        attempt.failure().summary
    );
    let heard = peer.heard_to_the_end().await;
    assert_eq!(heard.lines, ["EHLO app.example.org", "QUIT"]);
}

#[tokio::test]
async fn a_local_part_of_another_script_needs_a_server_that_offers_smtputf8() {
    for (keys, message) in [
        (json!({}), json!({"bcc": "ü@example.org"})),
        (
            json!({}),
            json!({"to": "a@example.org", "reply_to": "ü@example.org"}),
        ),
        (json!({"from": "ü@example.org"}), letter()),
        (json!({"envelope_from": "ü@example.org"}), letter()),
    ] {
        let peer = Peer::start(offering(&["8BITMIME", "XSMTPUTF8"]));
        let attempt = attempt(&profile(&peer, &keys), &message, LONG).await;
        assert_eq!(
            attempt.failure().evidence,
            Evidence::NotOffered(Offer::SmtpUtf8)
        );
        assert_eq!(attempt.class(), Class::Permanent);
        let heard = peer.heard_to_the_end().await;
        assert_eq!(heard.lines, ["EHLO app.example.org", "QUIT"]);
    }
}

#[tokio::test]
async fn the_null_sender_is_empty() {
    let peer = Peer::start(Script::default());
    send(&peer, &json!({"envelope_from": ""}), LONG)
        .await
        .sent();
    assert_eq!(mail_line(&peer), "MAIL FROM:<>");
}

#[tokio::test]
async fn without_a_name_in_the_profile_we_are_called_by_a_whole_name_or_an_address() {
    let peer = Peer::start(Script::default());
    send(&peer, &json!({"helo_name": null}), LONG).await.sent();
    let line = peer.heard().lines.remove(0);
    let name = line.strip_prefix("EHLO ").unwrap();
    assert!(
        name == "[127.0.0.1]" || (name.contains('.') && !name.contains("localhost")),
        "{name}"
    );
}

/// A line end in any string of a profile or a message either is refused or stays what it is: text.
#[tokio::test]
async fn nothing_in_any_string_becomes_a_line_of_the_dialogue() {
    const BREAKS: [&str; 6] = [
        "\r\nRSET\r\nMAIL FROM:<evil@example.net>",
        "\nRSET",
        "\rRSET",
        "\0RSET",
        "\u{2028}RSET",
        "\r\n.\r\nRSET",
    ];
    const PROFILE: [&str; 8] = [
        "host",
        "from",
        "helo_name",
        "envelope_from",
        "username",
        "password",
        "ca_file",
        "auth",
    ];
    const MESSAGE: [&str; 10] = [
        "to",
        "cc",
        "bcc",
        "reply_to",
        "subject",
        "text",
        "html",
        "message_id",
        "list_unsubscribe",
        "importance",
    ];
    let peer = Peer::start(offering(&["AUTH PLAIN"]));
    for text in BREAKS {
        for key in PROFILE {
            let base = profile(&peer, &login("plain"));
            let mut given = base.clone();
            given[key] = json!(format!("{}{text}", base[key].as_str().unwrap_or("x")));
            assert!(
                attempt(&given, &letter(), LONG).await.result.is_err(),
                "{key} with {text:?}"
            );
        }
        for key in MESSAGE {
            let mut given = letter();
            let old = given[key].as_str().unwrap_or("x").to_owned();
            given[key] = json!(format!("{old}{text}"));
            check(
                &peer,
                &given,
                matches!(key, "text" | "html") && !text.contains('\0'),
            )
            .await;
        }
        let attachment = json!({"filename": "a", "content_type": "text/plain", "content_base64": "YQ==", "content_id": "x"});
        for key in ["filename", "content_type", "content_base64", "content_id"] {
            let mut attachment = attachment.clone();
            attachment[key] = json!(format!("{}{text}", attachment[key].as_str().unwrap()));
            let mut given = letter();
            given["attachments"] = json!([attachment]);
            check(&peer, &given, false).await;
        }
        for headers in [
            json!({format!("X-A{text}"): "v"}),
            json!({"X-A": format!("v{text}")}),
        ] {
            let mut given = letter();
            given["headers"] = headers;
            check(&peer, &given, false).await;
        }
    }
}

/// Sends a message that must be taken, or must not.
async fn check(peer: &Peer, message: &Value, is_taken: bool) {
    let attempt = attempt(&profile(peer, &json!({})), message, LONG).await;
    assert_eq!(attempt.result.is_ok(), is_taken, "{message}");
    if is_taken {
        peer.wait_for_ends(1).await;
    }
    for heard in peer.connections() {
        let verbs: Vec<&str> = heard.lines.iter().map(|line| &line[..4]).collect();
        assert_eq!(verbs, ["EHLO", "MAIL", "RCPT", "DATA", "QUIT"], "{message}");
    }
}
