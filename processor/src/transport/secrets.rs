//! Secrets: strings of a profile that name a variable of this host (pg_relay_notifier: Secrets).
//!
//! Any string at any depth of a profile that is, as a whole, `_env:NAME` stands for the variable NAME. Its value is kept beside the profile and never put
//! into it, so that whatever quotes a profile quotes the reference.

use crate::config::ProcessorConfig;
use secrecy::SecretString;
use serde_json::Value;
use shared::failure::Unsendable;
use std::collections::HashMap;
use std::fmt::Debug;
use thiserror::Error;

/// Variables by which the host and the service manager speak to this process; no notification has a use for them.
const OWN: [&str; 7] = [
    "CREDENTIALS_DIRECTORY",
    "INVOCATION_ID",
    "JOURNAL_STREAM",
    "LISTEN_*",
    "NOTIFY_SOCKET",
    "PG*",
    "WATCHDOG_*",
];

/// Where secrets come from, and which of them may be used.
pub struct Secrets {
    may_use: Box<dyn Fn(&str) -> bool + Send + Sync>,
    look_up: Box<LookUp>,
}

/// Gives the value of a variable.
type LookUp = dyn Fn(&str) -> Option<SecretString> + Send + Sync;

/// The values of a profile's references, by their places.
#[derive(Debug, Default)]
pub struct Resolved(HashMap<String, SecretString>);

/// A reference that leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unresolved {
    /// Unset, empty or not UTF-8, which come to the same: there is no secret.
    #[error("profile key {key} refers to variable {name}, which is not set on this host")]
    NotSet {
        /// Place of the reference.
        key: String,
        /// The variable.
        name: String,
    },
    /// The configuration, or this program, keeps it from notifications.
    #[error(
        "profile key {key} refers to variable {name}, which notifications may not use on this host (SECRET_ALLOW, SECRET_DENY)"
    )]
    Denied {
        /// Place of the reference.
        key: String,
        /// The variable.
        name: String,
    },
}

impl Unresolved {
    /// What that means for the notification.
    #[must_use]
    pub const fn reason(&self) -> Unsendable {
        match self {
            Self::NotSet { .. } => Unsendable::Variable,
            Self::Denied { .. } => Unsendable::Denied,
        }
    }
}

impl Resolved {
    /// The value of the reference at `place`.
    #[must_use]
    pub fn at(&self, place: &str) -> Option<&SecretString> {
        self.0.get(place)
    }
}

impl Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secrets")
    }
}

impl Secrets {
    /// The variables of this process, as far as `config` lets notifications use them.
    #[must_use]
    pub fn of_this_process(config: &ProcessorConfig) -> Self {
        let config = config.clone();
        Self::new(
            move |name| config.may_use_secret(name),
            |name| std::env::var(name).ok().map(SecretString::from),
        )
    }

    /// With rules and values of the caller's.
    pub fn new(
        may_use: impl Fn(&str) -> bool + Send + Sync + 'static,
        look_up: impl Fn(&str) -> Option<SecretString> + Send + Sync + 'static,
    ) -> Self {
        Self {
            may_use: Box::new(may_use),
            look_up: Box::new(look_up),
        }
    }

    /// Looks up every reference of `profile`.
    pub fn resolve(&self, profile: &Value) -> Result<Resolved, Unresolved> {
        let mut resolved = Resolved::default();
        self.walk(String::new(), profile, &mut resolved)?;
        Ok(resolved)
    }

    fn walk(&self, place: String, value: &Value, found: &mut Resolved) -> Result<(), Unresolved> {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => {
                if let Some(name) = reference(text) {
                    let secret = self.look_up(&place, name)?;
                    found.0.insert(place, secret);
                }
            }
            Value::Array(entries) => {
                for (number, entry) in entries.iter().enumerate() {
                    self.walk(entry_place(&place, number), entry, found)?;
                }
            }
            Value::Object(members) => {
                for (key, member) in members {
                    self.walk(member_place(&place, key), member, found)?;
                }
            }
        }
        Ok(())
    }

    fn look_up(&self, key: &str, name: &str) -> Result<SecretString, Unresolved> {
        use secrecy::ExposeSecret;
        let own = OWN.iter().any(|glob| shared::glob::matches(glob, name));
        let (key, name) = (key.to_owned(), name.to_owned());
        if own || !(self.may_use)(&name) {
            return Err(Unresolved::Denied { key, name });
        }
        (self.look_up)(&name)
            .filter(|secret| !secret.expose_secret().is_empty())
            .ok_or(Unresolved::NotSet { key, name })
    }
}

