//! What is said of a value that is not what it must be, and to whom.

use super::Part;
use serde_json::Value;
use shared::failure::Unsendable;

/// Longest quotation of a value in a detail.
const SHOWN_MAX: usize = 100;
/// Keys of a message that hold addresses.
const ADDRESSES: [&str; 4] = ["to", "cc", "bcc", "reply_to"];

/// A key whose value is not what it must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    part: Part,
    place: String,
    problem: String,
    shown: Option<String>,
}

impl Malformed {
    /// That `place` has a `problem`, without its value.
    pub(super) fn at(part: Part, place: &str, problem: String) -> Self {
        Self {
            part,
            place: place.to_owned(),
            problem,
            shown: None,
        }
    }

    /// With `value` as it is stored, unless that is the content of a message.
    pub(super) fn showing(self, value: &Value) -> Self {
        let may_be_shown = match self.part {
            Part::Profile => true,
            Part::Message => ADDRESSES.contains(&key_of(&self.place)),
        };
        Self {
            shown: may_be_shown.then(|| shorten(&value.to_string())),
            ..self
        }
    }

    /// Which document it is about.
    #[must_use]
    pub const fn part(&self) -> Unsendable {
        match self.part {
            Part::Profile => Unsendable::Profile,
            Part::Message => Unsendable::Message,
        }
    }

    /// For the log: the key and what is expected. Of deeper places only the key they are under, since the names in them may be content.
    #[must_use]
    pub fn summary(&self) -> String {
        let key = key_of(&self.place);
        format!("{}: {}", self.name_of(key), self.problem)
    }

    /// For the notifier: the place, what is expected, and the value as it is stored where it may be shown.
    #[must_use]
    pub fn detail(&self) -> String {
        let text = format!("{}: {}", self.name_of(&self.place), self.problem);
        match &self.shown {
            Some(shown) => format!("{text}, got {shown}"),
            None => text,
        }
    }

    fn name_of(&self, place: &str) -> String {
        let part = match self.part {
            Part::Profile => "profile",
            Part::Message => "message",
        };
        if place.is_empty() {
            part.to_owned()
        } else {
            format!("{part} key {place}")
        }
    }
}

/// The key at the top that `place` is under.
fn key_of(place: &str) -> &str {
    place.split(['.', '[']).next().unwrap_or_default()
}

fn shorten(text: &str) -> String {
    if text.chars().count() <= SHOWN_MAX {
        return text.to_owned();
    }
    let cut: String = text.chars().take(SHOWN_MAX).collect();
    format!("{cut}…")
}
