//! `[pepsi-postgres]`: how to reach the database.

use super::{Span, accept};
use serde::de::{Deserialize, Deserializer, Error};
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use toml::Value;

/// The section `[pepsi-postgres]`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE", deny_unknown_fields, default)]
pub struct PostgresConfig {
    /// Names, addresses or socket directories, tried in this order.
    #[serde(deserialize_with = "hosts")]
    pub host: OneOrMany<String>,
    /// One port for all hosts, or one per host.
    #[serde(deserialize_with = "ports")]
    pub port: OneOrMany<u16>,
    /// The database.
    #[serde(deserialize_with = "accept::text")]
    pub dbname: String,
    /// The database role; the operating system account when absent.
    #[serde(deserialize_with = "accept::some_text")]
    pub user: Option<String>,
    /// A file that holds the password and nothing else, readable by its owner only.
    #[serde(deserialize_with = "absolute_path")]
    pub password_file: Option<PathBuf>,
    /// How far TLS is insisted on; see [`PostgresConfig::effective_sslmode`] for the default.
    pub sslmode: Option<SslMode>,
    /// Certificates, in PEM, that the server's chain must end in; the system's when absent.
    #[serde(deserialize_with = "absolute_path")]
    pub sslrootcert: Option<PathBuf>,
    /// The limit for one address: from opening the socket until the server takes statements.
    #[serde(deserialize_with = "accept::span::<_, 100, 60_000>")]
    pub connect_timeout: Span,
}

impl PostgresConfig {
    /// The name of the section.
    pub const SECTION: &'static str = "pepsi-postgres";

    /// SSLMODE, or its default: `verify-full` as soon as one host is not on this machine, otherwise
    /// `prefer`.
    #[must_use]
    pub fn effective_sslmode(&self) -> SslMode {
        self.sslmode
            .unwrap_or_else(|| SslMode::default_for(self.host.as_slice()))
    }
}

impl Default for PostgresConfig {
    fn default() -> Self {
        Self {
            host: OneOrMany::One(DEFAULT_SOCKET_DIRECTORY.to_owned()),
            port: OneOrMany::One(DEFAULT_PORT),
            dbname: "pepsi".to_owned(),
            user: None,
            password_file: None,
            sslmode: None,
            sslrootcert: None,
            connect_timeout: Span::from_secs(5),
        }
    }
}

/// Where Debian and Ubuntu servers listen.
pub(crate) const DEFAULT_SOCKET_DIRECTORY: &str = "/var/run/postgresql";
pub(crate) const DEFAULT_PORT: u16 = 5432;

/// How far TLS is insisted on, with libpq's meanings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SslMode {
    /// Never.
    Disable,
    /// When the server offers it; the server's identity is not checked.
    Prefer,
    /// Always; the chain is checked only when SSLROOTCERT is set.
    Require,
    /// Always, with a chain that ends in a trusted certificate.
    VerifyCa,
    /// The same, and the certificate must be for the host's name.
    VerifyFull,
}

impl SslMode {
    /// Reads libpq's spelling.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [
            Self::Disable,
            Self::Prefer,
            Self::Require,
            Self::VerifyCa,
            Self::VerifyFull,
        ]
        .into_iter()
        .find(|mode| mode.as_str() == name)
    }

    /// As written in the configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Disable => "disable",
            Self::Prefer => "prefer",
            Self::Require => "require",
            Self::VerifyCa => "verify-ca",
            Self::VerifyFull => "verify-full",
        }
    }

    pub(crate) fn default_for<S: AsRef<str>>(hosts: &[S]) -> Self {
        if hosts.iter().all(|host| is_local(host.as_ref())) {
            Self::Prefer
        } else {
            Self::VerifyFull
        }
    }
}

impl fmt::Display for SslMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

fn is_local(host: &str) -> bool {
    host.starts_with('/')
        || host == "localhost"
        || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// A value that may be given once or as an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OneOrMany<T> {
    /// Written without brackets.
    One(T),
    /// Written as an array; never empty.
    Many(Vec<T>),
}

impl<T> OneOrMany<T> {
    /// All values, in order.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        match self {
            Self::One(value) => std::slice::from_ref(value),
            Self::Many(values) => values,
        }
    }
}

fn one_or_many<T>(value: Value, read: impl Fn(Value) -> Option<T>) -> Option<OneOrMany<T>> {
    match value {
        Value::Array(items) if !items.is_empty() => {
            let values = items.into_iter().map(read).collect::<Option<Vec<T>>>()?;
            Some(OneOrMany::Many(values))
        }
        single => read(single).map(OneOrMany::One),
    }
}

fn hosts<'de, D: Deserializer<'de>>(from: D) -> Result<OneOrMany<String>, D::Error> {
    one_or_many(Value::deserialize(from)?, |value| match value {
        // A comma would be libpq's way of writing several; here it could only be a mistake.
        Value::String(host) if !host.is_empty() && !host.contains([',', ' ']) => Some(host),
        _ => None,
    })
    .ok_or_else(|| {
        D::Error::custom(
            "expected a name, an address or a socket directory, or an array of them, such as [\"db1\", \"db2\"]",
        )
    })
}

fn ports<'de, D: Deserializer<'de>>(from: D) -> Result<OneOrMany<u16>, D::Error> {
    one_or_many(Value::deserialize(from)?, |value| {
        let port = u16::try_from(value.as_integer()?).ok()?;
        (port != 0).then_some(port)
    })
    .ok_or_else(|| {
        D::Error::custom(
            "expected a port from 1 to 65535, or an array of them, one per host, such as [5432, 5433]",
        )
    })
}

fn absolute_path<'de, D: Deserializer<'de>>(from: D) -> Result<Option<PathBuf>, D::Error> {
    Value::deserialize(from)?
        .as_str()
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .map(Some)
        .ok_or_else(|| D::Error::custom("expected the absolute path of a file"))
}

#[cfg(test)]
mod tests {
    use super::SslMode;

    #[test]
    fn tls_is_verified_by_default_unless_every_host_is_on_this_machine() {
        let table: [(&[&str], SslMode); 6] = [
            (&["/var/run/postgresql"], SslMode::Prefer),
            (&["localhost"], SslMode::Prefer),
            (&["127.0.0.1", "::1"], SslMode::Prefer),
            (&["db1"], SslMode::VerifyFull),
            (&["/run", "db1"], SslMode::VerifyFull),
            (&["192.0.2.1"], SslMode::VerifyFull),
        ];
        for (hosts, expected) in table {
            assert_eq!(SslMode::default_for(hosts), expected, "{hosts:?}");
        }
    }

    #[test]
    fn modes_are_spelled_as_libpq_spells_them() {
        for name in ["disable", "prefer", "require", "verify-ca", "verify-full"] {
            assert_eq!(SslMode::from_name(name).map(SslMode::as_str), Some(name));
        }
        assert_eq!(SslMode::from_name("allow"), None);
    }
}
