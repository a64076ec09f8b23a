//! What two parsers that know nothing of each other, and nothing of us, find in a message: Python's `email`, and the crate mail-parser.

use std::io::Write as _;
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mail_parser::{HeaderName, Message, MessageParser, MimeHeaders as _};
use serde::Deserialize;

use super::program;

const SCRIPT: &str = include_str!("read_message.py");

/// The content of a message. Line ends of bodies are LF.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Reading {
    /// Subject, decoded.
    pub subject: Option<String>,
    /// Message-ID without angle brackets.
    pub message_id: Option<String>,
    /// From.
    pub from: Vec<Mailbox>,
    /// To.
    pub to: Vec<Mailbox>,
    /// Cc.
    pub cc: Vec<Mailbox>,
    /// Reply-To.
    pub reply_to: Vec<Mailbox>,
    /// The plain body.
    pub text: Option<String>,
    /// The HTML body.
    pub html: Option<String>,
    /// What is not a body.
    pub attachments: Vec<Attachment>,
}

/// Display name, empty where there is none, and address.
pub type Mailbox = (String, String);

/// A file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Attachment {
    /// Its name, decoded.
    pub filename: Option<String>,
    /// Its type without parameters.
    pub content_type: String,
    /// Its id without angle brackets.
    pub content_id: Option<String>,
    /// Whether it is to be shown within the body.
    pub inline: bool,
    /// Its bytes.
    #[serde(deserialize_with = "from_base64")]
    pub content: Vec<u8>,
}

/// What Python says, and what only Python says.
#[derive(Debug, Deserialize)]
struct Python {
    #[serde(flatten)]
    reading: Reading,
    defects: Vec<String>,
    names: Vec<String>,
}

/// Reads a message with both parsers.
///
/// # Panics
/// As [`read_all`] does.
#[must_use]
pub fn read(message: &[u8]) -> Reading {
    read_all(&[message]).remove(0)
}

/// Reads messages with both parsers.
///
/// # Panics
/// When one of them finds a defect, when they do not agree, or when a header field comes twice.
#[must_use]
pub fn read_all(messages: &[&[u8]]) -> Vec<Reading> {
    let all = messages.iter().zip(by_python(messages));
    all.map(|(message, python)| agree(message, &python))
        .collect()
}

fn agree(message: &[u8], python: &Python) -> Reading {
    let shown = String::from_utf8_lossy(message);
    assert_eq!(python.defects, Vec::<String>::new(), "defects of\n{shown}");
    for (place, name) in python.names.iter().enumerate() {
        let again = &python.names[place + 1..];
        let once = !again.iter().any(|other| other.eq_ignore_ascii_case(name));
        assert!(once, "{name} comes twice in\n{shown}");
    }
    let parsed = MessageParser::default().parse(message);
    let parsed = parsed.unwrap_or_else(|| panic!("no message for mail-parser:\n{shown}"));
    let second = by_mail_parser(&parsed);
    assert_eq!(python.reading, second, "the parsers disagree on\n{shown}");
    second
}

