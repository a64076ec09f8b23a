//! Opening a session with the primary, wherever it is at the moment.
//!
//! tokio-postgres's own defaults suit no failover: it takes the first host that answers, standby or
//! not, waits for ever and sends no keepalives. So the hosts are tried here, one by one, each within
//! a limit, and the first one that is not in recovery is taken.

mod attempt;
mod endpoint;
mod error;
mod farewell;
mod session;
mod startup;
mod tls;
mod url;

pub use error::{ConnectError, Place};
pub use farewell::Farewell;
pub use session::{Driver, Session};

use crate::config::{ConfigError, PostgresConfig, SslMode, read_password};
use attempt::Attempt;
use endpoint::{Endpoint, endpoints};
use secrecy::SecretString;
use std::sync::Arc;
use std::time::Duration;
use tls::Tls;

/// Everything needed to open sessions; cheap to clone.
#[derive(Debug, Clone)]
pub struct Connector(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    endpoints: Vec<Endpoint>,
    dbname: String,
    user: Option<String>,
    password: Option<SecretString>,
    /// Start-up options the operator asked for in the URL, as they go over the wire.
    options: Option<String>,
    tls: Tls,
    /// For one address.
    limit: Duration,
}

impl Connector {
    /// From `[pepsi-postgres]`. Reads the password and the certificates now, so that a later drop
    /// of privileges does not matter.
    pub fn new(config: &PostgresConfig) -> Result<Self, ConfigError> {
        let setting = |key, detail| ConfigError::setting(PostgresConfig::SECTION, key, detail);
        let endpoints = endpoints(config.host.as_slice(), config.port.as_slice())
            .map_err(|detail| setting("PORT", detail))?;
        let tls = Tls::new(config.effective_sslmode(), config.sslrootcert.as_deref())
            .map_err(|detail| setting("SSLROOTCERT", detail))?;
        Ok(Self(Arc::new(Inner {
            endpoints,
            dbname: config.dbname.clone(),
            user: config.user.clone(),
            password: read_password(config)?,
            options: None,
            tls,
            limit: config.connect_timeout.duration(),
        })))
    }

    /// From a `postgres://` URL or a libpq `key=value` string, as given with `--database`.
    ///
    /// The defaults are those of `[pepsi-postgres]`, SSLMODE's included, except that the database is
    /// named like the user when the text names none.
    pub fn from_url(url: &str) -> Result<Self, ConfigError> {
        let parsed = url::parse(url)?;
        let wrong = |detail| ConfigError::option("--database", detail);
        let endpoints = endpoints(&parsed.hosts, &parsed.ports).map_err(wrong)?;
        let mode = parsed
            .sslmode
            .unwrap_or_else(|| SslMode::default_for(&parsed.hosts));
        let tls = Tls::new(mode, parsed.sslrootcert.as_deref()).map_err(wrong)?;
        let dbname = match (parsed.dbname, &parsed.user) {
            (Some(dbname), _) => dbname,
            (None, Some(user)) => user.clone(),
            (None, None) => endpoint::account().map_err(wrong)?,
        };
        Ok(Self(Arc::new(Inner {
            endpoints,
            dbname,
            user: parsed.user,
            password: parsed.password,
            options: parsed.options,
            tls,
            limit: parsed
                .limit
                .unwrap_or_else(|| PostgresConfig::default().connect_timeout.duration()),
        })))
    }

    /// Opens a session with the first host that is a primary.
    ///
    /// `app` becomes `application_name`; each of `settings` is a server setting that the session
    /// starts with and that RESET returns to (unless a proxy stands in between, see
    /// [`Session::startup_settings_honoured`]).
    ///
    /// Each address has CONNECT_TIMEOUT. Unlike libpq a refused login does not end the search: while
    /// a cluster fails over, one host may well refuse what the next accepts. When no host will do,
    /// the error is that of the host whose answer says most.
    ///
    /// # Panics
    /// Never: a connector has at least one endpoint.
    pub async fn connect(
        &self,
        app: &str,
        settings: &[(&str, String)],
    ) -> Result<Session, ConnectError> {
        let user = match &self.0.user {
            Some(user) => user.clone(),
            // Asked every time: privileges may have been dropped since the start.
            None => endpoint::account().map_err(ConnectError::NoAccount)?,
        };
        let mut worst: Option<ConnectError> = None;
        for endpoint in &self.0.endpoints {
            let attempt = Attempt {
                connector: &self.0,
                endpoint,
                user: &user,
                app,
                settings,
            };
            match attempt.run().await {
                Ok(session) => return Ok(session),
                Err(error) => {
                    worst = Some(match worst {
                        Some(worst) if worst.weight() >= error.weight() => worst,
                        Some(_) | None => error,
                    });
                }
            }
        }
        Err(worst.expect("endpoints() returns at least one"))
    }

    /// The hosts and the database, for messages; holds no secret.
    #[must_use]
    pub fn target(&self) -> String {
        let hosts: Vec<String> = self.0.endpoints.iter().map(Endpoint::to_string).collect();
        format!("database \"{}\" on {}", self.0.dbname, hosts.join(", "))
    }
}

#[cfg(test)]
mod tests;
