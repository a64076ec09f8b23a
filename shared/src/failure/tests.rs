//! The table of classes, row by row.

use super::Class::{Permanent, Transient};
use super::{
    Class, Enhanced, Evidence, GraphCode, Network, Offer, Phase, Reply, TokenCode, Unsendable,
    classify,
};

const PHASES: [Phase; 11] = [
    Phase::Connect,
    Phase::Banner,
    Phase::Ehlo,
    Phase::StartTls,
    Phase::Handshake,
    Phase::Auth,
    Phase::Mail,
    Phase::Rcpt,
    Phase::Data,
    Phase::Body,
    Phase::Dot,
];

fn reply(phase: Phase, code: u16, enhanced: Option<Enhanced>) -> Class {
    let reply = Reply { code, enhanced };
    classify(&Evidence::Smtp { phase, reply })
}

#[test]
fn a_broken_conversation_is_transient() {
    for network in [
        Network::Dns,
        Network::Refused,
        Network::Unreachable,
        Network::Closed,
        Network::Timeout,
        Network::HalfReply,
        Network::NoReply,
        Network::Handshake,
        Network::Injected,
        Network::UnknownOutcome,
    ] {
        assert_eq!(
            classify(&Evidence::Network(network)),
            Transient,
            "{network:?}"
        );
    }
}

#[test]
fn the_first_digit_of_an_smtp_reply_decides_in_every_phase() {
    for phase in PHASES {
        for code in [400, 421, 432, 450, 451, 452, 454, 455, 499] {
            assert_eq!(
                reply(phase, code, None),
                Transient,
                "{code} in {}",
                phase.as_str()
            );
        }
        for code in [
            500, 501, 502, 504, 521, 530, 534, 535, 550, 552, 553, 554, 555, 556, 571, 585, 599,
        ] {
            assert_eq!(
                reply(phase, code, None),
                Permanent,
                "{code} in {}",
                phase.as_str()
            );
        }
        for code in [0, 199, 220, 250, 299, 334, 354, 600, 999, u16::MAX] {
            assert_eq!(
                reply(phase, code, None),
                Transient,
                "{code} in {}",
                phase.as_str()
            );
        }
    }
}

#[test]
fn the_basic_code_wins_over_an_enhanced_one_that_disagrees() {
    assert_eq!(reply(Phase::Rcpt, 550, Some(Enhanced(4, 2, 1))), Permanent);
    assert_eq!(reply(Phase::Rcpt, 451, Some(Enhanced(5, 7, 1))), Transient);
}

#[test]
fn too_many_recipients_is_transient_under_either_code_and_a_full_mailbox_is_not() {
    assert_eq!(reply(Phase::Rcpt, 452, Some(Enhanced(4, 5, 3))), Transient);
    assert_eq!(reply(Phase::Rcpt, 552, Some(Enhanced(5, 5, 3))), Transient);
    assert_eq!(reply(Phase::Rcpt, 552, Some(Enhanced(5, 2, 2))), Permanent);
    for phase in PHASES.into_iter().filter(|phase| *phase != Phase::Rcpt) {
        let class = reply(phase, 552, Some(Enhanced(5, 5, 3)));
        assert_eq!(class, Permanent, "552 5.5.3 in {}", phase.as_str());
    }
}

#[test]
fn what_is_not_offered_or_not_trusted_is_permanent() {
    for offer in [Offer::StartTls, Offer::Auth, Offer::SmtpUtf8] {
        assert_eq!(
            classify(&Evidence::NotOffered(offer)),
            Permanent,
            "{offer:?}"
        );
    }
    assert_eq!(classify(&Evidence::Certificate), Permanent);
}

/// Every status that HTTP knows, with those of `transient` expected to be so and all others from 300 on permanent.
fn every_status(transient: &[u16], class: impl Fn(u16) -> Class) {
    for status in 300..=599 {
        let expected = if transient.contains(&status) {
            Transient
        } else {
            Permanent
        };
        assert_eq!(class(status), expected, "HTTP {status}");
    }
    for status in [0, 100, 199, 200, 299, 600, u16::MAX] {
        assert_eq!(
            class(status),
            Transient,
            "HTTP {status} is no answer that refuses"
        );
    }
}

fn with_server_errors(client_errors: &[u16], except: &[u16]) -> Vec<u16> {
    let server_errors = (500..=599).filter(|status| !except.contains(status));
    client_errors.iter().copied().chain(server_errors).collect()
}

#[test]
fn webhooks() {
    let transient = with_server_errors(&[408, 425, 429], &[501, 505]);
    every_status(&transient, |status| classify(&Evidence::Webhook { status }));
}

#[test]
fn graph() {
    let transient = with_server_errors(&[408, 425, 429], &[]);
    every_status(&transient, |status| {
        let code = GraphCode::of(Some("ErrorAccessDenied"));
        classify(&Evidence::Graph { status, code })
    });
    assert_eq!(classify(&Evidence::GraphUnauthorizedAgain), Permanent);
    let code = GraphCode::of(Some("ErrorQuotaExceeded"));
    for status in [403, 429, 507] {
        assert_eq!(
            classify(&Evidence::Graph { status, code }),
            Permanent,
            "the sender's mailbox stays full, HTTP {status}"
        );
    }
}

#[test]
fn the_token_endpoint() {
    let transient = with_server_errors(&[408, 429], &[]);
    every_status(&transient, |status| {
        let code = TokenCode::of(Some("invalid_client"), &[7_000_215]);
        classify(&Evidence::Token { status, code })
    });
    let later: [(Option<&str>, &[u64]); 6] = [
        (Some("temporarily_unavailable"), &[]),
        (Some("server_error"), &[]),
        (Some("invalid_grant"), &[50_196]),
        (Some("invalid_request"), &[90_024]),
        (None, &[1, 90_033]),
        (None, &[90_055]),
    ];
    for (error, numbers) in later {
        let code = TokenCode::of(error, numbers);
        let evidence = Evidence::Token { status: 400, code };
        assert_eq!(classify(&evidence), Transient, "{error:?} {numbers:?}");
    }
    assert_eq!(classify(&Evidence::TokenUnusable), Transient);
}

#[test]
fn what_cannot_be_sent_is_permanent() {
    for reason in [
        Unsendable::Payload,
        Unsendable::UnknownId,
        Unsendable::Transport,
        Unsendable::Profile,
        Unsendable::Message,
        Unsendable::Variable,
        Unsendable::Denied,
        Unsendable::Address,
        Unsendable::NotifierAbsent,
        Unsendable::NotifierVersion,
    ] {
        let class = classify(&Evidence::Unsendable(reason));
        assert_eq!(class, Permanent, "{reason:?}");
    }
}
