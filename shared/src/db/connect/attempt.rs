//! One try at one host.

use super::endpoint::{Endpoint, Host};
use super::session::{Driver, Session};
use super::startup;
use super::{ConnectError, Farewell, Inner, Place};
use secrecy::ExposeSecret;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_postgres::config::SslMode as Insistence;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, Notification, SimpleQueryMessage};

/// One try at one endpoint, which may have several addresses.
pub(super) struct Attempt<'a> {
    pub(super) connector: &'a Inner,
    pub(super) endpoint: &'a Endpoint,
    pub(super) user: &'a str,
    pub(super) app: &'a str,
    pub(super) settings: &'a [(&'a str, String)],
}

/// A login that succeeded.
struct Login {
    client: Client,
    notifications: UnboundedReceiver<Notification>,
    farewell: Arc<Farewell>,
    driver: Driver,
}

impl Attempt<'_> {
    /// Tries the addresses of the endpoint in the resolver's order, each within the limit. Names are
    /// resolved anew each time: after a failover they may point elsewhere.
    pub(super) async fn run(&self) -> Result<Session, ConnectError> {
        let mut last = None;
        for address in self.addresses().await? {
            match self.within_limit(self.open(address)).await {
                Ok(session) => return Ok(session),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| {
            self.unreachable(io::Error::new(
                io::ErrorKind::NotFound,
                "the name has no address",
            ))
        }))
    }

    async fn addresses(&self) -> Result<Vec<Option<IpAddr>>, ConnectError> {
        let name = match &self.endpoint.host {
            Host::Socket(_) => return Ok(vec![None]),
            Host::Network(name) => name.as_str(),
        };
        let resolved = self
            .within_limit(async {
                tokio::net::lookup_host((name, self.endpoint.port))
                    .await
                    .map_err(|error| self.unreachable(error))
            })
            .await?;
        let mut addresses: Vec<IpAddr> = resolved.map(|address: SocketAddr| address.ip()).collect();
        addresses.dedup();
        Ok(addresses.into_iter().map(Some).collect())
    }

    async fn within_limit<T>(
        &self,
        work: impl Future<Output = Result<T, ConnectError>>,
    ) -> Result<T, ConnectError> {
        let limit = self.connector.limit;
        tokio::time::timeout(limit, work).await.unwrap_or_else(|_| {
            Err(ConnectError::Timeout {
                target: self.place(),
                limit,
            })
        })
    }

    async fn open(&self, address: Option<IpAddr>) -> Result<Session, ConnectError> {
        let settings = startup::all_settings(self.settings);
        let options = startup::options(self.connector.options.as_deref(), &settings);
        let login = match self.log_in(address, Some(&options)).await {
            // A proxy such as PgBouncer says this of a start-up parameter it does not pass on.
            Err(error) if error.code() == Some(&SqlState::PROTOCOL_VIOLATION) => {
                self.log_in(address, None).await
            }
            login => login,
        };
        let login = login.map_err(|error| ConnectError::new(self.place(), error))?;
        self.look_around(login, &settings).await
    }

    /// Logs in; under SSLMODE `prefer` a failed handshake, or a server that wants no TLS from us, is
    /// followed by a try without.
    async fn log_in(
        &self,
        address: Option<IpAddr>,
        options: Option<&str>,
    ) -> Result<Login, tokio_postgres::Error> {
        let insistence = match self.endpoint.host {
            // The server knows no TLS on a Unix socket.
            Host::Socket(_) => Insistence::Disable,
            Host::Network(_) => self.connector.tls.insistence(),
        };
        let error = match self.log_in_with(insistence, address, options).await {
            Ok(login) => return Ok(login),
            Err(error) => error,
        };
        let refused = error.code() == Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION);
        if insistence == Insistence::Prefer && (refused || is_handshake_failure(&error)) {
            return self
                .log_in_with(Insistence::Disable, address, options)
                .await;
        }
        Err(error)
    }

    async fn log_in_with(
        &self,
        insistence: Insistence,
        address: Option<IpAddr>,
        options: Option<&str>,
    ) -> Result<Login, tokio_postgres::Error> {
        let mut config = self.wire_config(address);
        config.ssl_mode(insistence);
        if let Some(options) = options {
            config.options(options);
        }
        let tls = self.connector.tls.connector();
        let (client, connection) = config.connect(tls).await?;
        let farewell = Arc::new(Farewell::new());
        let (driver, notifications) = Driver::spawn(connection, Arc::clone(&farewell));
        Ok(Login {
            client,
            notifications,
            farewell,
            driver,
        })
    }

    fn wire_config(&self, address: Option<IpAddr>) -> Config {
        let mut config = Config::new();
        match &self.endpoint.host {
            Host::Network(name) => config.host(name),
            Host::Socket(directory) => config.host_path(directory),
        };
        if let Some(address) = address {
            config.hostaddr(address);
        }
        config
            .port(self.endpoint.port)
            .dbname(&self.connector.dbname)
            .user(self.user)
            .application_name(self.app)
            .keepalives_idle(startup::KEEPALIVE_IDLE)
            .keepalives_interval(startup::KEEPALIVE_INTERVAL)
            .keepalives_retries(startup::KEEPALIVE_COUNT)
            .tcp_user_timeout(startup::USER_TIMEOUT);
        if let Some(password) = &self.connector.password {
            config.password(password.expose_secret());
        }
        config
    }

    /// Finds out with whom the session is, and makes up for start-up options that got lost.
    async fn look_around(
        &self,
        login: Login,
        settings: &[(String, String)],
    ) -> Result<Session, ConnectError> {
        let failed = |error| ConnectError::new(self.place(), error);
        // The simple protocol leaves no prepared statement behind, which a proxy might mix up.
        let question = format!(
            "SELECT pg_catalog.pg_is_in_recovery(), pg_catalog.pg_backend_pid(), \
             pg_catalog.current_setting('{}', true)",
            startup::MARK.0
        );
        let answer = login.client.simple_query(&question).await.map_err(failed)?;
        let row = answer.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        let column = |index| row.and_then(|row| row.get(index));
        let session = Session {
            client: login.client,
            notifications: login.notifications,
            farewell: login.farewell,
            startup_settings_honoured: column(2) == Some(startup::MARK.1),
            backend_pid: column(1).and_then(|pid| pid.parse().ok()).unwrap_or(0),
            host: self.endpoint.to_string(),
            driver: login.driver,
        };
        if column(0) != Some("f") {
            session.close().await;
            return Err(ConnectError::Standby { host: self.place() });
        }
        if !session.startup_settings_honoured {
            let statement = startup::set_statement(settings);
            session
                .client
                .batch_execute(&statement)
                .await
                .map_err(failed)?;
        }
        Ok(session)
    }

    fn place(&self) -> Place {
        Place {
            host: self.endpoint.to_string(),
            database: self.connector.dbname.clone(),
            user: self.user.to_owned(),
        }
    }

    fn unreachable(&self, source: io::Error) -> ConnectError {
        ConnectError::Unreachable {
            target: self.place(),
            source,
        }
    }
}

fn is_handshake_failure(error: &tokio_postgres::Error) -> bool {
    match std::error::Error::source(error) {
        Some(cause) => cause.is::<native_tls::Error>(),
        None => false,
    }
}
