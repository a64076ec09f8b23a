//! Durations as people write them.

use serde::de::{Deserialize, Deserializer, Visitor};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use thiserror::Error;

/// A duration written as a whole number and a unit: `"500ms"`, `"30s"`, `"5m"`, `"1h"`, `"7d"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub Duration);

/// The text is not a duration.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("expected a duration, {}", Span::SPELLING)]
pub struct SpanError;

/// Largest unit first, so that [`Span`] is shown in the shortest exact way.
const UNITS: [(&str, u64); 5] = [
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1_000),
    ("ms", 1),
];

impl Span {
    pub(crate) const SPELLING: &'static str =
        "written as a whole number and one of ms, s, m, h, d, such as \"30s\"";

    /// `seconds` seconds.
    #[must_use]
    pub const fn from_secs(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }

    /// As the standard library's type.
    #[must_use]
    pub const fn duration(self) -> Duration {
        self.0
    }
}

impl From<Span> for Duration {
    fn from(span: Span) -> Self {
        span.0
    }
}

impl FromStr for Span {
    type Err = SpanError;

    fn from_str(text: &str) -> Result<Self, SpanError> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at(digits);
        let number: u64 = number.parse().map_err(|_| SpanError)?;
        let (_, factor) = UNITS
            .into_iter()
            .find(|&(name, _)| name == unit)
            .ok_or(SpanError)?;
        let millis = number.checked_mul(factor).ok_or(SpanError)?;
        Ok(Self(Duration::from_millis(millis)))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.as_millis();
        for (unit, factor) in UNITS {
            let factor = u128::from(factor);
            if millis != 0 && millis.is_multiple_of(factor) {
                return write!(f, "{}{unit}", millis / factor);
            }
        }
        f.write_str("0s")
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Text;

        impl Visitor<'_> for Text {
            type Value = Span;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a duration, {}", Span::SPELLING)
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Span, E> {
                text.parse().map_err(E::custom)
            }
        }

        from.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests {
    use super::Span;
    use proptest::prelude::*;
    use std::time::Duration;

    #[test]
    fn every_unit_is_read() {
        let table = [
            ("500ms", 500),
            ("30s", 30_000),
            ("5m", 300_000),
            ("1h", 3_600_000),
            ("7d", 604_800_000),
            ("0s", 0),
        ];
        for (text, millis) in table {
            assert_eq!(
                text.parse(),
                Ok(Span(Duration::from_millis(millis))),
                "{text}"
            );
        }
    }

    #[test]
    fn anything_else_is_refused_with_what_is_accepted() {
        for text in [
            "",
            "30",
            "s",
            "1.5s",
            "-1s",
            "30 s",
            " 30s",
            "30S",
            "30sec",
            "1h30m",
            "+1s",
            "99999999999999999999s",
            "999999999999999999d",
        ] {
            let error = text.parse::<Span>().expect_err(text).to_string();
            assert!(error.contains("ms, s, m, h, d"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_back(millis in 0u64..10_000_000_000) {
            let span = Span(Duration::from_millis(millis));
            prop_assert_eq!(span.to_string().parse(), Ok(span));
        }
    }
}
