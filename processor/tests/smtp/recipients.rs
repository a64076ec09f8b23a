//! Refused recipients: all or none, or whoever is accepted.

use crate::client::{Attempt, LONG, attempt, profile};
use crate::peer::{Act, Peer, Script};
use serde_json::json;
use shared::failure::{Class, Network, Phase};

const GONE: &str = "550 5.1.1 no such user";
const GREY: &str = "450 4.7.1 Greylisted";
const MANY: &str = "452 4.5.3 too many recipients";
const MANY_TOO: &str = "552 5.5.3 too many recipients";
const FULL: &str = "552 5.2.2 mailbox full";

/// An attempt for three recipients, some of them refused; whether the server takes them one by one or in a flight makes no difference.
async fn deliver(script: Script, is_partial: bool) -> (Attempt, Peer) {
    let (one_by_one, _peer) = deliver_once(script.clone(), is_partial).await;
    let in_flights = Script {
        offers: vec!["PIPELINING"],
        flights: vec![4],
        ..script
    };
    let (in_a_flight, peer) = deliver_once(in_flights, is_partial).await;
    assert_eq!(in_a_flight.result, one_by_one.result);
    (in_a_flight, peer)
}

async fn deliver_once(script: Script, is_partial: bool) -> (Attempt, Peer) {
    let peer = Peer::start(script);
    let message = json!({"to": ["a@example.org", "B <b@example.org>"], "bcc": ["c@example.org", "a@example.org"], "text": "x"});
    let profile = profile(&peer, &json!({"partial_delivery": is_partial}));
    (attempt(&profile, &message, LONG).await, peer)
}

fn refusing(refused: &[(&'static str, &'static str)]) -> Script {
    Script {
        refused: refused.to_vec(),
        ..Script::default()
    }
}

fn count(peer_lines: &[String], verb: &str) -> usize {
    peer_lines
        .iter()
        .filter(|line| line.starts_with(verb))
        .count()
}

#[tokio::test]
async fn one_who_is_refused_is_enough_for_nobody_to_get_it() {
    for (refused, class, summary) in [
        (
            &[("b@example.org", GONE)][..],
            Class::Permanent,
            "RCPT refused for 1 of 3 recipients with 550 5.1.1",
        ),
        (
            &[("a@example.org", GREY)],
            Class::Transient,
            "RCPT refused for 1 of 3 recipients with 450 4.7.1",
        ),
        (
            &[("a@example.org", GREY), ("c@example.org", GONE)],
            Class::Permanent,
            "RCPT refused for 2 of 3 recipients with 450 4.7.1, 550 5.1.1",
        ),
        (
            &[
                ("a@example.org", GREY),
                ("b@example.org", GREY),
                ("c@example.org", GREY),
            ],
            Class::Transient,
            "RCPT refused for 3 of 3 recipients with 450 4.7.1",
        ),
        (
            &[("c@example.org", MANY)],
            Class::Transient,
            "RCPT refused for 1 of 3 recipients with 452 4.5.3",
        ),
        (
            &[("c@example.org", MANY_TOO)],
            Class::Transient,
            "RCPT refused for 1 of 3 recipients with 552 5.5.3",
        ),
        (
            &[("c@example.org", FULL)],
            Class::Permanent,
            "RCPT refused for 1 of 3 recipients with 552 5.2.2",
        ),
    ] {
        let (attempt, peer) = deliver(refusing(refused), false).await;
        assert_eq!(attempt.class(), class, "{refused:?}");
        let failure = attempt.failure();
        assert_eq!(failure.summary, summary);
        for recipient in ["a@example.org", "b@example.org", "c@example.org"] {
            let reply = refused.iter().find(|(other, _)| *other == recipient);
            let named = reply.map(|(_, reply)| format!("{recipient}: {reply}"));
            let is_named = named.is_some_and(|named| failure.detail.contains(&named));
            assert_eq!(
                is_named,
                failure.detail.contains(recipient),
                "{}",
                failure.detail
            );
            assert_eq!(is_named, reply.is_some(), "{}", failure.detail);
        }
        let lines = peer.heard_to_the_end().await.lines;
        assert_eq!(
            (
                count(&lines, "RCPT"),
                count(&lines, "DATA"),
                count(&lines, "QUIT")
            ),
            (3, 0, 1),
            "{lines:?}"
        );
    }
}

