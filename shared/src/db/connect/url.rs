//! Reading a connection URL or a libpq `key=value` string.

use crate::config::{ConfigError, SslMode};
use secrecy::SecretString;
use std::path::PathBuf;
use std::time::Duration;
use tokio_postgres::config::Host;

/// What the text says; what it does not say is left open.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) hosts: Vec<String>,
    pub(super) ports: Vec<u16>,
    pub(super) dbname: Option<String>,
    pub(super) user: Option<String>,
    pub(super) password: Option<SecretString>,
    pub(super) options: Option<String>,
    pub(super) sslmode: Option<SslMode>,
    pub(super) sslrootcert: Option<PathBuf>,
    pub(super) limit: Option<Duration>,
}

/// Reads `text`. No message repeats it: it may hold a password.
pub(super) fn parse(text: &str) -> Result<Parsed, ConfigError> {
    let (rest, tls) = if text.contains("://") {
        split_url(text)
    } else {
        split_words(text)
    };
    let config: tokio_postgres::Config = rest.parse().map_err(|_| {
        wrong("not a connection string; expected postgres://user@host:port/dbname or libpq's \"host=… dbname=…\"")
    })?;
    let sslmode = match tls.mode {
        None => None,
        Some(name) => Some(SslMode::from_name(&name).ok_or_else(|| {
            wrong("sslmode must be one of disable, prefer, require, verify-ca, verify-full")
        })?),
    };
    let mut hosts: Vec<String> = config.get_hosts().iter().map(host_name).collect();
    if hosts.is_empty() {
        hosts.extend(config.get_hostaddrs().iter().map(ToString::to_string));
    }
    if hosts.is_empty() {
        hosts.push(crate::config::DEFAULT_SOCKET_DIRECTORY.to_owned());
    }
    let mut ports = config.get_ports().to_vec();
    if ports.is_empty() {
        ports.push(crate::config::DEFAULT_PORT);
    }
    let password = match config.get_password().map(std::str::from_utf8) {
        None => None,
        Some(Ok(password)) => Some(SecretString::from(password)),
        Some(Err(_)) => return Err(wrong("the password is not valid UTF-8")),
    };
    Ok(Parsed {
        hosts,
        ports,
        dbname: config.get_dbname().map(str::to_owned),
        user: config.get_user().map(str::to_owned),
        password,
        options: config.get_options().map(str::to_owned),
        sslmode,
        sslrootcert: tls.root.map(PathBuf::from),
        limit: config.get_connect_timeout().copied(),
    })
}

fn wrong(detail: &str) -> ConfigError {
    ConfigError::option("--database", detail)
}

fn host_name(host: &Host) -> String {
    match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(directory) => directory.display().to_string(),
    }
}

/// The two parameters that tokio-postgres does not know, or not all values of.
#[derive(Debug, Default)]
struct TlsParameters {
    mode: Option<String>,
    root: Option<String>,
}

impl TlsParameters {
    /// Whether the parameter was one of ours.
    fn take(&mut self, name: &str, value: &str) -> bool {
        match name {
            "sslmode" => self.mode = Some(value.to_owned()),
            "sslrootcert" => self.root = Some(value.to_owned()),
            _ => return false,
        }
        true
    }
}

fn split_url(text: &str) -> (String, TlsParameters) {
    let mut tls = TlsParameters::default();
    let Some((before, query)) = text.split_once('?') else {
        return (text.to_owned(), tls);
    };
    let others: Vec<&str> = query
        .split('&')
        .filter(|parameter| {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            !tls.take(name, &percent_decoded(value))
        })
        .collect();
    let rest = if others.is_empty() {
        before.to_owned()
    } else {
        format!("{before}?{}", others.join("&"))
    };
    (rest, tls)
}

fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = text
            .get(at + 1..at + 3)
            .filter(|_| bytes[at] == b'%')
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        decoded.push(code.unwrap_or(bytes[at]));
        at += if code.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

/// Splits at white space outside of quotes, keeping each word as written.
fn split_words(text: &str) -> (String, TlsParameters) {
    let mut words = vec![String::new()];
    let (mut quoted, mut escaped) = (false, false);
    for c in text.chars() {
        if c.is_whitespace() && !quoted && !escaped {
            words.push(String::new());
            continue;
        }
        quoted ^= c == '\'' && !escaped;
        escaped = c == '\\' && !escaped;
        if let Some(word) = words.last_mut() {
            word.push(c);
        }
    }
    let mut tls = TlsParameters::default();
    words.retain(|word| match word.split_once('=') {
        Some((name, value)) => !tls.take(name, value.trim_matches('\'')),
        None => true,
    });
    (words.join(" "), tls)
}

#[cfg(test)]
mod tests {
    use super::parse;
    use crate::config::SslMode;
    use secrecy::ExposeSecret;
    use std::path::Path;
    use std::time::Duration;

    #[test]
    fn a_url_is_read_in_full() {
        let parsed = parse(
            "postgres://relay:s%40fe@db1:5433,db2:5434/pepsi?sslmode=verify-ca&connect_timeout=3&sslrootcert=%2Fetc%2Fca.pem",
        )
        .unwrap();
        assert_eq!(parsed.hosts, ["db1", "db2"]);
        assert_eq!(parsed.ports, [5433, 5434]);
        assert_eq!(parsed.user.as_deref(), Some("relay"));
        assert_eq!(parsed.dbname.as_deref(), Some("pepsi"));
        assert_eq!(parsed.password.unwrap().expose_secret(), "s@fe");
        assert_eq!(parsed.sslmode, Some(SslMode::VerifyCa));
        assert_eq!(
            parsed.sslrootcert.as_deref(),
            Some(Path::new("/etc/ca.pem"))
        );
        assert_eq!(parsed.limit, Some(Duration::from_secs(3)));
    }

    #[test]
    fn key_value_pairs_are_read_with_quotes() {
        let parsed = parse(
            "host=/tmp  port=5444 user=relay password='a b' sslmode='disable' options='-c jit=off' dbname=x",
        )
        .unwrap();
        assert_eq!(parsed.hosts, ["/tmp"]);
        assert_eq!(parsed.password.unwrap().expose_secret(), "a b");
        assert_eq!(parsed.options.as_deref(), Some("-c jit=off"));
        assert_eq!(parsed.sslmode, Some(SslMode::Disable));
    }

    #[test]
    fn what_is_not_said_has_the_defaults_of_the_section() {
        let parsed = parse("dbname=pepsi").unwrap();
        assert_eq!(parsed.hosts, ["/var/run/postgresql"]);
        assert_eq!(parsed.ports, [5432]);
        assert_eq!(parsed.sslmode, None);
    }

    #[test]
    fn nonsense_is_refused_without_being_repeated() {
        for text in [
            "postgres://relay:swordfish@db:port/x",
            "password=swordfish flavour=sweet",
            "postgres://relay:swordfish@db/x?sslmode=allow",
        ] {
            let message = parse(text).expect_err(text).to_string();
            assert!(message.starts_with("--database: "), "{message}");
            assert!(!message.contains("swordfish"), "{message}");
        }
    }
}
