//! Attachments.

use super::{Attachment, short};
use crate::transport::document::{Fields, Malformed, Node};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// Most attachments of one mail.
const ATTACHMENTS_MAX: usize = 100;
/// Longest name, and longest media type, in characters.
const NAME_MAX: usize = 255;
/// Longest content id in characters.
const CONTENT_ID_MAX: usize = 200;
/// The media type where none is given (RFC 2046, 4.5.1).
const DEFAULT_TYPE: &str = "application/octet-stream";

pub(super) fn read(message: &Fields<'_>) -> Result<Vec<Attachment>, Malformed> {
    let Some(given) = message.get("attachments") else {
        return Ok(Vec::new());
    };
    let entries = given.array()?;
    if entries.len() > ATTACHMENTS_MAX {
        let problem = format!("expected at most {ATTACHMENTS_MAX} attachments");
        return Err(message.malformed("attachments", problem));
    }
    entries.iter().map(|entry| one(&entry.object()?)).collect()
}

fn one(fields: &Fields<'_>) -> Result<Attachment, Malformed> {
    let content_type = fields.get("content_type");
    let content_type = content_type.map(|node| media_type(&node)).transpose()?;
    let content_id = fields.get("content_id");
    let content_id = content_id.map(|node| content_id_of(&node)).transpose()?;
    Ok(Attachment {
        filename: filename(&fields.required("filename")?)?,
        content_type: content_type.unwrap_or_else(|| DEFAULT_TYPE.to_owned()),
        content: content(fields)?,
        content_id,
    })
}

fn filename(node: &Node<'_>) -> Result<String, Malformed> {
    let name = short(node, NAME_MAX)?;
    if matches!(name, "" | "." | "..") || name.contains(['/', '\\']) {
        return Err(node
            .malformed("expected a name of 1 to 255 characters without slashes and backslashes"));
    }
    Ok(name.to_owned())
}

/// What is wrong with it is told without a word of it: it is content.
fn content(fields: &Fields<'_>) -> Result<Vec<u8>, Malformed> {
    let text = fields.required("content_base64")?.text()?.expose();
    // PostgreSQL's encode() breaks the lines of its base64.
    let packed: Vec<u8> = text
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    BASE64_STANDARD.decode(packed).map_err(|_| {
        fields.malformed(
            "content_base64",
            "expected base64 with its padding (RFC 4648, 4)",
        )
    })
}

fn content_id_of(node: &Node<'_>) -> Result<String, Malformed> {
    let id = short(node, CONTENT_ID_MAX)?;
    let is_id = |c: char| c.is_ascii_alphanumeric() || ".!#$%&*+/=?^_{|}~@-".contains(c);
    if id.is_empty() || !id.chars().all(is_id) {
        return Err(node.malformed(
            "expected 1 to 200 letters, digits and signs without blanks and angle brackets",
        ));
    }
    Ok(id.to_owned())
}

/// A media type with its parameters (RFC 2045, 5.1). Those that are made of parts or of other mails may not be base64 (RFC 2046, 5.2.1), as we send attachments.
fn media_type(node: &Node<'_>) -> Result<String, Malformed> {
    let text = short(node, NAME_MAX)?;
    let lower = text.to_ascii_lowercase();
    if !is_media_type(text) || lower.starts_with("multipart/") || lower.starts_with("message/") {
        return Err(node.malformed(
            "expected type/subtype with parameters, but not multipart/* and message/*",
        ));
    }
    Ok(text.to_owned())
}

fn is_media_type(text: &str) -> bool {
    let (essence, mut rest) = text.split_at(text.find([';', ' ']).unwrap_or(text.len()));
    let is_essence = essence
        .split_once('/')
        .is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype));
    while !rest.is_empty() {
        let after = rest
            .trim_start_matches(' ')
            .strip_prefix(';')
            .map(|rest| rest.trim_start_matches(' '));
        let Some((name, value)) = after.and_then(|after| after.split_once('=')) else {
            return false;
        };
        let length = match value.strip_prefix('"') {
            Some(quoted) => quoted.find('"').map(|end| end + 2),
            None => Some(value.find([';', ' ']).unwrap_or(value.len())),
        };
        let Some((value, after)) = length.map(|length| value.split_at(length)) else {
            return false;
        };
        if !is_token(name) || !(is_token(value) || is_quoted(value)) {
            return false;
        }
        rest = after;
    }
    is_essence
}

fn is_token(text: &str) -> bool {
    let is_sign = |c: char| c.is_ascii_alphanumeric() || "!#$&^_.+-".contains(c);
    !text.is_empty() && text.chars().all(is_sign)
}

fn is_quoted(text: &str) -> bool {
    text.starts_with('"')
        && text
            .bytes()
            .all(|byte| matches!(byte, b' '..=b'~') && byte != b'\\')
}

#[cfg(test)]
mod tests;
