//! The places a server may be at.

use std::fmt;
use std::path::PathBuf;

/// One host and port of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Endpoint {
    pub(super) host: Host,
    pub(super) port: u16,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Host {
    /// A name or an address.
    Network(String),
    /// The directory of a Unix socket.
    Socket(PathBuf),
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Network(name) if name.contains(':') => write!(f, "[{name}]:{}", self.port),
            Host::Network(name) => write!(f, "{name}:{}", self.port),
            Host::Socket(directory) => {
                write!(
                    f,
                    "{}",
                    directory.join(format!(".s.PGSQL.{}", self.port)).display()
                )
            }
        }
    }
}

/// Pairs hosts with ports: one port for all hosts, or one per host.
pub(super) fn endpoints(hosts: &[String], ports: &[u16]) -> Result<Vec<Endpoint>, String> {
    if hosts.is_empty() || ports.is_empty() || (ports.len() > 1 && ports.len() != hosts.len()) {
        return Err(format!(
            "{} ports for {} hosts; give one port for all hosts, or one per host",
            ports.len(),
            hosts.len()
        ));
    }
    let ports = ports.iter().copied().cycle();
    let paired = hosts.iter().zip(ports).map(|(host, port)| Endpoint {
        host: if host.starts_with('/') {
            Host::Socket(PathBuf::from(host))
        } else {
            Host::Network(host.clone())
        },
        port,
    });
    Ok(paired.collect())
}

/// The operating system account this process runs as, which is the default user name.
pub(super) fn account() -> Result<String, String> {
    let uid = nix::unistd::geteuid();
    match nix::unistd::User::from_uid(uid) {
        Ok(Some(user)) => Ok(user.name),
        Ok(None) => Err(format!(
            "no user is configured, and uid {uid} has no account"
        )),
        Err(error) => Err(format!(
            "no user is configured, and the account of uid {uid} cannot be looked up: {error}"
        )),
    }
}
