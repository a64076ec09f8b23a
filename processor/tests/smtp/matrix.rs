//! Every way to fail in every place: each attempt ends in time, with the right evidence.

use crate::certificates::Certificates;
use crate::client::{Attempt, LONG, SHORT, attempt, letter, login, profile, send};
use crate::peer::{Act, Peer, Script};
use base64::Engine;
use serde_json::{Value, json};
use shared::failure::{Class, Network, Phase};
use std::time::Duration;
use tokio::task::JoinSet;

/// Places of a dialogue and the phases that a failure there is told with.
const PLACES: [(&str, Phase); 7] = [
    ("banner", Phase::Banner),
    ("EHLO", Phase::Ehlo),
    ("AUTH", Phase::Auth),
    ("MAIL", Phase::Mail),
    ("RCPT", Phase::Rcpt),
    ("DATA", Phase::Data),
    ("dot", Phase::Dot),
];

/// A letter that no buffer between client and server takes.
fn large_letter() -> Value {
    let file = base64::prelude::BASE64_STANDARD.encode(vec![0; 3 << 20]);
    json!({"to": "a@example.org", "attachments": [{"filename": "a", "content_base64": file}]})
}

/// A server with a login that follows `script`, and an attempt with it over `security`.
async fn misbehave(
    certificates: &Certificates,
    security: &str,
    script: Script,
    limit: Duration,
) -> (Attempt, Peer) {
    let is_large = script.act("body").is_some();
    let peer = Peer::start(certificates.serve(security, script));
    let mut keys = login("plain");
    keys["security"] = json!(security);
    keys["ca_file"] = json!(certificates.authority());
    let letter = if is_large { large_letter() } else { letter() };
    (attempt(&profile(&peer, &keys), &letter, limit).await, peer)
}

/// So many attempts at once: enough to be quick, few enough for none of them to wait for a processor.
const AT_ONCE: usize = 4;

/// Every place, under every kind of security. Those where a large letter is composed come one by one.
async fn everywhere<F>(case: impl Fn(Certificates, &'static str, &'static str, Phase) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let certificates = Certificates::new();
    let securities = ["none", "starttls", "tls"];
    let places = securities
        .iter()
        .flat_map(|security| PLACES.map(|(place, phase)| (*security, place, phase)));
    let mut cases = JoinSet::new();
    for (security, place, phase) in places.chain([("starttls", "STARTTLS", Phase::StartTls)]) {
        if cases.len() == AT_ONCE {
            cases.join_next().await.unwrap().unwrap();
        }
        cases.spawn(case(certificates.clone(), security, place, phase));
    }
    while let Some(ended) = cases.join_next().await {
        ended.unwrap();
    }
    for security in securities {
        case(certificates.clone(), security, "body", Phase::Body).await;
    }
}

