//! Replies (RFC 5321, 4.2), read so that nothing a server writes can surprise us.
//!
//! A reply is bytes. Its lines are three digits, alone or followed by a blank or, when more lines follow, by a hyphen, and then any text. Lines of one reply should have
//! one code; where they have not, the largest counts, so that a reply is never taken for better than its worst line.

use crate::transport::veil::Veil;
use shared::failure::{Enhanced, Reply};

/// Longest text of a reply in characters.
const TEXT_MAX: usize = 1000;

/// A whole reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    code: u16,
    enhanced: Option<Enhanced>,
    lines: Vec<String>,
    text: String,
}

/// The lines of a reply that has more of them.
#[derive(Debug, Default)]
pub(super) struct Gathering(Vec<(u16, String)>);

/// A line that belongs to no reply.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Malformed;

impl Gathering {
    /// Whether a reply has begun.
    pub(super) const fn has_begun(&self) -> bool {
        !self.0.is_empty()
    }

    /// Takes a line, without its end, and gives the reply if it is the last. What `veil` hides does not get into the reply's text.
    pub(super) fn take(&mut self, line: &[u8], veil: &Veil) -> Result<Option<Answer>, Malformed> {
        let Some((digits, rest)) = line.split_first_chunk::<3>() else {
            return Err(Malformed);
        };
        if !digits.iter().all(u8::is_ascii_digit) {
            return Err(Malformed);
        }
        let code = digits
            .iter()
            .fold(0, |code, digit| code * 10 + u16::from(digit - b'0'));
        let (is_last, text) = match rest {
            [] => (true, rest),
            [b' ' | b'\t', text @ ..] => (true, text),
            [b'-', text @ ..] => (false, text),
            [_, ..] => return Err(Malformed),
        };
        self.0.push((code, printable(text)));
        Ok(is_last.then(|| self.conclude(veil)))
    }

    fn conclude(&mut self, veil: &Veil) -> Answer {
        let lines = std::mem::take(&mut self.0);
        let code = lines
            .iter()
            .map(|(code, _)| *code)
            .max()
            .unwrap_or_default();
        let worst = lines.iter().find(|(other, _)| *other == code);
        let enhanced = worst.and_then(|(_, text)| enhanced(text).map(|(code, _)| code));
        let lines: Vec<String> = lines.into_iter().map(|(_, text)| text).collect();
        let text: String = lines.join(" ").trim().chars().take(TEXT_MAX).collect();
        Answer {
            code,
            enhanced,
            text: veil.draw(text),
            lines,
        }
    }
}

impl Answer {
    pub(super) const fn code(&self) -> u16 {
        self.code
    }

    /// What classes are made of.
    pub(super) const fn reply(&self) -> Reply {
        Reply {
            code: self.code,
            enhanced: self.enhanced,
        }
    }

    /// Whether it says no, for now or for ever.
    pub(super) const fn is_refusal(&self) -> bool {
        matches!(self.code, 400..=599)
    }

    /// The texts of its lines, for the parser of EHLO alone: they are not veiled.
    pub(super) fn lines(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(String::as_str)
    }

    /// Its code and enhanced code, such as `550 5.1.1`.
    pub(super) fn codes(&self) -> String {
        match self.enhanced {
            Some(Enhanced(class, subject, detail)) => {
                format!("{:03} {class}.{subject}.{detail}", self.code)
            }
            None => format!("{:03}", self.code),
        }
    }

    /// Its code and at most `most` characters of its text, in one line.
    pub(super) fn shown(&self, most: usize) -> String {
        let text: String = self.text.chars().take(most).collect();
        format!("{:03} {text}", self.code).trim_end().to_owned()
    }

    /// The text without the enhanced code in front, at most `most` characters; `None` where there is none.
    pub(super) fn remark(&self, most: usize) -> Option<String> {
        let text = enhanced(&self.text).map_or(self.text.as_str(), |(_, rest)| rest);
        let text: String = text.trim().chars().take(most).collect();
        (!text.is_empty()).then_some(text)
    }
}

/// Text in whatever encoding, without characters that would break a line of a log.
fn printable(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    text.chars()
        .map(|c| {
            if super::super::document::breaks_lines(c) {
                ' '
            } else {
                c
            }
        })
        .collect()
}

/// The enhanced status code (RFC 2034, 3) that `text` begins with, and what follows it.
fn enhanced(text: &str) -> Option<(Enhanced, &str)> {
    let (code, rest) = text.split_once(' ').unwrap_or((text, ""));
    let mut numbers = code.split('.');
    let class = numbers
        .next()
        .filter(|class| matches!(*class, "2" | "4" | "5"))?;
    let class = class.parse().ok()?;
    let mut number = || {
        let digits = numbers.next()?;
        let is_number =
            (1..=3).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
        is_number.then(|| digits.parse().ok()).flatten()
    };
    let code = Enhanced(class, number()?, number()?);
    numbers.next().is_none().then_some((code, rest))
}

#[cfg(test)]
mod tests;
