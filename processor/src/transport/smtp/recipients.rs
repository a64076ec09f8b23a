//! What became of the recipients.

use super::reply::Answer;
use super::stop::Stop;
use shared::failure::{Class, Evidence, Phase, classify};

/// Most of a reply that is shown for one of many recipients, in characters.
const REPLY_SHOWN: usize = 200;

/// Who was refused, and how.
#[derive(Default)]
pub(super) struct Refusals {
    /// How many were not.
    pub(super) accepted: usize,
    refused: Vec<(String, Answer)>,
}

impl Refusals {
    pub(super) fn add(&mut self, recipient: &str, answer: Answer) {
        self.refused.push((recipient.to_owned(), answer));
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.refused.is_empty()
    }

    /// Every refused recipient with the reply; for the notifier alone.
    pub(super) fn named(&self) -> String {
        let refusals = self.refused.iter();
        let named: Vec<String> = refusals
            .map(|(recipient, answer)| format!("{recipient}: {}", answer.shown(REPLY_SHOWN)))
            .collect();
        format!("refused recipients: {}", named.join("; "))
    }

    /// The end of a notification that goes to all of its `count` recipients or to none: one who is refused for ever is enough for it to fail for ever.
    pub(super) fn of_all_or_none(&self, count: usize) -> Option<Stop> {
        self.ending(Class::Permanent, count)
    }

    /// The end of a notification that goes to whoever is accepted, when nobody was: as long as one of them may be accepted later, it may succeed later.
    pub(super) fn of_everyone(&self, count: usize) -> Option<Stop> {
        self.ending(Class::Transient, count)
    }

    /// With the first reply of `class` as the evidence, or with the first of all.
    fn ending(&self, class: Class, count: usize) -> Option<Stop> {
        let evidence = |answer: &Answer| Evidence::Smtp {
            phase: Phase::Rcpt,
            reply: answer.reply(),
        };
        let mut answers = self.refused.iter().map(|(_, answer)| answer);
        let decides = answers
            .clone()
            .find(|answer| classify(&evidence(answer)) == class);
        let decides = decides.or_else(|| answers.next())?;
        let mut codes: Vec<String> = Vec::new();
        for (_, answer) in &self.refused {
            let code = answer.codes();
            if !codes.contains(&code) {
                codes.push(code);
            }
        }
        let summary = format!(
            "RCPT refused for {} of {count} recipients with {}",
            self.refused.len(),
            codes.join(", ")
        );
        let detail = format!("{summary}; {}", self.named());
        let mut stop = Stop::polite(evidence(decides), summary, detail);
        stop.farewell = self.refused.iter().all(|(_, answer)| answer.code() != 421);
        Some(stop)
    }
}
