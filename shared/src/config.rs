//! The configuration file: one TOML document, one section per component.
//!
//! Each binary reads its own section and `[pepsi-postgres]` and leaves the others alone. Within a
//! section every key must be known. A value is checked by the type of its field; the document adds
//! where it stands, so that an error reads
//!
//! ```text
//! /etc/pepsi/pepsi.conf:7: [pg-relay-processor] SQL_WORKERS = 99 is not accepted: expected a whole number from 0 to 64
//! ```

pub mod accept;
mod document;
mod error;
mod known_keys;
mod password;
mod postgres;
mod span;

pub use document::Document;
pub use error::ConfigError;
pub use password::read_password;
pub(crate) use postgres::{DEFAULT_PORT, DEFAULT_SOCKET_DIRECTORY};
pub use postgres::{OneOrMany, PostgresConfig, SslMode};
pub use span::Span;

/// Where the configuration is read from unless `--config` says otherwise.
pub const DEFAULT_PATH: &str = "/etc/pepsi/pepsi.conf";
