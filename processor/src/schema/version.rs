//! Versions of schemas and binaries.

use std::fmt;

/// `major.minor`; a patch level of the binary says nothing about the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Raised when older binaries can no longer work with it.
    pub major: u16,
    /// Raised by additions.
    pub minor: u16,
}

impl Version {
    /// Reads `1.1`; anything else is `None`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.split_once('.')?;
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(major) || !digits(minor) {
            return None;
        }
        Some(Self {
            major: major.parse().ok()?,
            minor: minor.parse().ok()?,
        })
    }

    /// Puts the two numbers together.
    #[must_use]
    pub const fn new(major: u16, minor: u16) -> Self {
        Self { major, minor }
    }

    /// The version of this binary.
    pub const OF_THIS_BINARY: Self = Self::new(
        number(env!("CARGO_PKG_VERSION_MAJOR")),
        number(env!("CARGO_PKG_VERSION_MINOR")),
    );
}

/// Only for constants: what is not a number does not compile.
const fn number(text: &str) -> u16 {
    match u16::from_str_radix(text, 10) {
        Ok(number) => number,
        Err(_) => panic!("not a number"),
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::Version;

    #[test]
    fn versions_compare_as_numbers() {
        let parse = |text| Version::parse(text).unwrap();
        assert!(parse("1.9") < parse("1.10"));
        assert!(parse("1.10") < parse("2.0"));
        assert_eq!(parse("1.1").to_string(), "1.1");
    }

    #[test]
    fn what_is_not_a_version_is_none() {
        for text in ["", "1", "1.", ".1", "1.1.1", "1.x", "+1.0", "1.99999"] {
            assert_eq!(Version::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn the_binary_has_one() {
        assert!(Version::OF_THIS_BINARY >= Version::new(1, 1));
    }
}
