//! Replies as servers write them, and as they should not.

use crate::client::{LONG, attempt, letter, profile, send};
use crate::peer::{Act, Peer, Script};
use serde_json::json;
use shared::failure::{Class, Network, Phase};

async fn replying(place: &'static str, said: &[u8]) -> (crate::client::Attempt, Peer) {
    let peer = Peer::start(Script::with(place, Act::Say(said.to_vec())));
    (send(&peer, &json!({}), LONG).await, peer)
}

#[tokio::test]
async fn only_250_to_the_dot_is_a_success() {
    for reply in [
        "251 ok",
        "252 ok",
        "200 ok",
        "220 ok",
        "221 bye",
        "235 ok",
        "299 ok",
        "354 go",
        "334",
        "000 x",
        "600 x",
        "999 x",
        "250-ok\r\n251 ok",
    ] {
        let (attempt, peer) = replying("dot", format!("{reply}\r\n").as_bytes()).await;
        assert_eq!(
            (attempt.network(), attempt.class()),
            (Network::NoReply, Class::Transient),
            "{reply}"
        );
        assert!(peer.heard().message.is_some());
    }
    for reply in [
        "250",
        "250 ok",
        "250-a\r\n250 b",
        "250 \u{fc}",
        "250 4.0.0 whatever",
    ] {
        replying("dot", format!("{reply}\r\n").as_bytes())
            .await
            .0
            .sent();
    }
}

#[tokio::test]
async fn a_reply_that_belongs_elsewhere_is_no_success_in_any_place() {
    for (place, reply) in [
        ("banner", "250 ok"),
        ("banner", "354 go"),
        ("EHLO", "220 again"),
        ("EHLO", "354 go"),
        ("MAIL", "354 go"),
        ("MAIL", "220 x"),
        ("RCPT", "354 go"),
        ("RCPT", "252 perhaps"),
        ("DATA", "250 ok"),
        ("DATA", "334"),
    ] {
        let (attempt, _peer) = replying(place, format!("{reply}\r\n").as_bytes()).await;
        assert_eq!(attempt.network(), Network::NoReply, "{reply} to {place}");
    }
    // Forwarded, and fine (RFC 5321, 3.4).
    replying("RCPT", b"251 2.1.5 forwarded\r\n").await.0.sent();
}

#[tokio::test]
async fn refusals_of_any_shape_are_read() {
    for (said, code) in [
        (&b"550\r\n"[..], 550),
        (b"550 bo\xeete inconnue\r\n", 550),
        (b"571 x\r\n", 571),
        (b"585 x\r\n", 585),
        (b"599\n", 599),
        (b"250-fine\r\n550 not\r\n", 550),
        (b"550-not\r\n250 fine\r\n", 550),
        (b"499 x\r\n", 499),
    ] {
        for (place, phase) in [
            ("MAIL", Phase::Mail),
            ("RCPT", Phase::Rcpt),
            ("DATA", Phase::Data),
            ("dot", Phase::Dot),
        ] {
            let (attempt, _peer) = replying(place, said).await;
            assert_eq!(attempt.refusal(), (phase, code), "{said:?}");
        }
    }
}

#[tokio::test]
async fn a_reply_without_end_is_given_up() {
    for said in [vec![b'5'; 4 << 20], b"550-no, and\r\n".repeat(400_000)] {
        for (place, network) in [
            ("banner", Network::NoReply),
            ("RCPT", Network::NoReply),
            ("dot", Network::UnknownOutcome),
        ] {
            let (attempt, _peer) = replying(place, &said).await;
            assert_eq!(attempt.network(), network, "{place}");
            assert_eq!(attempt.class(), Class::Transient);
        }
    }
}

#[tokio::test]
async fn a_text_is_shown_in_one_line_and_not_without_end() {
    let long = format!("550 5.7.1 \u{1b}[31m{}\r\n", "x".repeat(5000));
    let (attempt, _peer) = replying("MAIL", long.as_bytes()).await;
    let detail = &attempt.failure().detail;
    assert!(
        detail.starts_with("MAIL refused with 550 5.7.1  [31mxxx") && detail.chars().count() < 1100,
        "{detail}"
    );
}

#[tokio::test]
async fn replies_that_nobody_asked_for_are_never_taken_for_answers() {
    // Everything at once: a client that is one reply behind would report a success here.
    for (place, said) in [
        (
            "banner",
            "220 hi\r\n250 ehlo\r\n250 mail\r\n250 rcpt\r\n354 go\r\n250 queued",
        ),
        (
            "EHLO",
            "250 hi\r\n250 mail\r\n250 rcpt\r\n354 go\r\n250 queued",
        ),
        ("DATA", "354 go\r\n250 queued"),
    ] {
        let (attempt, peer) = replying(place, format!("{said}\r\n").as_bytes()).await;
        assert_eq!(attempt.network(), Network::NoReply, "{place}");
        assert!(peer.heard().message.is_none());
    }
}

#[tokio::test]
async fn a_refusal_during_the_message_is_heard() {
    use base64::Engine;
    let file = base64::prelude::BASE64_STANDARD.encode(vec![0; 3 << 20]);
    let large =
        json!({"to": "a@example.org", "attachments": [{"filename": "a", "content_base64": file}]});
    for act in [
        Act::say("552 5.3.4 too big"),
        Act::SayAndClose(b"552 5.3.4 too big\r\n".to_vec()),
    ] {
        for letter in [&large, &letter()] {
            let peer = Peer::start(Script::with("body", act.clone()));
            let attempt = attempt(&profile(&peer, &json!({})), letter, LONG).await;
            // A short message may be through before the server speaks.
            let (phase, code) = attempt.refusal();
            assert!(
                matches!(phase, Phase::Body | Phase::Dot) && code == 552,
                "{:?}",
                attempt.failure()
            );
            assert_eq!(attempt.class(), Class::Permanent);
        }
    }
}

#[tokio::test]
async fn helo_is_for_servers_that_do_not_know_ehlo() {
    for reply in ["500 what?", "502 5.5.1 not implemented"] {
        let peer = Peer::start(Script::with("EHLO", Act::say(reply)));
        send(&peer, &json!({}), LONG).await.sent();
        let lines = peer.heard().lines;
        assert_eq!(
            lines[..3],
            [
                "EHLO app.example.org",
                "HELO app.example.org",
                "MAIL FROM:<app@example.org>"
            ],
            "{reply}"
        );
    }
    for (reply, class) in [
        ("421 4.3.2 busy", Class::Transient),
        ("501 5.5.2 who?", Class::Permanent),
        ("504 5.5.2 who?", Class::Permanent),
        ("550 no", Class::Permanent),
    ] {
        let peer = Peer::start(Script::with("EHLO", Act::say(reply)));
        let attempt = send(&peer, &json!({}), LONG).await;
        assert_eq!(
            (attempt.refusal().0, attempt.class()),
            (Phase::Ehlo, class),
            "{reply}"
        );
        assert!(
            !peer
                .heard()
                .lines
                .iter()
                .any(|line| line.starts_with("HELO"))
        );
    }
}
