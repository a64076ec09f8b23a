//! Reading a profile or a message: JSON documents of which a Processor relies on nothing, since rows may come from anywhere.
//!
//! A missing key and a JSON null are the same. Unknown keys are ignored; top-level keys that begin with an underscore are reserved and refused.
//! A value that came from a variable is never quoted: what is shown is the document as it is stored. Of a message only addresses are quoted: the rest is content.

mod malformed;
mod text;

pub use malformed::Malformed;
pub use text::Text;

use super::secrets::{Resolved, entry_place, member_place};
use secrecy::ExposeSecret;
use serde_json::{Map, Value};

/// Which document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Profile,
    Message,
}

/// The members of an object.
#[derive(Clone)]
pub struct Fields<'a> {
    part: Part,
    place: String,
    members: &'a Map<String, Value>,
    secrets: Option<&'a Resolved>,
}

/// A value and its place.
#[derive(Clone)]
pub struct Node<'a> {
    part: Part,
    place: String,
    value: &'a Value,
    secrets: Option<&'a Resolved>,
}

/// Whether `c` may not be part of anything that becomes a line of a protocol: a control character, or one that some
/// programs take for the end of a line.
#[must_use]
pub fn breaks_lines(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

impl<'a> Fields<'a> {
    /// The profile, with what its references stand for.
    pub fn of_profile(profile: &'a Value, secrets: &'a Resolved) -> Result<Self, Malformed> {
        Self::of(Part::Profile, profile, Some(secrets))
    }

    /// The message; a reference in it is refused, since it would let whoever writes messages read the variables of this host.
    pub fn of_message(message: &'a Value) -> Result<Self, Malformed> {
        refuse_references("", message)?;
        Self::of(Part::Message, message, None)
    }

    fn of(
        part: Part,
        document: &'a Value,
        secrets: Option<&'a Resolved>,
    ) -> Result<Self, Malformed> {
        let root = Node {
            part,
            place: String::new(),
            value: document,
            secrets,
        };
        let fields = root.object()?;
        match fields.members.keys().find(|key| key.starts_with('_')) {
            Some(key) => {
                let problem = "keys that begin with an underscore are reserved".to_owned();
                Err(Malformed::at(part, &member_place("", key), problem))
            }
            None => Ok(fields),
        }
    }

    /// The value of `key`, unless it is missing or null.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Node<'a>> {
        let value = self.members.get(key).filter(|value| !value.is_null())?;
        Some(self.node(key, value))
    }

    /// The value of `key`.
    pub fn required(&self, key: &str) -> Result<Node<'a>, Malformed> {
        self.get(key)
            .ok_or_else(|| self.malformed(key, "is required"))
    }

    /// `key` as a text without line breaks and other control characters, and not empty.
    pub fn line(&self, key: &str) -> Result<Option<Text<'a>>, Malformed> {
        self.get(key).map(|node| node.line()).transpose()
    }

    /// The same of a key that must be there.
    pub fn required_line(&self, key: &str) -> Result<Text<'a>, Malformed> {
        self.required(key)?.line()
    }

    /// `key` as a text of any kind.
    pub fn text(&self, key: &str) -> Result<Option<Text<'a>>, Malformed> {
        self.get(key).map(|node| node.text()).transpose()
    }

    /// `key` as true or false.
    pub fn boolean(&self, key: &str) -> Result<Option<bool>, Malformed> {
        self.get(key).map(|node| node.boolean()).transpose()
    }

    /// Every member that is not null, in the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = (&'a str, Node<'a>)> {
        self.members
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key.as_str(), self.node(key, value)))
    }

    /// That `key` is not what it must be; its value is not shown.
    #[must_use]
    pub fn malformed(&self, key: &str, problem: impl Into<String>) -> Malformed {
        Malformed::at(self.part, &member_place(&self.place, key), problem.into())
    }

    fn node(&self, key: &str, value: &'a Value) -> Node<'a> {
        Node {
            part: self.part,
            place: member_place(&self.place, key),
            value,
            secrets: self.secrets,
        }
    }
}

