//! A mail as the body of `sendMail` (Microsoft Graph: message resource).
//!
//! Graph refuses empty lists, so that what has no entries is left out. It takes one body: with both, the HTML is sent.

use super::account::Account;
use crate::transport::document::{Fields, Malformed};
use crate::transport::mail::{Attachment, Importance, Mail, Mailbox};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};

/// Largest request. Beyond it Graph's front cuts the connection, which would look like a failure that passes.
const REQUEST_MAX: usize = 4_000_000;
/// Most headers of one's own.
const HEADERS_MAX: usize = 5;
/// `PidTagListUnsubscribe`, of which Exchange makes the header that Graph does not accept as one.
const LIST_UNSUBSCRIBE: &str = "String 0x1045";

/// The body of the request; `message` is what `mail` was read from.
pub(super) fn compose(
    mail: &Mail,
    account: &Account<'_>,
    message: &Fields<'_>,
) -> Result<Vec<u8>, Malformed> {
    let mut parts = Map::new();
    parts.insert("subject".to_owned(), json!(mail.subject));
    parts.insert("body".to_owned(), body(mail));
    let lists = [
        ("toRecipients", recipients(&mail.to)),
        ("ccRecipients", recipients(&mail.cc)),
        ("bccRecipients", recipients(&mail.bcc)),
        ("replyTo", recipients(&mail.reply_to)),
        (
            "attachments",
            mail.attachments.iter().map(attachment).collect(),
        ),
        ("internetMessageHeaders", headers(mail, message)?),
        ("singleValueExtendedProperties", properties(mail)),
    ];
    for (name, entries) in lists {
        if !entries.is_empty() {
            parts.insert(name.to_owned(), entries.into());
        }
    }
    if let Some(importance) = mail.importance {
        parts.insert("importance".to_owned(), word(importance).into());
    }
    if let Some(message_id) = &mail.message_id {
        parts.insert("internetMessageId".to_owned(), json!(message_id));
    }
    let request = json!({"message": parts, "saveToSentItems": account.save_to_sent_items});
    let request = request.to_string().into_bytes();
    if request.len() > REQUEST_MAX {
        let size = request.len();
        return Err(message.malformed(
            "attachments",
            format!("expected a mail of at most {REQUEST_MAX} bytes when encoded for Microsoft Graph, got {size} bytes"),
        ));
    }
    Ok(request)
}

fn body(mail: &Mail) -> Value {
    match (&mail.html, &mail.text) {
        (Some(html), _) => json!({"contentType": "HTML", "content": html}),
        (None, text) => {
            json!({"contentType": "Text", "content": text.as_deref().unwrap_or_default()})
        }
    }
}

fn recipients(mailboxes: &[Mailbox]) -> Vec<Value> {
    let recipient = |mailbox: &Mailbox| {
        let address = mailbox.address();
        let address = match &mailbox.name {
            Some(name) => json!({"address": address, "name": name}),
            None => json!({"address": address}),
        };
        json!({"emailAddress": address})
    };
    mailboxes.iter().map(recipient).collect()
}

fn attachment(file: &Attachment) -> Value {
    let mut attachment = json!({
        "@odata.type": "#microsoft.graph.fileAttachment",
        "name": file.filename,
        "contentType": file.content_type,
        "contentBytes": BASE64_STANDARD.encode(&file.content),
        "isInline": file.content_id.is_some(),
    });
    if let Some(content_id) = &file.content_id {
        attachment["contentId"] = json!(content_id);
    }
    attachment
}

/// Graph takes a few headers, and of those only the experimental ones.
fn headers(mail: &Mail, message: &Fields<'_>) -> Result<Vec<Value>, Malformed> {
    let is_foreign = |(name, _): &&(String, String)| !name.to_ascii_lowercase().starts_with("x-");
    if let Some((name, _)) = mail.headers.iter().find(is_foreign) {
        return Err(message.required("headers")?.object()?.malformed(
            name,
            "expected a name that begins with X-: Microsoft Graph takes no others",
        ));
    }
    if mail.headers.len() > HEADERS_MAX {
        let problem = format!(
            "Microsoft Graph takes at most {HEADERS_MAX} headers, got {}",
            mail.headers.len()
        );
        return Err(message.malformed("headers", problem));
    }
    let headers = mail.headers.iter();
    Ok(headers
        .map(|(name, value)| json!({"name": name, "value": value}))
        .collect())
}

fn properties(mail: &Mail) -> Vec<Value> {
    if mail.list_unsubscribe.is_empty() {
        return Vec::new();
    }
    let uris: Vec<String> = mail
        .list_unsubscribe
        .iter()
        .map(|uri| format!("<{uri}>"))
        .collect();
    vec![json!({"id": LIST_UNSUBSCRIBE, "value": uris.join(", ")})]
}

const fn word(importance: Importance) -> &'static str {
    match importance {
        Importance::Low => "low",
        Importance::Normal => "normal",
        Importance::High => "high",
    }
}

#[cfg(test)]
mod tests;
