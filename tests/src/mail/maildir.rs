//! Messages as a server has delivered them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::wait;

const DELIVERY_LIMIT: Duration = Duration::from_secs(20);

/// A directory in the maildir format.
#[derive(Debug)]
pub(super) struct Maildir(PathBuf);

/// One message for one recipient. Lines end with LF, as they do in files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// Envelope sender, empty for the null sender.
    pub sender: String,
    /// Envelope recipient.
    pub recipient: String,
    /// The trace line of the server: from whom, how, when.
    pub trace: String,
    /// The message as it was sent.
    pub message: Vec<u8>,
}

impl Maildir {
    pub(super) fn at(path: PathBuf) -> Self {
        Self(path)
    }

    /// All messages, oldest first.
    pub(super) fn received(&self) -> Vec<Received> {
        let Ok(entries) = fs::read_dir(self.0.join("new")) else {
            return Vec::new();
        };
        let mut files: Vec<_> = entries
            .map(|entry| entry.expect("an entry of the mailbox"))
            .map(|entry| (arrival(&entry.path()), entry.path()))
            .collect();
        files.sort();
        let read = |path: &Path| fs::read(path).expect("reading a delivered message");
        files
            .iter()
            .map(|(_, path)| Received::read(&read(path)))
            .collect()
    }

    /// Waits for `count` messages for `recipient`.
    ///
    /// # Panics
    /// When there are not as many in time, or more.
    pub(super) async fn wait_for(&self, recipient: &str, count: usize) -> Vec<Received> {
        let what = format!("{count} messages for {recipient}");
        let found = wait::until(&what, DELIVERY_LIMIT, || async {
            let mut found = self.received();
            found.retain(|received| received.recipient == recipient);
            if found.len() >= count {
                Ok(found)
            } else {
                Err(format!("{} messages", found.len()))
            }
        })
        .await;
        assert_eq!(found.len(), count, "messages for {recipient}");
        found
    }
}

fn arrival(path: &Path) -> std::time::SystemTime {
    let metadata = fs::metadata(path).expect("reading the state of a message");
    metadata.modified().expect("a modification time")
}

impl Received {
    /// Splits the lines that the server has put in front from the message.
    fn read(file: &[u8]) -> Self {
        let text = String::from_utf8_lossy(file);
        let value = |names: [&str; 2]| {
            let found = text.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                names
                    .iter()
                    .any(|wanted| name.eq_ignore_ascii_case(wanted))
                    .then(|| value.trim().to_owned())
            });
            found.unwrap_or_else(|| panic!("no {names:?} in front of\n{text}"))
        };
        let start = end_of_trace(file).unwrap_or_else(|| panic!("no trace in front of\n{text}"));
        let trace = String::from_utf8_lossy(&file[..start]);
        let trace = &trace[trace.find("Received:").expect("a trace line")..];
        Self {
            sender: value(["Return-Path", "Return-path"])
                .trim_matches(['<', '>'])
                .to_owned(),
            recipient: value(["X-Original-To", "Envelope-to"]),
            trace: trace.split_whitespace().collect::<Vec<_>>().join(" "),
            message: file[start..].to_vec(),
        }
    }

    /// The message as text, where it is text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.message).into_owned()
    }
}

/// Where the server's own header fields end: behind its Received field and the lines that continue it.
fn end_of_trace(file: &[u8]) -> Option<usize> {
    let mut start = 0;
    let mut in_trace = false;
    for line in file.split_inclusive(|byte| *byte == b'\n') {
        let continues = line.starts_with(b" ") || line.starts_with(b"\t");
        if in_trace && !continues {
            return Some(start);
        }
        in_trace |= line.starts_with(b"Received:");
        start += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::Received;

    #[test]
    fn what_the_server_added_is_told_from_the_message() {
        let file = b"Return-Path: <s@x>\nX-Original-To: r@x\nDelivered-To: r@x\nReceived: from a\n\tby b\nFrom: s@x\n\tagain\n\nbody\n";
        let received = Received::read(file);
        assert_eq!(received.sender, "s@x");
        assert_eq!(received.recipient, "r@x");
        assert_eq!(received.trace, "Received: from a by b");
        assert_eq!(received.text(), "From: s@x\n\tagain\n\nbody\n");
    }
}