/// With `act` each attempt fails for the network, is told with its phase, and ends in time.
async fn fails_everywhere(act: Act, network: Network, limit: Duration) {
    everywhere(|certificates, security, place, phase| {
        let act = act.clone();
        async move {
            let case = format!("{act:?} at {place} with {security}");
            let script = Script::with(place, act);
            // A large letter takes a while to compose.
            let limit = if phase == Phase::Body {
                limit * 3
            } else {
                limit
            };
            let (attempt, _peer) = misbehave(&certificates, security, script, limit).await;
            let case = format!("{case}: {:?} after {:?}", attempt.result, attempt.elapsed);
            let expected = match phase {
                Phase::Dot => Network::UnknownOutcome,
                _ => network,
            };
            assert_eq!(attempt.network(), expected, "{case}");
            assert_eq!(attempt.class(), Class::Transient, "{case}");
            let summary = &attempt.failure().summary;
            assert!(summary.starts_with(phase.as_str()), "{case}");
            assert!(attempt.elapsed < limit + Duration::from_secs(1), "{case}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn measured_silence_in_every_place() {
    // Long enough for everything that comes before the silence.
    fails_everywhere(Act::Silence, Network::Timeout, SHORT * 5).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_in_every_place() {
    fails_everywhere(Act::Close, Network::Closed, LONG).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_in_every_place() {
    fails_everywhere(Act::say("HTTP/1.1 400 Bad Request"), Network::NoReply, LONG).await;
    let binary = vec![0x16, 3, 1, 0, 0xff, b'\n'];
    fails_everywhere(Act::Say(binary), Network::NoReply, LONG).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn half_a_reply_in_every_place() {
    for said in ["25", "250-more\r\n"] {
        let act = Act::SayAndClose(said.as_bytes().to_vec());
        fails_everywhere(act, Network::HalfReply, LONG).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handshake_that_does_not_come_about() {
    let certificates = Certificates::new();
    for (act, network) in [
        (Act::Silence, Network::Timeout),
        (Act::Close, Network::Handshake),
        (Act::say("220 this is no TLS"), Network::Handshake),
    ] {
        for security in ["starttls", "tls"] {
            let limit = if network == Network::Timeout {
                SHORT
            } else {
                LONG
            };
            let (attempt, _peer) = misbehave(
                &certificates,
                security,
                Script::with("handshake", act.clone()),
                limit,
            )
            .await;
            assert_eq!(attempt.network(), network, "{act:?} with {security}");
            assert!(attempt.elapsed < limit + Duration::from_secs(1));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_in_every_place_are_told_with_their_phase_and_code() {
    for (code, class) in [
        (421, Class::Transient),
        (450, Class::Transient),
        (550, Class::Permanent),
        (571, Class::Permanent),
    ] {
        everywhere(|certificates, security, place, phase| async move {
            let act = Act::say(&format!("{code}-5.7.1 first\r\n{code} 5.7.1 second"));
            let script = Script::with(place, act);
            let (attempt, peer) = misbehave(&certificates, security, script, LONG).await;
            let failure = attempt.failure();
            let case = format!("{code} at {place} with {security}: {failure:?}");
            assert_eq!(attempt.refusal(), (phase, code), "{case}");
            assert_eq!(attempt.class(), class, "{case}");
            assert!(
                failure.summary.contains(&format!("with {code} 5.7.1")),
                "{case}"
            );
            assert!(!failure.summary.contains("first"), "{case}");
            assert!(
                failure.detail.contains("5.7.1 first 5.7.1 second"),
                "{case}"
            );
            // Leave is taken where the server can understand it, and not of one that has taken it.
            peer.wait_for_ends(1).await;
            let quits = peer.heard().lines.contains(&"QUIT".to_owned());
            assert_eq!(quits, code != 421 && phase != Phase::Body, "{case}");
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clean_250_is_a_success_whatever_becomes_of_quit() {
    let certificates = Certificates::new();
    for security in ["none", "starttls", "tls"] {
        for act in [
            Act::Silence,
            Act::Close,
            Act::say("garbage"),
            Act::say("554 content rejected"),
            Act::say("421 too late"),
            Act::SayAndClose(b"2".to_vec()),
        ] {
            let (attempt, peer) = misbehave(
                &certificates,
                security,
                Script::with("QUIT", act.clone()),
                LONG,
            )
            .await;
            assert_eq!(
                attempt.sent().provider_ref.as_deref(),
                Some("Ok: queued as 4XYZ"),
                "{act:?}"
            );
            assert!(
                attempt.elapsed < LONG / 4,
                "{act:?} took {:?}",
                attempt.elapsed
            );
            assert!(peer.heard().message.is_some());
        }
    }
}

#[tokio::test]
async fn a_server_that_closes_right_after_the_250_has_taken_it() {
    let script = Script::with("dot", Act::SayAndClose(b"250 ok\r\n".to_vec()));
    let peer = Peer::start(script);
    send(&peer, &json!({}), LONG).await.sent();
    let script = Script::with(
        "dot",
        Act::SayAndClose(b"250 ok\r\n554 or not\r\ngarbage".to_vec()),
    );
    let peer = Peer::start(script);
    send(&peer, &json!({}), LONG).await.sent();
}

#[tokio::test]
async fn a_silent_quit_after_a_refusal_neither_hides_nor_delays_it() {
    let script = Script::with("RCPT", Act::say("550 5.1.1 no such user")).and("QUIT", Act::Silence);
    let peer = Peer::start(script);
    let attempt = send(&peer, &json!({}), LONG).await;
    assert_eq!(attempt.refusal(), (Phase::Rcpt, 550));
    assert!(attempt.elapsed < LONG / 4, "{:?}", attempt.elapsed);
}
