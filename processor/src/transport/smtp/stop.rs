//! Why a dialogue ended without success, and whether the server is told goodbye.

use super::super::Failure;
use super::reply::Answer;
use shared::failure::{Evidence, Network, Offer, Phase};

/// The end of a dialogue.
pub(super) struct Stop {
    pub(super) failure: Failure,
    /// Whether QUIT is in its place: not after 421, and not where the server would take it for something else.
    pub(super) farewell: bool,
}

impl Stop {
    /// The server refused.
    pub(super) fn refused(phase: Phase, answer: &Answer) -> Self {
        let evidence = Evidence::Smtp {
            phase,
            reply: answer.reply(),
        };
        let summary = format!("{} refused with {}", phase.as_str(), answer.codes());
        let detail = format!(
            "{} refused with {}",
            phase.as_str(),
            answer.shown(usize::MAX)
        );
        Self {
            failure: Failure::new(evidence, summary, detail),
            farewell: answer.code() != 421 && phase != Phase::Body,
        }
    }

    /// The server gave a reply that is due elsewhere.
    pub(super) fn unexpected(phase: Phase, answer: &Answer) -> Self {
        let place = phase.as_str();
        Self::hard(
            Evidence::Network(Network::NoReply),
            format!(
                "{place} was answered with {}, which is no answer to it",
                answer.codes()
            ),
            format!("{place} was answered with {}", answer.shown(usize::MAX)),
        )
    }

    /// The conversation broke. Once all of the message is handed over, nobody knows whether it was accepted.
    pub(super) fn broken(phase: Phase, network: Network) -> Self {
        let place = phase.as_str();
        let what = match network {
            Network::Dns => "the name of the host is not known",
            Network::Refused => "refused",
            Network::Unreachable => "the host cannot be reached",
            Network::Closed => "the connection was closed",
            Network::Timeout => "no answer within the limit",
            Network::HalfReply => "the connection was closed within the reply",
            Network::NoReply => "the answer is no reply",
            Network::Handshake => "failed",
            Network::Injected => "the server spoke before it",
            Network::UnknownOutcome => "no reply",
        };
        let (network, text) = match phase {
            Phase::Dot => (
                Network::UnknownOutcome,
                format!("{place}: {what}, so the outcome is unknown"),
            ),
            _ => (network, format!("{place}: {what}")),
        };
        Self::hard(Evidence::Network(network), text.clone(), text)
    }

    /// The server lacks something.
    pub(super) fn not_offered(offer: Offer, text: String) -> Self {
        Self::polite(Evidence::NotOffered(offer), text.clone(), text)
    }

    /// Something else ended it between two commands.
    pub(super) fn polite(evidence: Evidence, summary: String, detail: String) -> Self {
        Self {
            failure: Failure::new(evidence, summary, detail),
            farewell: true,
        }
    }

    fn hard(evidence: Evidence, summary: String, detail: String) -> Self {
        Self {
            failure: Failure::new(evidence, summary, detail),
            farewell: false,
        }
    }
}
