//! A mail as it goes out: the envelope, and the message in bytes.
//!
//! A large one takes a while, which other sends must not wait for: it is composed on a thread of its own.
//!
//! Invariants: all line ends are CRLF, no line has more than 998 octets, there is no NUL; Bcc is nowhere in the message; every header is there once; the same
//! notification has the same Message-ID on every attempt. Addresses are validated before, so none of them can end a command.

use super::super::Failure;
use super::super::mail::{Importance, Mail, Mailbox};
use super::body;
use super::header::Header;
use super::plan::Plan;
use lettre::message::header::{Date, Headers};
use sha2::{Digest, Sha256};
use shared::failure::Unsendable;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::SystemTime;
use tokio::task::spawn_blocking;

/// Longest line in octets, without its end (RFC 5322, 2.1.1).
const LINE_MAX: usize = 998;
/// Largest content in bytes that is composed where it is asked for: a matter of milliseconds.
const COMPOSED_AT_ONCE: u64 = 1_048_576;

/// A mail, ready to be sent.
pub(super) struct Letter {
    /// Empty for the null sender.
    pub(super) sender: String,
    /// Each once.
    pub(super) recipients: Vec<String>,
    /// Header, blank line and body, with a line end at its end.
    pub(super) message: String,
    /// The same as it follows DATA.
    pub(super) stuffed: String,
    /// Whether an address needs SMTPUTF8 (RFC 6531).
    pub(super) needs_utf8: bool,
}

/// Composes notification `id`, and gives `plan` back.
pub(super) async fn compose_aside(
    id: i64,
    plan: Plan,
    mail: Mail,
) -> Result<(Plan, Letter), Failure> {
    let is_large = mail.content_bytes() > COMPOSED_AT_ONCE;
    let composing = move || compose(id, &plan, &mail).map(|letter| (plan, letter));
    if !is_large {
        return composing();
    }
    let composed = spawn_blocking(composing).await;
    composed.unwrap_or_else(|_| Err(unsendable("the message cannot be composed")))
}

/// Composes notification `id`.
pub(super) fn compose(id: i64, plan: &Plan, mail: &Mail) -> Result<Letter, Failure> {
    // Everything that could make the builder panic is validated away. Should one message find a way yet, it fails and the worker goes on; the hook then
    // prints a place in the builder and no content, since nothing in it that can panic holds any.
    let written = catch_unwind(AssertUnwindSafe(|| write(id, plan, mail)));
    let Ok(Some(message)) = written else {
        return Err(unsendable("the message cannot be composed"));
    };
    let recipients = unique(mail.recipients());
    let addresses_are_ascii =
        plan.envelope_from.is_ascii() && recipients.iter().all(|to| to.is_ascii());
    let needs_utf8 = !message.is_ascii() || !addresses_are_ascii;
    if !is_sendable(&message) {
        return Err(unsendable(
            "the message has a line that is too long or broken",
        ));
    }
    Ok(Letter {
        sender: plan.envelope_from.clone(),
        recipients,
        stuffed: stuffed(&message),
        message,
        needs_utf8,
    })
}

fn unsendable(text: &str) -> Failure {
    Failure::unsendable(Unsendable::Message, text.to_owned(), text.to_owned())
}

/// `None`: lettre made bytes of it that are no text.
fn write(id: i64, plan: &Plan, mail: &Mail) -> Option<String> {
    let mut header = Header::default();
    header.mailboxes("From", std::slice::from_ref(&plan.from));
    header.mailboxes("Reply-To", &mail.reply_to);
    header.mailboxes("To", &mail.to);
    header.mailboxes("Cc", &mail.cc);
    if !mail.subject.is_empty() {
        header.text("Subject", &mail.subject);
    }
    match &mail.message_id {
        Some(id) => header.text("Message-ID", id),
        None => header.text("Message-ID", &message_id(id, &plan.from, mail)),
    }
    if let Some(importance) = mail.importance {
        let (word, number) = match importance {
            Importance::Low => ("low", "5"),
            Importance::Normal => ("normal", "3"),
            Importance::High => ("high", "1"),
        };
        header.text("Importance", word);
        header.text("X-Priority", number);
    }
    let uris: Vec<String> = mail
        .list_unsubscribe
        .iter()
        .map(|uri| format!("<{uri}>"))
        .collect();
    header.items("List-Unsubscribe", &uris);
    if mail
        .list_unsubscribe
        .iter()
        .any(|uri| uri.starts_with("https:"))
    {
        header.text("List-Unsubscribe-Post", "List-Unsubscribe=One-Click");
    }
    for (name, value) in &mail.headers {
        header.text(name, value);
    }
    header.text("MIME-Version", "1.0");
    let mut date = Headers::new();
    date.set(Date::new(SystemTime::now()));
    let head = header.into_text() + &date.to_string();
    body::write(mail).map(|body| head + &body)
}

/// A Message-ID for a message without one. Ids of notifications repeat in other databases, hence the digest of what is sent.
fn message_id(id: i64, from: &Mailbox, mail: &Mail) -> String {
    let mut digest = Sha256::new();
    let texts = mail.recipients().map(Mailbox::address);
    let texts = texts.chain(
        [Some(&mail.subject), mail.text.as_ref(), mail.html.as_ref()]
            .into_iter()
            .flatten()
            .cloned(),
    );
    for text in texts {
        digest.update(text);
        digest.update([0]);
    }
    let digest = digest.finalize();
    let part = digest
        .iter()
        .take(8)
        .fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
    let is_nobodys = ["localhost", "localdomain"]
        .iter()
        .any(|name| from.domain.ends_with(name));
    let domain = if is_nobodys {
        "pg-relay.invalid"
    } else {
        &from.domain
    };
    format!("<{id}.{part}@{domain}>")
}

fn unique<'a>(recipients: impl Iterator<Item = &'a Mailbox>) -> Vec<String> {
    let mut known = HashSet::new();
    recipients
        .map(Mailbox::address)
        .filter(|address| known.insert(address.clone()))
        .collect()
}

/// The last look before anything goes out.
fn is_sendable(message: &str) -> bool {
    let Some(lines) = message.strip_suffix('\n') else {
        return false;
    };
    lines.split('\n').all(|line| {
        let text = line.strip_suffix('\r');
        text.is_some_and(|text| {
            text.len() <= LINE_MAX && !text.contains('\r') && !text.contains('\0')
        })
    })
}

/// The message with its dots stuffed and the final one (RFC 5321, 4.5.2). It ends with a line end.
fn stuffed(message: &str) -> String {
    let mut stuffed = String::with_capacity(message.len() + message.len() / 64 + 3);
    for line in message.split_inclusive('\n') {
        if line.starts_with('.') {
            stuffed.push('.');
        }
        stuffed.push_str(line);
    }
    stuffed.push_str(".\r\n");
    stuffed
}

#[cfg(test)]
mod tests;
