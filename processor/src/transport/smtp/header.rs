//! Headers of a mail (RFC 5322, 2.2 and 3.2; RFC 2047), written so that readers get back what was meant, character by character.
//!
//! lettre's own writer passes `=?…?=` through, does not fold long words and panics on names that it cannot write.
//!
//! Invariant: what comes out is printable ASCII in lines of at most 998 octets, but for local parts of addresses in other scripts (RFC 6532).

use super::super::mail::Mailbox;

/// Lines should have no more columns (RFC 5322, 2.1.1).
const COLUMNS: usize = 76;
/// Longest word that goes out as it is, with the blanks before it. With the longest name it stays below 998 octets.
const WORD_MAX: usize = 850;
/// Octets that one encoded word of 75 characters carries (RFC 2047, 2).
const ENCODED_MAX: usize = 45;

/// The header of a mail in the making.
#[derive(Default)]
pub(super) struct Header(String);

impl Header {
    /// Adds a header of running text.
    pub(super) fn text(&mut self, name: &str, value: &str) {
        let value = if is_plain(value) {
            fold(value, name.len() + ": ".len())
        } else {
            encode(value)
        };
        self.line(name, &value);
    }

    /// Adds a header of addresses, if there are any.
    pub(super) fn mailboxes(&mut self, name: &str, mailboxes: &[Mailbox]) {
        if !mailboxes.is_empty() {
            let written: Vec<String> = mailboxes.iter().map(mailbox).collect();
            self.line(name, &written.join(",\r\n "));
        }
    }

    /// Adds a header of items that are on a line each.
    pub(super) fn items(&mut self, name: &str, items: &[String]) {
        if !items.is_empty() {
            self.line(name, &items.join(",\r\n "));
        }
    }

    fn line(&mut self, name: &str, value: &str) {
        self.0.extend([name, ": ", value, "\r\n"]);
    }

    /// All of it, each line with its end.
    pub(super) fn into_text(self) -> String {
        self.0
    }
}

/// Whether `value` means the same when it is written as it is. `=?` begins an encoded word, for some readers within a word, too.
fn is_plain(value: &str) -> bool {
    let is_printable = value.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let is_trimmed = value == value.trim_matches(' ');
    let has_short_words = words(value).all(|word| word.len() <= WORD_MAX);
    is_printable && is_trimmed && has_short_words && !value.contains("=?")
}

/// Words, each with the blanks before it.
fn words(value: &str) -> impl Iterator<Item = &str> {
    let mut rest = value;
    std::iter::from_fn(move || {
        let begins = rest.find(|c| c != ' ')?;
        let length = rest[begins..]
            .find(' ')
            .map_or(rest.len(), |end| begins + end);
        let (word, after) = rest.split_at(length);
        rest = after;
        Some(word)
    })
}

/// Breaks lines before blanks, where unfolding puts them together again. `column` is where the first line begins.
fn fold(value: &str, mut column: usize) -> String {
    let mut folded = String::with_capacity(value.len());
    for word in words(value) {
        if column + word.len() > COLUMNS && word.starts_with(' ') {
            folded.push_str("\r\n");
            column = 0;
        }
        folded.push_str(word);
        column += word.len();
    }
    folded
}

/// Encoded words, a line each: readers join them without the blank between.
fn encode(value: &str) -> String {
    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;
    let mut words = Vec::new();
    let mut rest = value;
    while !rest.is_empty() {
        // No character is torn between two words (RFC 2047, 5).
        let (word, after) = rest.split_at(rest.floor_char_boundary(ENCODED_MAX));
        words.push(format!("=?utf-8?B?{}?=", BASE64_STANDARD.encode(word)));
        rest = after;
    }
    words.join("\r\n ")
}

/// An address, with its name quoted or encoded.
fn mailbox(mailbox: &Mailbox) -> String {
    let address = mailbox.address();
    match &mailbox.name {
        None => address,
        Some(name) if is_plain(name) => {
            let quoted = name.replace('\\', "\\\\").replace('"', "\\\"");
            format!("\"{quoted}\" <{address}>")
        }
        Some(name) => format!("{} <{address}>", encode(name)),
    }
}

#[cfg(test)]
mod tests;
