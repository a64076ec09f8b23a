//! Keeps secrets out of what a server says: some repeat what they were sent, as it was or in the form it travelled in.

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE};
use std::collections::HashSet;

/// So many characters of a secret, in a row, are as bad as all of it.
const TELLING: usize = 8;
/// What is shown instead.
const WITHHELD: &str = "[withheld]";

/// Knows what must not be shown: secrets in every form that they may be repeated in, packed. It has no `Debug`.
#[derive(Default)]
pub(super) struct Veil(Vec<Vec<u8>>);

impl Veil {
    /// Hides `secrets`: as they are, and encoded for forms, for URLs and, alone or within something else, in base64.
    pub(super) fn of<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let forms = secrets.into_iter().flat_map(forms);
        Self(forms.filter(|form| !form.is_empty()).collect())
    }

    /// `text`, or a word in its place.
    pub(super) fn draw(&self, text: String) -> String {
        if self.hides(&text) {
            WITHHELD.to_owned()
        } else {
            text
        }
    }

    /// Whether `text` tells a secret.
    pub(super) fn hides(&self, text: &str) -> bool {
        let text = pack(text);
        let parts: HashSet<&[u8]> = text.windows(TELLING).collect();
        self.0.iter().any(|form| {
            if form.len() < TELLING {
                text.windows(form.len()).any(|part| part == form)
            } else {
                form.windows(TELLING).any(|part| parts.contains(part))
            }
        })
    }
}

fn forms(secret: &str) -> impl Iterator<Item = Vec<u8>> {
    let form: String = form_urlencoded::byte_serialize(secret.as_bytes()).collect();
    // RFC 3986, 2.3: a blank is no plus sign, and a tilde is left alone.
    let percent = form.replace('+', "%20").replace("%7E", "~");
    let encoded = (0..3).flat_map(|place| base64_within(secret, place));
    [secret.to_owned(), form, percent]
        .into_iter()
        .chain(encoded)
        .map(|form| pack(&form))
}

/// What every base64 text of something has in it that has `secret` behind `place` bytes, or behind three times as many as you like more: the characters that no neighbour has a part in.
fn base64_within(secret: &str, place: usize) -> [String; 2] {
    let within = [&[0; 2][..place], secret.as_bytes()].concat();
    let (begin, end) = ((place * 8).div_ceil(6), within.len() * 8 / 6);
    [
        BASE64_STANDARD.encode(&within),
        BASE64_URL_SAFE.encode(&within),
    ]
    .map(|text| text.get(begin..end).unwrap_or_default().to_owned())
}

/// Without blanks, which is how a text that was broken into lines comes together again, and whatever the case: `%2F` and `%2f` are the same.
fn pack(text: &str) -> Vec<u8> {
    text.bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .map(|byte| byte.to_ascii_lowercase())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::Veil;

    const SECRET: &str = "tr0ub4dor & 3/~+ Ünique";

    fn draw(secret: &str, text: &str) -> String {
        Veil::of([secret]).draw(text.to_owned())
    }

    #[test]
    fn a_text_that_tells_the_secret_in_any_form_is_withheld() {
        for text in [
            "5.7.8 bad password tr0ub4dor & 3/~+ Ünique",
            "tr0ub4dor",
            "tr0u b4dor&3",
            "client_secret=tr0ub4dor+%26+3%2F%7E%2B+%C3%9Cnique&scope=x",
            "tr0ub4do%72 seen as +%26+3%2f%7e%2b+%c3%9cn",
            "/login?p=x%20%26%203%2F~%2B%20",
            "you sent dHIwdWI0ZG9yICYgMy9+KyDDnG5pcXVl",
            "you sent dHIwdWI0ZG9yICYgMy9-KyDDnG5pcXVl",
        ] {
            assert_eq!(draw(SECRET, text), "[withheld]", "{text}");
        }
        assert_eq!(draw("s3", "is s3 it"), "[withheld]");
    }

    #[test]
    fn base64_of_something_around_the_secret_is_withheld() {
        use base64::Engine;
        use base64::prelude::BASE64_STANDARD;
        for before in ["", "\0user\0", "user:", "id", "0"] {
            for after in ["", "\u{1}\u{1}", " x"] {
                let text = BASE64_STANDARD.encode(format!("{before}{SECRET}{after}"));
                assert_eq!(draw(SECRET, &text), "[withheld]", "{before:?} {after:?}");
                let line_too_long = &text[..before.len() * 4 / 3 + 16];
                assert_eq!(draw(SECRET, line_too_long), "[withheld]", "{line_too_long}");
            }
        }
    }

    #[test]
    fn other_texts_stay() {
        for text in [
            "",
            "5.7.8 Username and password not accepted",
            "tr0ub4",
            "dHIw",
        ] {
            assert_eq!(draw(SECRET, text), text);
        }
        for veil in [Veil::default(), Veil::of([""])] {
            assert_eq!(veil.draw("x".to_owned()), "x");
        }
    }
}