/// Place of member `key` of the object at `place`; no two places are written alike.
#[must_use]
pub fn member_place(place: &str, key: &str) -> String {
    let is_plain = key
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    match (is_plain && !key.is_empty(), place) {
        (true, "") => key.to_owned(),
        (true, place) => format!("{place}.{key}"),
        (false, place) => format!("{place}[{key:?}]"),
    }
}

/// Place of entry `number` of the array at `place`.
#[must_use]
pub fn entry_place(place: &str, number: usize) -> String {
    format!("{place}[{number}]")
}

/// The variable that `text` refers to, if it is a reference: `_env:` and a name, and nothing else.
#[must_use]
pub fn reference(text: &str) -> Option<&str> {
    let name = text.strip_prefix("_env:")?;
    let mut bytes = name.bytes();
    let begins = bytes.next()?;
    let is_name = (begins.is_ascii_alphabetic() || begins == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::{Resolved, Secrets, Unresolved, reference};
    use secrecy::{ExposeSecret, SecretString};
    use serde_json::json;

    fn secrets() -> Secrets {
        Secrets::new(
            |name| name != "PEPSI_DENIED",
            |name| match name {
                "EMPTY" => Some(String::new().into()),
                "UNSET" => None,
                name => Some(SecretString::from(format!("value of {name}"))),
            },
        )
    }

    fn at(resolved: &Resolved, place: &str) -> Option<String> {
        resolved
            .at(place)
            .map(|secret| secret.expose_secret().to_owned())
    }

    #[test]
    fn references_are_found_at_any_depth_and_only_as_whole_strings() {
        let profile = json!({
            "password": "_env:A",
            "headers": {"Authorization": "_env:B_2", "X": "Bearer _env:C"},
            "list": ["_env:_D", 1, ["_env:E"]],
        });
        let resolved = secrets().resolve(&profile).unwrap();
        assert_eq!(at(&resolved, "password").as_deref(), Some("value of A"));
        let header = at(&resolved, "headers.Authorization");
        assert_eq!(header.as_deref(), Some("value of B_2"));
        assert_eq!(at(&resolved, "headers.X"), None);
        assert_eq!(at(&resolved, "list[0]").as_deref(), Some("value of _D"));
        assert_eq!(at(&resolved, "list[2][0]").as_deref(), Some("value of E"));
    }

    #[test]
    fn only_the_exact_shape_is_a_reference() {
        assert_eq!(reference("_env:_a1"), Some("_a1"));
        for text in [
            "_env:", "_env:1A", "_env:A B", "_env:A\n", " _env:A", "_ENV:A", "env:A", "_env:Ä",
        ] {
            assert_eq!(reference(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_key_with_a_dot_is_not_mistaken_for_a_place() {
        let profile = json!({"a.b": "_env:A", "a": {"b": "literal"}});
        let resolved = secrets().resolve(&profile).unwrap();
        assert_eq!(at(&resolved, "a.b"), None);
        assert_eq!(at(&resolved, "[\"a.b\"]").as_deref(), Some("value of A"));
    }

    #[test]
    fn unset_and_empty_are_the_same_and_named() {
        for name in ["EMPTY", "UNSET"] {
            let profile = json!({"a": {"b": format!("_env:{name}")}});
            let expected = Unresolved::NotSet {
                key: "a.b".to_owned(),
                name: name.to_owned(),
            };
            assert_eq!(secrets().resolve(&profile).unwrap_err(), expected);
        }
    }

    #[test]
    fn denied_names_and_our_own_are_refused_without_a_look() {
        for name in [
            "PEPSI_DENIED",
            "PGPASSWORD",
            "NOTIFY_SOCKET",
            "CREDENTIALS_DIRECTORY",
        ] {
            let profile = json!([format!("_env:{name}")]);
            let expected = Unresolved::Denied {
                key: "[0]".to_owned(),
                name: name.to_owned(),
            };
            assert_eq!(secrets().resolve(&profile).unwrap_err(), expected);
        }
    }
}
