//! A mail as a message describes it, the same for every transport that sends mail.
//!
//! Invariants: every address has an ASCII domain; nothing here holds a control character but the bodies and the contents of attachments, and of these no body
//! holds a NUL; header names are of an allowed shape, each is there once, and none is one that we write ourselves; there is at least one recipient, and there are
//! at most [`RECIPIENTS_MAX`].

mod address;
mod attachment;
mod headers;
mod limits;

pub(in crate::transport) use address::ascii_domain;
pub use limits::{BYTES_LEAST, BYTES_MOST, Limits};

use super::document::{Fields, Malformed, Node, breaks_lines};

/// Most recipients of one mail, over to, cc and bcc; the least that a server must take is 100 (RFC 5321, 4.5.3.1.8).
pub const RECIPIENTS_MAX: usize = 1000;
/// Longest subject in characters.
const SUBJECT_MAX: usize = 998;

/// An address, with the name to show where there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mailbox {
    /// The display name.
    pub name: Option<String>,
    /// Before the last `@`, as it is written: quotes are part of it.
    pub local: String,
    /// After it, in lower-case ASCII: international domains in punycode.
    pub domain: String,
}

/// A file that travels along.
#[derive(Clone, PartialEq, Eq)]
pub struct Attachment {
    /// Its name.
    pub filename: String,
    /// Its media type.
    pub content_type: String,
    /// Its bytes.
    pub content: Vec<u8>,
    /// Set when a body shows it (`cid:`); without angle brackets.
    pub content_id: Option<String>,
}

/// How important the sender thinks it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Importance {
    /// `low`
    Low,
    /// `normal`
    Normal,
    /// `high`
    High,
}

/// A mail.
#[derive(Clone, PartialEq, Eq)]
pub struct Mail {
    /// Primary recipients.
    pub to: Vec<Mailbox>,
    /// Others, for all to see.
    pub cc: Vec<Mailbox>,
    /// Others, for nobody to see.
    pub bcc: Vec<Mailbox>,
    /// Where answers go.
    pub reply_to: Vec<Mailbox>,
    /// The subject; empty where there is none.
    pub subject: String,
    /// The plain body.
    pub text: Option<String>,
    /// The HTML body.
    pub html: Option<String>,
    /// Files.
    pub attachments: Vec<Attachment>,
    /// Further headers, in the order of their names.
    pub headers: Vec<(String, String)>,
    /// Its importance, where it was given.
    pub importance: Option<Importance>,
    /// With angle brackets; the same on every attempt.
    pub message_id: Option<String>,
    /// URIs to unsubscribe with.
    pub list_unsubscribe: Vec<String>,
}

impl Mail {
    /// Reads a message.
    pub fn read(message: &Fields<'_>) -> Result<Self, Malformed> {
        let importances = [
            ("low", Importance::Low),
            ("normal", Importance::Normal),
            ("high", Importance::High),
        ];
        let importance = message.get("importance");
        let importance = importance
            .map(|node| node.one_of(&importances))
            .transpose()?;
        let subject = message.get("subject");
        let subject = subject.map(|node| short(&node, SUBJECT_MAX)).transpose()?;
        let mail = Self {
            to: mailboxes(message, "to")?,
            cc: mailboxes(message, "cc")?,
            bcc: mailboxes(message, "bcc")?,
            reply_to: mailboxes(message, "reply_to")?,
            subject: subject.unwrap_or_default().to_owned(),
            text: body(message, "text")?,
            html: body(message, "html")?,
            attachments: attachment::read(message)?,
            headers: headers::read(message)?,
            importance,
            message_id: headers::message_id(message)?,
            list_unsubscribe: headers::list_unsubscribe(message)?,
        };
        match mail.recipients().count() {
            0 => Err(message.malformed("to", "expected at least one recipient in to, cc or bcc")),
            1..=RECIPIENTS_MAX => Ok(mail),
            _ => Err(message.malformed(
                "to",
                format!("expected at most {RECIPIENTS_MAX} recipients over to, cc and bcc"),
            )),
        }
    }

    /// Everyone it goes to, as often as they are named.
    pub fn recipients(&self) -> impl Iterator<Item = &Mailbox> {
        self.to.iter().chain(&self.cc).chain(&self.bcc)
    }

    /// Size of its bodies and attachments in bytes, before they are encoded for the way.
    #[must_use]
    pub fn content_bytes(&self) -> u64 {
        let bodies = [&self.text, &self.html]
            .into_iter()
            .flatten()
            .map(String::len);
        let files = self.attachments.iter().map(|file| file.content.len());
        bodies.chain(files).map(|bytes| bytes as u64).sum()
    }
}

fn mailboxes(message: &Fields<'_>, key: &str) -> Result<Vec<Mailbox>, Malformed> {
    let Some(given) = message.get(key) else {
        return Ok(Vec::new());
    };
    given.one_or_many()?.iter().map(Mailbox::read).collect()
}

fn body(message: &Fields<'_>, key: &str) -> Result<Option<String>, Malformed> {
    let Some(text) = message.text(key)? else {
        return Ok(None);
    };
    // RFC 5322, 2.2 and 4.1: no encoding of a text body brings it through everywhere.
    if text.expose().contains('\0') {
        return Err(message.malformed(key, "expected a text without NUL"));
    }
    Ok(Some(text.expose().to_owned()))
}

/// A text of at most `most` characters without control characters; it may be empty.
fn short<'a>(node: &Node<'a>, most: usize) -> Result<&'a str, Malformed> {
    let text = node.text()?.expose();
    if text.contains(breaks_lines) {
        return Err(node.malformed("expected a text without control characters"));
    }
    if text.chars().count() > most {
        return Err(node.malformed(format!("expected a text of at most {most} characters")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
