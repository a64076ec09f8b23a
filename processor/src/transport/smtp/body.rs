//! The body of a mail: parts, in an encoding of seven bits each.
//!
//! multipart/mixed { multipart/alternative { text, multipart/related { html, files that it shows } }, files }, without what has only one part.

use super::super::mail::{Attachment, Mail};
use lettre::message::header::{
    ContentDisposition, ContentId, ContentTransferEncoding, ContentType, Header, HeaderName,
    HeaderValue,
};
use lettre::message::{Body, MultiPart, SinglePart};
use std::error::Error;

/// A media type as the message has it. lettre's own type takes fewer.
#[derive(Clone)]
struct GivenType(String);

impl Header for GivenType {
    fn name() -> HeaderName {
        HeaderName::new_from_ascii_str("Content-Type")
    }

    fn parse(text: &str) -> Result<Self, Box<dyn Error + Send + Sync>> {
        Ok(Self(text.to_owned()))
    }

    fn display(&self) -> HeaderValue {
        HeaderValue::new(Self::name(), self.0.clone())
    }
}

/// A part, of one piece or of many.
enum Part {
    Single(SinglePart),
    Multi(MultiPart),
}

/// A body with the headers that describe it, the blank line between them, and a line end at its own end. It is ASCII; `None` would be a defect of the library.
pub(super) fn write(mail: &Mail) -> Option<String> {
    let is_inline = |file: &&Attachment| mail.html.is_some() && file.content_id.is_some();
    let (inline, attached): (Vec<&Attachment>, Vec<&Attachment>) =
        mail.attachments.iter().partition(is_inline);
    let html = mail.html.as_deref().map(|html| {
        let html = text(ContentType::TEXT_HTML, html);
        join(MultiPart::related().build(), Part::Single(html), &inline)
    });
    let plain = mail
        .text
        .as_deref()
        .map(|plain| text(ContentType::TEXT_PLAIN, plain));
    let body = match (plain, html) {
        (Some(plain), Some(html)) => {
            // What is better comes last (RFC 2046, 5.1.4).
            let both = MultiPart::alternative().singlepart(plain);
            Part::Multi(add(both, html))
        }
        (None, Some(html)) => html,
        (Some(plain), None) => Part::Single(plain),
        (None, None) => Part::Single(text(ContentType::TEXT_PLAIN, "")),
    };
    match join(MultiPart::mixed().build(), body, &attached) {
        Part::Single(part) => String::from_utf8(part.formatted()).ok(),
        Part::Multi(parts) => String::from_utf8(parts.formatted()).ok(),
    }
}

/// `first` with `files` after it; `first` alone where there are none.
fn join(parts: MultiPart, first: Part, files: &[&Attachment]) -> Part {
    if files.is_empty() {
        return first;
    }
    let parts = add(parts, first);
    Part::Multi(
        files
            .iter()
            .fold(parts, |parts, next| parts.singlepart(file(next))),
    )
}

fn add(parts: MultiPart, part: Part) -> MultiPart {
    match part {
        Part::Single(part) => parts.singlepart(part),
        Part::Multi(part) => parts.multipart(part),
    }
}

fn text(kind: ContentType, text: &str) -> SinglePart {
    // The format puts a line end of its own behind a part.
    let lines = crlf(text);
    let lines = lines.strip_suffix("\r\n").unwrap_or(&lines);
    SinglePart::builder()
        .header(kind)
        .body(Body::new(lines.to_owned()))
}

/// Every line end, of whichever system, as CRLF: a lone CR or LF is a line end to some server (SMTP smuggling).
fn crlf(text: &str) -> String {
    text.replace("\r\n", "\n")
        .replace('\r', "\n")
        .replace('\n', "\r\n")
}

fn file(file: &Attachment) -> SinglePart {
    let part = SinglePart::builder().header(GivenType(file.content_type.clone()));
    let part = match &file.content_id {
        Some(id) => part
            .header(ContentId::from(format!("<{id}>")))
            .header(ContentDisposition::inline_with_name(&file.filename)),
        None => part.header(ContentDisposition::attachment(&file.filename)),
    };
    // Always base64, of which every sequence of bytes has one: left to choose, lettre sends bytes that look like text as they are, whatever their line ends.
    let encoded = Body::new_with_encoding(file.content.clone(), ContentTransferEncoding::Base64);
    part.body(encoded.unwrap_or_else(Body::new))
}

#[cfg(test)]
mod tests;
