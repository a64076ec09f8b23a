//! Where a server is and how its superuser gets in.

use std::fmt::Write as _;
use std::future::poll_fn;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio_postgres::config::Host;
use tokio_postgres::{AsyncMessage, Client, Config, NoTls};

use crate::database::describe;

const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// Host, port and superuser of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    host: String,
    port: u16,
    user: String,
    password: Option<String>,
}

impl Endpoint {
    pub(super) fn local(port: u16) -> Self {
        Self {
            host: "127.0.0.1".to_owned(),
            port,
            user: "postgres".to_owned(),
            password: None,
        }
    }

    /// Reads a `postgres://` URL. Its database is ignored: each test makes its own.
    pub(super) fn parse(url: &str) -> Result<Self, String> {
        let config: Config = url.parse().map_err(|error| format!("{error}"))?;
        let host = match config.get_hosts() {
            [Host::Tcp(name)] => name.clone(),
            [Host::Unix(directory)] => directory.display().to_string(),
            hosts => return Err(format!("expected one host, found {}", hosts.len())),
        };
        let password = config
            .get_password()
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        Ok(Self {
            host,
            port: config.get_ports().first().copied().unwrap_or(5432),
            user: config.get_user().unwrap_or("postgres").to_owned(),
            password,
        })
    }

    /// A host name, an address, or the directory of a socket.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The TCP port, which also is part of the socket's name.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The superuser, unless changed with [`Endpoint::as_user`].
    #[must_use]
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The password; servers which the tests start need none.
    #[must_use]
    pub fn password(&self) -> Option<&str> {
        self.password.as_deref()
    }

    /// The same server for another login, without a password.
    #[must_use]
    pub fn as_user(&self, user: &str) -> Self {
        Self {
            user: user.to_owned(),
            password: None,
            ..self.clone()
        }
    }

    /// `postgres://user@host:port/database`.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        let password = self
            .password
            .as_ref()
            .map_or(String::new(), |text| format!(":{}", escape(text)));
        let (user, host) = (escape(&self.user), escape(&self.host));
        format!(
            "postgres://{user}{password}@{host}:{}/{}",
            self.port,
            escape(database)
        )
    }

    fn config(&self, database: &str) -> Config {
        let mut config = Config::new();
        config
            .host(&self.host)
            .port(self.port)
            .user(&self.user)
            .dbname(database);
        config
            .application_name("fleet-tests")
            .connect_timeout(CONNECT_LIMIT);
        if let Some(password) = &self.password {
            config.password(password);
        }
        config
    }

    /// Runs statements on a connection of their own and gives the messages of the warnings that came with them.
    ///
    /// # Panics
    /// When the server refuses, or a statement fails.
    pub async fn warnings(&self, database: &str, sql: &str) -> Vec<String> {
        let connected = self.config(database).connect(NoTls).await;
        let (client, mut connection) = connected.expect("connecting");
        let reading = tokio::spawn(async move {
            let mut warnings = Vec::new();
            while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
                if let Ok(AsyncMessage::Notice(notice)) = message
                    && notice.severity() == "WARNING"
                {
                    warnings.push(notice.message().to_owned());
                }
            }
            warnings
        });
        let result = client.batch_execute(sql).await;
        result.unwrap_or_else(|error| panic!("{sql}\n{}", describe(&error)));
        drop(client);
        reading.await.expect("reading the connection")
    }

    /// Connects, or says why that failed.
    pub async fn try_connect(&self, database: &str) -> Result<Client, String> {
        let config = self.config(database);
        let connecting = tokio::time::timeout(CONNECT_LIMIT, config.connect(NoTls));
        let (client, connection) = connecting
            .await
            .map_err(|_| format!("no answer within {CONNECT_LIMIT:?}"))?
            .map_err(|error| describe(&error))?;
        // Ends by itself when the client is dropped; an error shows up at the client's next call.
        tokio::spawn(connection);
        Ok(client)
    }

    /// Connects.
    ///
    /// # Panics
    /// When the server refuses or does not answer.
    pub async fn connect(&self, database: &str) -> Client {
        let connected = self.try_connect(database).await;
        connected.unwrap_or_else(|error| {
            // Without the password: this ends up in logs.
            let place = self.as_user(&self.user).url(database);
            panic!("connecting to {place}: {error}")
        })
    }
}

/// Percent-encodes all but the characters that are safe in every part of a URL.
fn escape(text: &str) -> String {
    text.bytes().fold(String::new(), |mut escaped, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                escaped.push(char::from(byte));
            }
            _ => {
                let _ = write!(escaped, "%{byte:02X}");
            }
        }
        escaped
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_survives_being_parsed_and_written() {
        for url in [
            "postgres://me:a%40b@db.example:5433/x",
            "postgres://me@%2Frun%2Fpg:5432/x",
        ] {
            let endpoint = Endpoint::parse(url).unwrap();
            assert_eq!(endpoint.url("x"), url);
        }
    }
}
