//! Keeps secrets out of what a server says: some repeat what they were sent.

use super::plan::Login;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use secrecy::ExposeSecret;
use std::collections::HashSet;

/// So many characters of a secret, in a row, are as bad as all of it.
const TELLING: usize = 8;
/// What is shown instead.
const WITHHELD: &str = "[withheld]";

/// Knows what must not be shown.
#[derive(Default)]
pub(super) struct Veil(Vec<Telling>);

/// Every part of one length of a secret.
struct Telling {
    length: usize,
    parts: HashSet<Vec<u8>>,
}

impl Veil {
    /// Hides the password of `login` and everything that it is sent as; `responses` are those of the mechanism.
    pub(super) fn of(login: &Login, responses: &[String]) -> Self {
        let password = login.password.expose_secret();
        let encoded = BASE64_STANDARD.encode(password);
        let secrets = [password, &encoded].into_iter();
        let secrets = secrets.chain(responses.iter().map(String::as_str));
        Self(secrets.filter_map(Telling::of).collect())
    }

    /// `text`, or a word in its place.
    pub(super) fn draw(&self, text: String) -> String {
        let packed = pack(&text);
        if self.0.iter().any(|telling| telling.is_told(&packed)) {
            WITHHELD.to_owned()
        } else {
            text
        }
    }
}

impl Telling {
    fn of(secret: &str) -> Option<Self> {
        let packed = pack(secret);
        let length = packed.len().min(TELLING);
        (length > 0).then(|| Self {
            length,
            parts: packed.windows(length).map(<[u8]>::to_vec).collect(),
        })
    }

    fn is_told(&self, packed: &[u8]) -> bool {
        packed
            .windows(self.length)
            .any(|part| self.parts.contains(part))
    }
}

/// Without blanks, which is how a text that was broken into lines comes together again.
fn pack(text: &str) -> Vec<u8> {
    text.bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::plan::{Login, Mechanism};
    use super::Veil;

    fn draw(password: &str, text: &str) -> String {
        let login = Login {
            username: "user".to_owned(),
            password: password.into(),
            mechanism: Mechanism::Plain,
        };
        let responses = super::super::auth::responses(&login);
        Veil::of(&login, &responses).draw(text.to_owned())
    }

    #[test]
    fn a_text_that_tells_the_password_in_any_form_is_withheld() {
        let password = "tr0ub4dor & 3 Ünique";
        for text in [
            "5.7.8 bad password tr0ub4dor & 3 Ünique",
            "tr0ub4dor",
            "tr0u b4dor&3",
            "you sent dHIwdWI0ZG9yICYgMyDDnG5pcXVl",
            "unknown command AUTH PLAIN AHVzZXIAdHIwdWI0ZG9yICYgMyDDnG5pcXVl",
            "line too long: AHVzZXIAdHIwdWI0",
        ] {
            assert_eq!(draw(password, text), "[withheld]", "{text}");
        }
        assert_eq!(draw("s3", "is s3 it"), "[withheld]");
    }

    #[test]
    fn other_texts_stay() {
        for text in ["", "5.7.8 Username and password not accepted", "tr0ub4"] {
            assert_eq!(draw("tr0ub4dor & 3", text), text);
        }
        assert_eq!(Veil::default().draw("x".to_owned()), "x");
    }
}
