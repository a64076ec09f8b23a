//! How values travel: payloads as untyped text, times as the server's own microseconds.

use bytes::BytesMut;
use postgres_types::{Format, FromSql, IsNull, ToSql, Type, accepts, to_sql_checked};
use std::error::Error;

/// A `timestamptz` as the server sends it: microseconds since 2000-01-01 UTC, with the two infinities at
/// the ends. It is compared and handed back, never computed with: the database's clock is the only clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// `-infinity`.
    pub const MIN: Self = Self(i64::MIN);
}

impl<'a> FromSql<'a> for Timestamp {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(i64::from_be_bytes(raw.try_into()?)))
    }

    accepts!(TIMESTAMPTZ);
}

impl ToSql for Timestamp {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.extend_from_slice(&self.0.to_be_bytes());
        Ok(IsNull::No)
    }

    accepts!(TIMESTAMPTZ);
    to_sql_checked!();
}

/// Place of an event in its pool's index: `(run_at, id)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// When it may run.
    pub run_at: Timestamp,
    /// Its identity.
    pub id: i64,
}

impl Key {
    /// Before every event.
    pub const MIN: Self = Self {
        run_at: Timestamp::MIN,
        id: i64::MIN,
    };

    /// The place right behind this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self {
            run_at: self.run_at,
            id: self.id.saturating_add(1),
        }
    }
}

/// A payload on its way to `$1`, in text format and without a type of its own, so that whatever the action
/// needs there (jsonb, uuid, integer, …) is read from the text as a quoted literal would be.
#[derive(Debug)]
pub struct Payload<'a>(pub Option<&'a str>);

impl ToSql for Payload<'_> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        Ok(match self.0 {
            Some(text) => {
                out.extend_from_slice(text.as_bytes());
                IsNull::No
            }
            None => IsNull::Yes,
        })
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}
