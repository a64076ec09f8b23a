//! MAIL and RCPT in flights, for servers that offer PIPELINING (RFC 2920), and for no others.

use crate::client::{Attempt, LONG, SHORT, attempt, profile};
use crate::peer::{Act, Heard, Peer, Script};
use serde_json::{Value, json};
use shared::failure::{Class, Network, Phase};
use std::time::Duration;

fn in_flights(flights: &[usize]) -> Script {
    Script {
        offers: vec!["PIPELINING"],
        flights: flights.to_vec(),
        ..Script::default()
    }
}

fn to(count: usize) -> Value {
    let to: Vec<String> = (0..count)
        .map(|number| format!("{number}@example.org"))
        .collect();
    json!({"to": to, "text": "x"})
}

/// An attempt for `count` recipients, and what the server heard of it.
async fn deliver(script: Script, count: usize, limit: Duration, keys: &Value) -> (Attempt, Heard) {
    let peer = Peer::start(script);
    let attempt = attempt(&profile(&peer, keys), &to(count), limit).await;
    (attempt, peer.heard_to_the_end().await)
}

/// The verbs of `lines`, each as often as it comes in a row.
fn verbs(lines: &[String]) -> Vec<(&str, usize)> {
    let verbs = lines
        .iter()
        .map(|line| line.split([' ', ':']).next().unwrap());
    verbs.fold(Vec::new(), |mut rows, verb| {
        match rows.last_mut() {
            Some((last, count)) if *last == verb => *count += 1,
            _ => rows.push((verb, 1)),
        }
        rows
    })
}

#[tokio::test]
async fn flights_have_up_to_a_hundred_commands_and_data_has_its_own() {
    for (count, flights) in [
        (1, &[2][..]),
        (99, &[100]),
        (100, &[100, 1]),
        (1000, &[100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 1]),
    ] {
        let (attempt, heard) = deliver(in_flights(flights), count, LONG, &json!({})).await;
        attempt.sent();
        let expected = [
            ("EHLO", 1),
            ("MAIL", 1),
            ("RCPT", count),
            ("DATA", 1),
            ("QUIT", 1),
        ];
        assert_eq!(verbs(&heard.lines), expected, "{flights:?}");
        let named = heard.lines.iter().filter(|line| line.starts_with("RCPT"));
        assert!(
            named
                .enumerate()
                .all(|(number, line)| *line == format!("RCPT TO:<{number}@example.org>"))
        );
    }
}

#[tokio::test]
async fn a_server_that_does_not_offer_it_gets_one_command_at_a_time() {
    let script = Script {
        offers: vec!["PIPELININGS"],
        ..in_flights(&[2])
    };
    let (attempt, heard) = deliver(script, 3, SHORT, &json!({})).await;
    assert_eq!(attempt.network(), Network::Timeout);
    assert!(attempt.failure().summary.starts_with("MAIL"));
    assert_eq!(verbs(&heard.lines), [("EHLO", 1), ("MAIL", 1)]);
}

#[tokio::test]
async fn a_refused_mail_ends_it_whatever_the_recipients_are_answered() {
    for (reply, class) in [
        ("550 5.7.1 no", Class::Permanent),
        ("451 4.3.0 later", Class::Transient),
    ] {
        for noise in [
            "503 5.5.1 need MAIL",
            "250 2.1.5 Ok",
            "421 4.3.2 closing",
            "garbage",
        ] {
            let script = in_flights(&[4])
                .and("MAIL", Act::say(reply))
                .and("RCPT", Act::say(noise));
            let (attempt, heard) =
                deliver(script, 3, LONG, &json!({"partial_delivery": true})).await;
            let code = reply[..3].parse().unwrap();
            assert_eq!(
                (attempt.refusal(), attempt.class()),
                ((Phase::Mail, code), class),
                "{noise}"
            );
            assert_eq!(
                verbs(&heard.lines),
                [("EHLO", 1), ("MAIL", 1), ("RCPT", 3), ("QUIT", 1)]
            );
        }
    }
}

#[tokio::test]
async fn nothing_more_is_said_when_the_server_leaves_within_a_flight() {
    let script = Script {
        refused: vec![("50@example.org", "421 4.3.2 closing")],
        ..in_flights(&[100])
    };
    let (attempt, heard) = deliver(script, 150, LONG, &json!({})).await;
    assert_eq!(
        (attempt.refusal(), attempt.class()),
        ((Phase::Rcpt, 421), Class::Transient)
    );
    assert_eq!(
        verbs(&heard.lines),
        [("EHLO", 1), ("MAIL", 1), ("RCPT", 99)]
    );
}

#[tokio::test]
async fn everyone_is_asked_for_before_a_refusal_decides() {
    let script = Script {
        refused: vec![
            ("3@example.org", "450 4.7.1 Greylisted"),
            ("120@example.org", "550 5.1.1 gone"),
        ],
        ..in_flights(&[100, 51])
    };
    let (attempt, heard) = deliver(script, 150, LONG, &json!({})).await;
    assert_eq!(
        (attempt.refusal(), attempt.class()),
        ((Phase::Rcpt, 550), Class::Permanent)
    );
    assert_eq!(
        attempt.failure().summary,
        "RCPT refused for 2 of 150 recipients with 450 4.7.1, 550 5.1.1"
    );
    assert_eq!(
        verbs(&heard.lines),
        [("EHLO", 1), ("MAIL", 1), ("RCPT", 150), ("QUIT", 1)]
    );
}

/// One reply too many: from there on nobody knows what answers what.
#[tokio::test]
async fn a_reply_that_nobody_is_due_keeps_the_message_back() {
    for (said, expected) in [
        ("250 ok\r\n250 more", None),
        ("250 ok\r\n451 4.3.0 more", Some((Phase::Data, 451))),
    ] {
        let script = Script {
            refused: vec![("2@example.org", said)],
            ..in_flights(&[4])
        };
        let peer = Peer::start(script);
        let attempt = attempt(&profile(&peer, &json!({})), &to(3), LONG).await;
        match expected {
            None => assert_eq!(attempt.network(), Network::NoReply),
            Some(refusal) => assert_eq!(attempt.refusal(), refusal),
        }
        assert_eq!(attempt.class(), Class::Transient);
        assert!(peer.heard().message.is_none());
    }
}