#[tokio::test]
async fn with_partial_delivery_those_who_are_accepted_get_it() {
    for reply in [GONE, GREY, MANY] {
        let (attempt, peer) = deliver(refusing(&[("b@example.org", reply)]), true).await;
        let sent = attempt.sent();
        assert_eq!(
            sent.detail.as_deref(),
            Some(format!("refused recipients: b@example.org: {reply}").as_str())
        );
        assert!(peer.heard().message.is_some());
    }
    let (attempt, _peer) = deliver(refusing(&[]), true).await;
    assert_eq!(attempt.sent().detail, None);
}

#[tokio::test]
async fn with_partial_delivery_and_nobody_accepted_one_who_may_be_later_keeps_it_alive() {
    let all = |third| {
        refusing(&[
            ("a@example.org", GONE),
            ("b@example.org", GONE),
            ("c@example.org", third),
        ])
    };
    for (third, class) in [(GONE, Class::Permanent), (GREY, Class::Transient)] {
        let (attempt, peer) = deliver(all(third), true).await;
        assert_eq!((attempt.refusal().0, attempt.class()), (Phase::Rcpt, class));
        assert_eq!(count(&peer.heard().lines, "DATA"), 0);
    }
}

#[tokio::test]
async fn a_refusal_after_the_message_names_those_who_were_refused_before_it() {
    let script = refusing(&[("b@example.org", GONE)]).and("dot", Act::say("554 5.7.1 spam"));
    let (attempt, _peer) = deliver(script, true).await;
    assert_eq!(attempt.refusal(), (Phase::Dot, 554));
    let failure = attempt.failure();
    assert_eq!(failure.summary, "final dot refused with 554 5.7.1");
    assert!(
        failure
            .detail
            .ends_with("b@example.org: 550 5.1.1 no such user"),
        "{}",
        failure.detail
    );
}

#[tokio::test]
async fn the_first_refusal_wins_over_what_comes_after_it() {
    // The second RCPT is answered with what is no reply, with 421, or not at all.
    for noise in ["garbage", "421 4.3.2 closing", "354 go"] {
        let refused = [("a@example.org", GONE), ("b@example.org", noise)];
        let (attempt, _peer) = deliver(refusing(&refused), false).await;
        assert_eq!(
            (attempt.refusal(), attempt.class()),
            ((Phase::Rcpt, 550), Class::Permanent),
            "{noise}"
        );
        assert!(
            attempt
                .failure()
                .detail
                .contains("a@example.org: 550 5.1.1")
        );
    }
}

#[tokio::test]
async fn with_partial_delivery_a_broken_conversation_is_tried_again() {
    for (noise, network) in [
        ("garbage", Some(Network::NoReply)),
        ("354 go", Some(Network::NoReply)),
        ("421 4.3.2 closing", None),
    ] {
        let refused = [("a@example.org", GONE), ("b@example.org", noise)];
        let (attempt, peer) = deliver(refusing(&refused), true).await;
        assert_eq!(attempt.class(), Class::Transient, "{noise}");
        match network {
            Some(network) => assert_eq!(attempt.network(), network, "{noise}"),
            None => assert_eq!(attempt.refusal(), (Phase::Rcpt, 421)),
        }
        assert!(
            attempt
                .failure()
                .detail
                .contains("a@example.org: 550 5.1.1"),
            "{}",
            attempt.failure().detail
        );
        assert_eq!(count(&peer.heard().lines, "DATA"), 0);
    }
}

#[tokio::test]
async fn recipients_outside_the_allowed_domains_are_refused_before_anybody_is_bothered() {
    let peer = Peer::start(Script::default());
    let profile = profile(
        &peer,
        &json!({"allowed_recipient_domains": ["example.org"]}),
    );
    let message = json!({"to": "a@example.org", "bcc": "x@elsewhere.example"});
    let attempt = attempt(&profile, &message, LONG).await;
    assert_eq!(attempt.class(), Class::Permanent);
    assert!(
        !attempt.failure().summary.contains("elsewhere")
            && attempt.failure().detail.contains("x@elsewhere.example")
    );
    assert!(peer.connections().is_empty());
}
