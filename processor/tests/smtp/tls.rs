//! TLS: certificates, STARTTLS, and those who stand in between.

use crate::certificates::{Certificates, acceptor, expired, serve};
use crate::client::{LONG, PASSWORD, SHORT, attempt, letter, login, profile};
use crate::peer::{Act, Peer, Script};
use fleet_tests::mail::authority::Authority;
use serde_json::json;
use shared::failure::{Class, Evidence, Network, Offer, Phase};
use std::path::PathBuf;

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_of_a_trusted_authority_for_the_host_is_accepted() {
    let certificates = Certificates::new();
    for security in ["starttls", "tls"] {
        let peer = Peer::start(certificates.serve(security, Script::default()));
        let mut keys = login("plain");
        keys["security"] = json!(security);
        keys["ca_file"] = json!(certificates.authority());
        attempt(&profile(&peer, &keys), &letter(), LONG)
            .await
            .sent();
        let heard = peer.heard();
        let hellos = heard
            .lines
            .iter()
            .filter(|line| line.starts_with("EHLO"))
            .count();
        assert_eq!(
            hellos,
            if security == "starttls" { 2 } else { 1 },
            "what was offered before TLS is forgotten"
        );
        assert!(heard.ended || peer.connections().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_proves_nothing_is_refused_for_good() {
    let (authority, other) = (Authority::new(), Authority::new());
    let cases = [
        (
            "of an unknown authority",
            other.issue("other", "IP:127.0.0.1"),
            true,
        ),
        (
            "for another name",
            authority.issue("name", "DNS:mail.example.org"),
            true,
        ),
        (
            "for another address",
            authority.issue("address", "IP:127.0.0.2"),
            true,
        ),
        ("that has expired", expired(&authority), true),
        (
            "of an authority that nobody was told of",
            authority.issue("untold", "IP:127.0.0.1"),
            false,
        ),
    ];
    for (what, identity, is_told) in cases {
        for security in ["starttls", "tls"] {
            let acceptor = acceptor(&identity.certificate, &identity.key);
            let peer = Peer::start(serve(acceptor, security, Script::default()));
            let mut keys = login("plain");
            keys["security"] = json!(security);
            if is_told {
                keys["ca_file"] = json!(authority.certificate());
            }
            let attempt = attempt(&profile(&peer, &keys), &letter(), LONG).await;
            assert_eq!(
                attempt.failure().evidence,
                Evidence::Certificate,
                "{what} with {security}"
            );
            assert_eq!(attempt.class(), Class::Permanent);
            let lines = peer.heard().lines;
            assert!(
                !lines
                    .iter()
                    .any(|line| line.starts_with("AUTH") || line.starts_with("MAIL")),
                "{lines:?}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_self_signed_certificate_is_refused_unless_it_is_trusted_itself() {
    let authority = Authority::new();
    let key = authority.certificate().with_file_name("authority.key");
    let peer = Peer::start(serve(
        acceptor(&authority.certificate(), &key),
        "tls",
        Script::default(),
    ));
    let attempt = attempt(
        &profile(&peer, &json!({"security": "tls"})),
        &letter(),
        LONG,
    )
    .await;
    assert_eq!(attempt.failure().evidence, Evidence::Certificate);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ca_file_that_cannot_be_used_fails_before_anybody_is_bothered() {
    let directory = tempfile::tempdir().unwrap();
    let empty = directory.path().join("empty.pem");
    std::fs::write(&empty, "").unwrap();
    let text = directory.path().join("text.pem");
    std::fs::write(
        &text,
        "-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n",
    )
    .unwrap();
    for (path, expected) in [
        (directory.path().join("missing.pem"), "it cannot be read"),
        (directory.path().to_owned(), "expected a file"),
        (PathBuf::from("/dev/zero"), "expected a file"),
        (empty, "expected certificates in PEM"),
        (text, "expected certificates in PEM"),
    ] {
        let peer = Peer::start(Script::default());
        let keys = json!({"security": "tls", "ca_file": path});
        let attempt = attempt(&profile(&peer, &keys), &letter(), LONG).await;
        assert!(
            attempt
                .failure()
                .summary
                .starts_with(&format!("profile key ca_file: {expected}")),
            "{:?}",
            attempt.failure()
        );
        assert_eq!(attempt.class(), Class::Permanent);
        assert!(peer.connections().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn starttls_never_downgrades() {
    let certificates = Certificates::new();
    let mut keys = login("plain");
    keys["security"] = json!("starttls");
    keys["ca_file"] = json!(certificates.authority());
    for offers in [vec![], vec!["AUTH PLAIN", "XSTARTTLS", "STARTTLS-NOT"]] {
        let script = Script {
            offers,
            ..Script::default()
        };
        let peer = Peer::start(script);
        let attempt = attempt(&profile(&peer, &keys), &letter(), LONG).await;
        assert_eq!(
            attempt.failure().evidence,
            Evidence::NotOffered(Offer::StartTls)
        );
        assert_eq!(attempt.class(), Class::Permanent);
        let heard = peer.heard_to_the_end().await;
        assert_eq!(heard.lines, ["EHLO app.example.org", "QUIT"]);
    }
    for (reply, class) in [
        ("454 4.7.0 not now", Class::Transient),
        ("502 no", Class::Permanent),
    ] {
        let script = certificates.serve("starttls", Script::with("STARTTLS", Act::say(reply)));
        let peer = Peer::start(script);
        let attempt = attempt(&profile(&peer, &keys), &letter(), LONG).await;
        assert_eq!(attempt.refusal().0, Phase::StartTls);
        assert_eq!(attempt.class(), class, "{reply}");
    }
    // A server that knows HELO alone offers nothing.
    let peer = Peer::start(Script::with("EHLO", Act::say("502 what?")));
    let attempt = attempt(&profile(&peer, &keys), &letter(), LONG).await;
    assert_eq!(
        attempt.failure().evidence,
        Evidence::NotOffered(Offer::StartTls)
    );
}

/// CVE-2011-0411: what somebody adds in the open, in the same packet, would be taken for replies under TLS.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_between_starttls_and_the_handshake_ends_it() {
    let certificates = Certificates::new();
    let injected = "220 go\r\n250-peer\r\n250 AUTH PLAIN\r\n235 ok\r\n250 ok\r\n250 ok\r\n354 go\r\n250 queued";
    let script = certificates.serve("starttls", Script::with("STARTTLS", Act::say(injected)));
    let peer = Peer::start(script);
    let mut keys = login("plain");
    keys["security"] = json!("starttls");
    keys["ca_file"] = json!(certificates.authority());
    let attempt = attempt(&profile(&peer, &keys), &letter(), LONG).await;
    assert_eq!(attempt.network(), Network::Injected);
    assert_eq!(attempt.class(), Class::Transient);
    let lines = peer.heard().lines;
    assert_eq!(
        lines,
        ["EHLO app.example.org", "STARTTLS"],
        "the password {PASSWORD:?} stays here"
    );
}

/// lettre 1027: STARTTLS against a port that speaks TLS from the first byte, and the other way round.
#[tokio::test(flavor = "multi_thread")]
async fn the_wrong_kind_of_port_ends_at_the_limit_or_before() {
    let certificates = Certificates::new();
    for (served, used) in [
        ("tls", "starttls"),
        ("tls", "none"),
        ("none", "tls"),
        ("starttls", "tls"),
    ] {
        let peer = Peer::start(certificates.serve(served, Script::default()));
        let keys = json!({"security": used, "ca_file": certificates.authority()});
        let attempt = attempt(&profile(&peer, &keys), &letter(), SHORT).await;
        assert!(
            matches!(attempt.network(), Network::Timeout | Network::Handshake),
            "{:?}",
            attempt.failure()
        );
        assert!(
            attempt.elapsed < SHORT + std::time::Duration::from_secs(1),
            "{:?}",
            attempt.elapsed
        );
    }
}
