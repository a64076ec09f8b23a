//! What a server offers in its answer to EHLO (RFC 5321, 4.1.1.1).

use super::reply::Answer;

/// The service extensions that matter to us. Before TLS and after it they are two different things.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an extension of its own"
)]
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Offers {
    pub(super) start_tls: bool,
    pub(super) pipelining: bool,
    pub(super) smtp_utf8: bool,
    pub(super) eight_bit: bool,
    pub(super) size: Size,
    /// Mechanisms in upper case.
    mechanisms: Vec<String>,
}

/// SIZE (RFC 1870, 4).
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    #[default]
    NotOffered,
    Unlimited,
    /// Most bytes of a message.
    Limit(u64),
}

impl Offers {
    /// Reads an answer to EHLO. A keyword is a whole word: another one may begin with it.
    pub(super) fn of(answer: &Answer) -> Self {
        let mut offers = Self::default();
        // The first line is the server's name.
        for line in answer.lines().skip(1) {
            let mut words = line.split_ascii_whitespace().map(str::to_ascii_uppercase);
            match words.next().as_deref() {
                Some("STARTTLS") => offers.start_tls = true,
                Some("PIPELINING") => offers.pipelining = true,
                Some("SMTPUTF8") => offers.smtp_utf8 = true,
                Some("8BITMIME") => offers.eight_bit = true,
                Some("SIZE") => {
                    let limit = words.next().and_then(|limit| limit.parse().ok());
                    offers.size = match limit {
                        None | Some(0) => Size::Unlimited,
                        Some(limit) => Size::Limit(limit),
                    };
                }
                Some("AUTH") => offers.mechanisms.extend(words),
                Some(_) | None => {}
            }
        }
        offers
    }

    /// Whether AUTH knows `mechanism`, which is in upper case.
    pub(super) fn has_mechanism(&self, mechanism: &str) -> bool {
        self.mechanisms.iter().any(|offered| offered == mechanism)
    }
}

#[cfg(test)]
mod tests {
    use super::super::reply::Gathering;
    use super::{Offers, Size};
    use crate::transport::veil::Veil;

    fn offers(lines: &[&str]) -> Offers {
        let mut gathering = Gathering::default();
        let mut answer = None;
        for line in lines {
            answer = gathering.take(line.as_bytes(), &Veil::default()).unwrap();
        }
        Offers::of(&answer.unwrap())
    }

    #[test]
    fn keywords_are_whole_words_in_any_case() {
        let offers = offers(&[
            "250-SIZE 1 STARTTLS AUTH PLAIN",
            "250-starttls",
            "250-Size 1000",
            "250-8BITMIME",
            "250-Pipelining",
            "250-auth Plain LOGIN",
            "250 AUTH XOAUTH2",
        ]);
        assert!(offers.start_tls && offers.eight_bit && offers.pipelining && !offers.smtp_utf8);
        assert_eq!(offers.size, Size::Limit(1000));
        for mechanism in ["PLAIN", "LOGIN", "XOAUTH2"] {
            assert!(offers.has_mechanism(mechanism), "{mechanism}");
        }
    }

    #[test]
    fn what_only_looks_like_a_keyword_is_none() {
        let none = offers(&[
            "250-STARTTLS",
            "250-XSTARTTLS",
            "250-STARTTLSX",
            "250-8BITMIMEX",
            "250-PIPELININGS",
            "250-X-SMTPUTF8 SMTPUTF8",
            "250-SIZES 10",
            "250-AUTHPLAIN",
            "250 HELP AUTH PLAIN",
        ]);
        assert_eq!(none, Offers::default());
        assert!(!offers(&["250-x", "250 AUTH PLAIN-CLIENTTOKEN"]).has_mechanism("PLAIN"));
    }

    #[test]
    fn a_size_without_a_usable_limit_has_none() {
        for line in [
            "250 SIZE",
            "250 SIZE 0",
            "250 SIZE lots",
            "250 SIZE 99999999999999999999",
        ] {
            assert_eq!(offers(&["250-x", line]).size, Size::Unlimited, "{line}");
        }
    }
}