fn by_python(messages: &[&[u8]]) -> Vec<Python> {
    let mut child = Command::new(program::python())
        .args(["-I", "-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("starting python3");
    let encoded: Vec<String> = messages
        .iter()
        .map(|message| STANDARD.encode(message))
        .collect();
    let encoded = serde_json::to_vec(&encoded).expect("JSON");
    let mut input = child.stdin.take().expect("its standard input");
    input
        .write_all(&encoded)
        .expect("giving Python the messages");
    drop(input);
    let output = child.wait_with_output().expect("waiting for python3");
    assert!(output.status.success(), "python3 ended badly");
    serde_json::from_slice(&output.stdout).expect("what the script prints")
}

fn by_mail_parser(message: &Message<'_>) -> Reading {
    Reading {
        subject: message.subject().map(str::to_owned),
        message_id: message.message_id().map(str::to_owned),
        from: mailboxes(message, &HeaderName::From),
        to: mailboxes(message, &HeaderName::To),
        cc: mailboxes(message, &HeaderName::Cc),
        reply_to: mailboxes(message, &HeaderName::ReplyTo),
        text: body(message, "plain"),
        html: body(message, "html"),
        attachments: message.attachments().map(attachment).collect(),
    }
}

/// The library makes a plain body of an HTML one and the other way round; here only what is there counts.
fn body(message: &Message<'_>, subtype: &str) -> Option<String> {
    let part = message.parts.iter().find(|part| {
        let kind = part.content_type();
        let plain_by_default = kind.is_none() && subtype == "plain" && !part.is_multipart();
        let is_text = kind.is_some_and(|kind| {
            kind.ctype() == "text" && kind.subtype().unwrap_or("plain") == subtype
        });
        (is_text || plain_by_default) && part.attachment_name().is_none()
    })?;
    Some(part.text_contents()?.replace("\r\n", "\n"))
}

fn mailboxes(message: &Message<'_>, name: &HeaderName<'_>) -> Vec<Mailbox> {
    let address = message
        .header(name.clone())
        .and_then(|value| value.as_address());
    let all = address.into_iter().flat_map(mail_parser::Address::iter);
    all.map(|mailbox| {
        let text = |value: Option<&str>| value.unwrap_or_default().to_owned();
        (text(mailbox.name()), text(mailbox.address()))
    })
    .collect()
}

fn attachment(part: &mail_parser::MessagePart<'_>) -> Attachment {
    let kind = part.content_type();
    Attachment {
        filename: part.attachment_name().map(str::to_owned),
        content_type: kind.map_or_else(String::new, |kind| {
            format!("{}/{}", kind.ctype(), kind.subtype().unwrap_or_default()).to_lowercase()
        }),
        content_id: part.content_id().map(str::to_owned),
        inline: part
            .content_disposition()
            .is_some_and(mail_parser::ContentType::is_inline),
        content: part.contents().to_vec(),
    }
}

fn from_base64<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(deserializer)?;
    STANDARD.decode(text).map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::read;

    const GOOD: &str = "From: =?utf-8?q?J=C3=B6rg?= <j@x.example>\r\nTo: a@x.example, \"B, C\" <b@x.example>\r\nSubject: =?utf-8?b?w6Q=?=\r\n\
        Message-ID: <1@x.example>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n\
        --b\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n=C3=BC\r\n\
        --b\r\nContent-Type: application/octet-stream\r\nContent-Disposition: attachment; filename*=utf-8''%C3%A4.bin\r\n\
        Content-Transfer-Encoding: base64\r\n\r\nAAE=\r\n--b--\r\n";

    #[test]
    fn both_parsers_find_what_is_there() {
        let reading = read(GOOD.as_bytes());
        assert_eq!(reading.subject.as_deref(), Some("ä"));
        assert_eq!(reading.message_id.as_deref(), Some("1@x.example"));
        assert_eq!(
            reading.from,
            [("Jörg".to_owned(), "j@x.example".to_owned())]
        );
        assert_eq!(reading.to[1], ("B, C".to_owned(), "b@x.example".to_owned()));
        assert_eq!(reading.text.as_deref(), Some("ü"));
        assert_eq!(reading.html, None);
        let file = &reading.attachments[0];
        assert_eq!(file.filename.as_deref(), Some("ä.bin"));
        assert_eq!((file.content.as_slice(), file.inline), (&[0, 1][..], false));
    }

    #[test]
    #[should_panic(expected = "defects of")]
    fn a_defect_is_seen() {
        let cut = GOOD.strip_suffix("--b--\r\n").expect("the end");
        let _ = read(cut.as_bytes());
    }

    #[test]
    #[should_panic(expected = "comes twice")]
    fn a_field_that_comes_twice_is_seen() {
        let _ = read(format!("Message-ID: <2@x.example>\r\n{GOOD}").as_bytes());
    }
}
