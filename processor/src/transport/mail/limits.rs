//! What a profile lets its mails be: to whom they go and how large they are.

use super::{Mail, ascii_domain};
use crate::transport::Failure;
use crate::transport::document::{Fields, Malformed, Node};
use shared::failure::Unsendable;

/// Least of `max_message_bytes`, for every transport.
pub const BYTES_LEAST: u64 = 1024;
/// Most of it: 100 MiB.
pub const BYTES_MOST: u64 = 104_857_600;

/// `allowed_recipient_domains` and `max_message_bytes` of a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// In the form of [`super::Mailbox::domain`]; `None`: all.
    domains: Option<Vec<String>>,
    bytes: u64,
}

impl Limits {
    /// Reads a profile; `bytes` is the limit where it names none.
    pub fn read(profile: &Fields<'_>, bytes: u64) -> Result<Self, Malformed> {
        let domains = profile.get("allowed_recipient_domains");
        let domains = domains.map(|node| {
            let entries = node.one_or_many()?;
            entries
                .iter()
                .map(domain)
                .collect::<Result<Vec<String>, Malformed>>()
        });
        let given = profile.get("max_message_bytes");
        let given = given
            .map(|node| node.integer(BYTES_LEAST, BYTES_MOST))
            .transpose()?;
        Ok(Self {
            domains: domains.transpose()?,
            bytes: given.unwrap_or(bytes),
        })
    }

    /// Refuses a mail that one recipient, or its size, puts beyond them. A subdomain of an allowed domain is another domain.
    pub fn check(&self, mail: &Mail) -> Result<(), Failure> {
        let is_outside = |domain: &String| {
            self.domains
                .as_ref()
                .is_some_and(|allowed| !allowed.contains(domain))
        };
        let outside: Vec<String> = mail
            .recipients()
            .filter(|recipient| is_outside(&recipient.domain))
            .map(ToString::to_string)
            .collect();
        if !outside.is_empty() {
            let summary = format!(
                "{} of {} recipients are outside allowed_recipient_domains",
                outside.len(),
                mail.recipients().count()
            );
            let detail = format!("{summary}: {}", outside.join(", "));
            return Err(Failure::unsendable(Unsendable::Message, summary, detail));
        }
        let bytes = mail.content_bytes();
        if bytes > self.bytes {
            let summary = format!(
                "bodies and attachments have {bytes} bytes, and max_message_bytes is {}",
                self.bytes
            );
            return Err(Failure::unsendable(
                Unsendable::Message,
                summary.clone(),
                summary,
            ));
        }
        Ok(())
    }
}

fn domain(node: &Node<'_>) -> Result<String, Malformed> {
    let text = node.text()?.expose();
    ascii_domain(text).ok_or_else(|| node.malformed("expected a domain name, such as example.org"))
}

#[cfg(test)]
mod tests;
