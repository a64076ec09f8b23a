//! Headers that a message may set: by their names, of a few allowed shapes, or through keys of their own.
//!
//! A list of what is allowed and not of what is forbidden: a header that some program between us and the reader obeys is thus not ours to know of.

use super::short;
use crate::transport::document::{Fields, Malformed, Node};

/// Most further headers.
const HEADERS_MAX: usize = 50;
/// Longest name and longest value in characters.
const NAME_MAX: usize = 100;
const VALUE_MAX: usize = 8192;
/// Longest message id in characters.
const MESSAGE_ID_MAX: usize = 250;
/// Most URIs to unsubscribe with, and the longest in characters: one must fit a line of 998 octets (RFC 5322, 2.1.1).
const URIS_MAX: usize = 10;
const URI_MAX: usize = 900;

/// Names in lower case that are allowed besides X-* and List-*.
const NAMES: [&str; 12] = [
    "archived-at",
    "auto-submitted",
    "comments",
    "feedback-id",
    "in-reply-to",
    "keywords",
    "organization",
    "precedence",
    "references",
    "sensitivity",
    "thread-index",
    "thread-topic",
];

pub(super) fn read(message: &Fields<'_>) -> Result<Vec<(String, String)>, Malformed> {
    let Some(given) = message.get("headers") else {
        return Ok(Vec::new());
    };
    let given = given.object()?;
    let mut headers: Vec<(String, String)> = Vec::new();
    for (name, value) in given.iter() {
        if !is_allowed(name) {
            return Err(given.malformed(
                name,
                "expected the name of a header that messages may set: X-*, List-*, Auto-Submitted, Precedence, References, In-Reply-To, Keywords, Comments, \
                 Organization, Feedback-ID, Sensitivity, Thread-Topic, Thread-Index, Archived-At",
            ));
        }
        if let Some(key) = written_for(message, name) {
            return Err(given.malformed(
                name,
                format!("is written for the key {key}, which is set too"),
            ));
        }
        if headers
            .iter()
            .any(|(other, _)| other.eq_ignore_ascii_case(name))
        {
            return Err(
                given.malformed(name, "is there twice: names differ in more than their case")
            );
        }
        headers.push((name.to_owned(), short(&value, VALUE_MAX)?.to_owned()));
    }
    if headers.len() > HEADERS_MAX {
        let problem = format!("expected at most {HEADERS_MAX} headers");
        return Err(message.malformed("headers", problem));
    }
    Ok(headers)
}

/// `X-*` of any visible ASCII but the colon (RFC 5322, 3.6.8), `List-*` of letters and hyphens, and the names of the list.
fn is_allowed(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_shape = if let Some(rest) = name.strip_prefix("x-") {
        !rest.is_empty()
            && rest
                .bytes()
                .all(|byte| byte.is_ascii_graphic() && byte != b':')
    } else if let Some(rest) = name.strip_prefix("list-") {
        rest.starts_with(|c: char| c.is_ascii_lowercase())
            && rest
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'-')
    } else {
        NAMES.contains(&name.as_str())
    };
    is_shape && name.len() <= NAME_MAX
}

/// The key of the message that already makes us write header `name`.
fn written_for(message: &Fields<'_>, name: &str) -> Option<&'static str> {
    let key = match name.to_ascii_lowercase().as_str() {
        "x-priority" => "importance",
        "list-unsubscribe" | "list-unsubscribe-post" => "list_unsubscribe",
        _ => return None,
    };
    message.get(key).is_some().then_some(key)
}

/// `message_id`: `<left@right>` (RFC 5322, 3.6.4).
pub(super) fn message_id(message: &Fields<'_>) -> Result<Option<String>, Malformed> {
    let Some(node) = message.get("message_id") else {
        return Ok(None);
    };
    let id = short(&node, MESSAGE_ID_MAX)?;
    let is_side = |side: &str| {
        !side.is_empty()
            && side
                .bytes()
                .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'<' | b'>' | b'@'))
    };
    let inner = id.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    match inner.and_then(|inner| inner.split_once('@')) {
        Some((left, right))
            if is_side(left) && is_side(right) && !right.eq_ignore_ascii_case("localhost") =>
        {
            Ok(Some(id.to_owned()))
        }
        Some(_) | None => Err(node.malformed(format!(
            "expected <unique@example.org>, up to {MESSAGE_ID_MAX} characters of printable ASCII, the domain not localhost"
        ))),
    }
}

/// `list_unsubscribe`: URIs (RFC 2369, 3.2; RFC 8058).
pub(super) fn list_unsubscribe(message: &Fields<'_>) -> Result<Vec<String>, Malformed> {
    let Some(given) = message.get("list_unsubscribe") else {
        return Ok(Vec::new());
    };
    let entries = given.one_or_many()?;
    if entries.len() > URIS_MAX {
        return Err(given.malformed(format!("expected at most {URIS_MAX} URIs")));
    }
    entries.iter().map(uri).collect()
}

fn uri(node: &Node<'_>) -> Result<String, Malformed> {
    let uri = short(node, URI_MAX)?;
    let is_clean = uri
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'<' | b'>' | b','));
    let is_mail = uri
        .strip_prefix("mailto:")
        .is_some_and(|rest| rest.contains('@'));
    let is_web = uri.strip_prefix("https://").is_some_and(|rest| {
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        !host.is_empty() && !host.contains('@')
    });
    if is_clean && (is_mail || is_web) {
        return Ok(uri.to_owned());
    }
    Err(node.malformed(
        "expected a mailto: or https:// URI of ASCII without blanks, commas and angle brackets",
    ))
}

#[cfg(test)]
mod tests;
