//! A mail as a message describes it, the same for every transport that sends mail.
//!
//! Invariants: every address has an ASCII domain; nothing here holds a control character but the bodies; header names are of an allowed shape and none of
//! those that we write ourselves; there is at least one recipient.

/// An address, with the name to show where there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mailbox {
    /// The display name.
    pub name: Option<String>,
    /// Before the last `@`.
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
    /// The subject.
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
