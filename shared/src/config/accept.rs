//! Field checks for `#[serde(deserialize_with = "…")]` that say what they would accept.

use super::Span;
use serde::de::{Deserialize, Deserializer, Error};
use std::time::Duration;
use toml::Value;

/// A whole number from `MIN` to `MAX`, both included.
pub fn whole_number<'de, D, N, const MIN: u64, const MAX: u64>(from: D) -> Result<N, D::Error>
where
    D: Deserializer<'de>,
    N: TryFrom<u64>,
{
    let number = match Value::deserialize(from)? {
        Value::Integer(number) => u64::try_from(number).ok(),
        _ => None,
    };
    number
        .filter(|number| (MIN..=MAX).contains(number))
        .and_then(|number| N::try_from(number).ok())
        .ok_or_else(|| D::Error::custom(format!("expected a whole number from {MIN} to {MAX}")))
}

/// A duration from `MIN_MS` to `MAX_MS` milliseconds, both included.
pub fn span<'de, D, const MIN_MS: u64, const MAX_MS: u64>(from: D) -> Result<Span, D::Error>
where
    D: Deserializer<'de>,
{
    let (min, max) = (
        Span(Duration::from_millis(MIN_MS)),
        Span(Duration::from_millis(MAX_MS)),
    );
    let value = Value::deserialize(from)?;
    value
        .as_str()
        .and_then(|text| text.parse::<Span>().ok())
        .filter(|span| (min..=max).contains(span))
        .ok_or_else(|| {
            D::Error::custom(format!(
                "expected a duration from \"{min}\" to \"{max}\", {}",
                Span::SPELLING
            ))
        })
}

/// An array of strings, none of them empty.
pub fn names<'de, D>(from: D) -> Result<Vec<String>, D::Error>
where
    D: Deserializer<'de>,
{
    let names = match Value::deserialize(from)? {
        Value::Array(items) => items.into_iter().map(name).collect::<Option<Vec<_>>>(),
        _ => None,
    };
    names.ok_or_else(|| {
        D::Error::custom("expected an array of non-empty strings, such as [\"orders.*\"]")
    })
}

/// A string that is not empty.
pub fn text<'de, D>(from: D) -> Result<String, D::Error>
where
    D: Deserializer<'de>,
{
    name(Value::deserialize(from)?).ok_or_else(|| D::Error::custom("expected a non-empty string"))
}

/// Like [`text`], for a key without a default.
pub fn some_text<'de, D>(from: D) -> Result<Option<String>, D::Error>
where
    D: Deserializer<'de>,
{
    text(from).map(Some)
}

fn name(value: Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text),
        _ => None,
    }
}