impl<'a> Node<'a> {
    /// A text of any kind.
    pub fn text(&self) -> Result<Text<'a>, Malformed> {
        let Value::String(stored) = self.value else {
            return Err(self.malformed("expected a string"));
        };
        let secret = self.secrets.and_then(|secrets| secrets.at(&self.place));
        let meant = secret.map_or(stored.as_str(), ExposeSecret::expose_secret);
        Ok(Text::new(stored, meant))
    }

    /// A text without line breaks and other control characters, and not empty.
    pub fn line(&self) -> Result<Text<'a>, Malformed> {
        let text = self.text()?;
        if text.expose().is_empty() {
            return Err(self.malformed("expected a text that is not empty"));
        }
        if text.expose().contains(breaks_lines) {
            return Err(self.malformed("expected a text without control characters"));
        }
        Ok(text)
    }

    /// A text that must be a reference to a variable.
    pub fn secret(&self) -> Result<Text<'a>, Malformed> {
        let text = self.text()?;
        if text.is_reference() {
            return Ok(text);
        }
        let problem = "expected a reference to a variable, _env:NAME, since secrets are not stored";
        Err(Malformed::at(self.part, &self.place, problem.to_owned()))
    }

    /// True or false.
    pub fn boolean(&self) -> Result<bool, Malformed> {
        self.value
            .as_bool()
            .ok_or_else(|| self.malformed("expected true or false"))
    }

    /// A whole number.
    pub fn integer(&self, least: u64, most: u64) -> Result<u64, Malformed> {
        let expected = || {
            self.malformed(match most {
                u64::MAX => format!("expected a whole number of at least {least}"),
                most => format!("expected a whole number from {least} to {most}"),
            })
        };
        let number = self.value.as_u64().or_else(|| {
            // 30.0 is a whole number, and so is one that only a float can hold.
            let float = self.value.as_f64()?;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "whole, not negative, and saturating"
            )]
            (float >= 0.0 && float.fract() == 0.0).then_some(float as u64)
        });
        match number {
            Some(number) if (least..=most).contains(&number) => Ok(number),
            Some(_) | None => Err(expected()),
        }
    }

    /// One of a few words.
    pub fn one_of<T: Copy>(&self, words: &[(&str, T)]) -> Result<T, Malformed> {
        let given = self.text()?;
        let found = words.iter().find(|(word, _)| *word == given.expose());
        found.map(|(_, meaning)| *meaning).ok_or_else(|| {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            self.malformed(format!("expected one of {}", known.join(", ")))
        })
    }

    /// Whether it is an array.
    #[must_use]
    pub fn is_array(&self) -> bool {
        self.value.is_array()
    }

    /// Whether it is a string.
    #[must_use]
    pub fn is_text(&self) -> bool {
        self.value.is_string()
    }

    /// Its entries.
    pub fn array(&self) -> Result<Vec<Self>, Malformed> {
        let entries = self
            .value
            .as_array()
            .ok_or_else(|| self.malformed("expected an array"))?;
        let entries = entries.iter().enumerate();
        Ok(entries
            .map(|(number, value)| Self {
                part: self.part,
                place: entry_place(&self.place, number),
                value,
                secrets: self.secrets,
            })
            .collect())
    }

    /// Itself as the only entry when it is a string, else its entries: what a list of one may be written as.
    pub fn one_or_many(&self) -> Result<Vec<Self>, Malformed> {
        if self.is_text() {
            return Ok(vec![self.clone()]);
        }
        if self.is_array() {
            return self.array();
        }
        Err(self.malformed("expected a string or an array of strings"))
    }

    /// Its members.
    pub fn object(&self) -> Result<Fields<'a>, Malformed> {
        let Value::Object(members) = self.value else {
            return Err(self.malformed("expected an object"));
        };
        Ok(Fields {
            part: self.part,
            place: self.place.clone(),
            members,
            secrets: self.secrets,
        })
    }

    /// The JSON itself, as it is stored.
    #[must_use]
    pub const fn stored(&self) -> &'a Value {
        self.value
    }

    /// That this is not what it must be.
    #[must_use]
    pub fn malformed(&self, problem: impl Into<String>) -> Malformed {
        Malformed::at(self.part, &self.place, problem.into()).showing(self.value)
    }
}

fn refuse_references(place: &str, value: &Value) -> Result<(), Malformed> {
    match value {
        Value::String(text) if super::secrets::reference(text).is_some() => {
            let problem = "references to variables belong into the profile".to_owned();
            Err(Malformed::at(Part::Message, place, problem))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
        Value::Array(entries) => entries
            .iter()
            .enumerate()
            .try_for_each(|(number, entry)| refuse_references(&entry_place(place, number), entry)),
        Value::Object(members) => members
            .iter()
            .try_for_each(|(key, member)| refuse_references(&member_place(place, key), member)),
    }
}

#[cfg(test)]
mod tests;
