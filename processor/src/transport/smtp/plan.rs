//! A profile of transport smtp, validated.

use super::super::document::{Fields, Malformed, Node, Text};
use super::super::mail::{Limits, Mailbox, ascii_domain};
use secrecy::SecretString;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// `max_message_bytes` where the profile has none.
const DEFAULT_BYTES: u64 = 26_214_400;
/// Longest `username` in characters and longest `ca_file` in octets.
const USERNAME_MAX: usize = 1000;
const PATH_MAX: usize = 4096;

/// What is done about eavesdroppers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Security {
    /// TLS that the dialogue begins with STARTTLS (RFC 3207), or no mail.
    StartTls,
    /// TLS from the first byte (RFC 8314, 3.3).
    Tls,
    /// Nothing.
    None,
}

/// How to prove who we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mechanism {
    /// RFC 4616.
    Plain,
    /// draft-murchison-sasl-login.
    Login,
    /// Google and Microsoft: an OAuth 2.0 access token.
    XOAuth2,
}

/// Who we are to the server.
pub(super) struct Login {
    pub(super) username: String,
    /// With XOAUTH2 the access token.
    pub(super) password: SecretString,
    pub(super) mechanism: Mechanism,
}

/// A profile. It has no `Debug`: it holds a secret.
pub(super) struct Plan {
    /// An IP address or a domain in ASCII.
    pub(super) host: String,
    /// The same, for whoever reads logs.
    pub(super) host_shown: String,
    pub(super) port: u16,
    pub(super) security: Security,
    pub(super) login: Option<Login>,
    pub(super) from: Mailbox,
    pub(super) helo_name: Option<String>,
    /// Certificates of authorities to trust in place of those of the system, in PEM.
    pub(super) ca_file: Option<CaFile>,
    /// Address of the envelope; empty for the null sender.
    pub(super) envelope_from: String,
    pub(super) partial_delivery: bool,
    pub(super) limits: Limits,
}

/// A path, and what may be shown of it.
pub(super) struct CaFile {
    pub(super) path: String,
    pub(super) shown: String,
}

impl Mechanism {
    /// Its name in SMTP.
    pub(super) const fn keyword(self) -> &'static str {
        match self {
            Self::Plain => "PLAIN",
            Self::Login => "LOGIN",
            Self::XOAuth2 => "XOAUTH2",
        }
    }
}

impl Plan {
    /// Reads a profile.
    pub(super) fn read(profile: &Fields<'_>) -> Result<Self, Malformed> {
        let securities = [
            ("starttls", Security::StartTls),
            ("tls", Security::Tls),
            ("none", Security::None),
        ];
        let security = profile.get("security");
        let security = security.map(|node| node.one_of(&securities)).transpose()?;
        let security = security.unwrap_or(Security::StartTls);
        let host = profile.required("host")?;
        let from = Mailbox::read(&profile.required("from")?)?;
        let helo_name = profile.get("helo_name");
        let ca_file = profile.get("ca_file");
        Ok(Self {
            host: host_of(&host)?,
            host_shown: host.line()?.shown().to_owned(),
            port: port(profile, security)?,
            security,
            login: login(profile)?,
            helo_name: helo_name.map(|node| helo_of(&node)).transpose()?,
            ca_file: ca_file.map(|node| ca_file_of(&node)).transpose()?,
            envelope_from: envelope_from(profile, &from)?,
            partial_delivery: profile.boolean("partial_delivery")?.unwrap_or(false),
            limits: Limits::read(profile, DEFAULT_BYTES)?,
            from,
        })
    }
}

fn port(profile: &Fields<'_>, security: Security) -> Result<u16, Malformed> {
    let Some(port) = profile.get("port") else {
        return Ok(match security {
            Security::StartTls => 587,
            Security::Tls => 465,
            Security::None => 25,
        });
    };
    let number = port.integer(1, u64::from(u16::MAX))?;
    u16::try_from(number).map_err(|_| port.malformed("expected a port"))
}

fn host_of(node: &Node<'_>) -> Result<String, Malformed> {
    let host = node.line()?.expose();
    if host.parse::<IpAddr>().is_ok() {
        return Ok(host.to_owned());
    }
    let name = host.strip_suffix('.').unwrap_or(host);
    // Names of hosts may hold underscores, in files of hosts and in networks of containers.
    let ascii = if name.is_ascii() {
        ascii_domain(&name.replace('_', "x")).map(|_| name.to_ascii_lowercase())
    } else {
        ascii_domain(name)
    };
    ascii.ok_or_else(|| {
        node.malformed("expected a host name or an IP address, without scheme and port")
    })
}

/// The argument of EHLO: a domain or an address literal (RFC 5321, 4.1.3).
fn helo_of(node: &Node<'_>) -> Result<String, Malformed> {
    let name = node.line()?.expose();
    let literal = name
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let helo = match literal {
        Some(literal) => {
            let is_address = match literal.strip_prefix("IPv6:") {
                Some(v6) => v6.parse::<Ipv6Addr>().is_ok(),
                None => literal.parse::<Ipv4Addr>().is_ok(),
            };
            is_address.then(|| name.to_owned())
        }
        None => ascii_domain(name),
    };
    helo.ok_or_else(|| {
        node.malformed("expected a domain name, or an address literal such as [192.0.2.1] or [IPv6:2001:db8::1]")
    })
}

fn login(profile: &Fields<'_>) -> Result<Option<Login>, Malformed> {
    let mechanisms = [
        ("plain", Mechanism::Plain),
        ("login", Mechanism::Login),
        ("xoauth2", Mechanism::XOAuth2),
    ];
    let mechanism = profile.get("auth");
    let mechanism = mechanism.map(|node| node.one_of(&mechanisms)).transpose()?;
    let mechanism = mechanism.unwrap_or(Mechanism::Plain);
    let username = profile.line("username")?.map(Text::expose);
    let password = profile
        .get("password")
        .map(|node| node.secret())
        .transpose()?;
    let (username, password) = match (username, password) {
        (Some(username), Some(password)) => (username, password.expose()),
        (None, None) => return Ok(None),
        (Some(_), None) => return Err(profile.malformed("password", "is required with username")),
        (None, Some(_)) => return Err(profile.malformed("username", "is required with password")),
    };
    if username.chars().count() > USERNAME_MAX {
        let problem = format!("expected a text of at most {USERNAME_MAX} characters");
        return Err(profile.malformed("username", problem));
    }
    let is_usable = match mechanism {
        // RFC 4616, 2: NUL separates.
        Mechanism::Plain | Mechanism::Login => !password.contains('\0'),
        // RFC 6750, 2.1.
        Mechanism::XOAuth2 => password.bytes().all(|byte| byte.is_ascii_graphic()),
    };
    if !is_usable {
        return Err(profile.malformed(
            "password",
            match mechanism {
                Mechanism::Plain | Mechanism::Login => {
                    "the variable must hold a password without NUL"
                }
                Mechanism::XOAuth2 => {
                    "the variable must hold an access token of printable ASCII without blanks"
                }
            },
        ));
    }
    Ok(Some(Login {
        username: username.to_owned(),
        password: password.into(),
        mechanism,
    }))
}

fn ca_file_of(node: &Node<'_>) -> Result<CaFile, Malformed> {
    let path = node.line()?;
    if !path.expose().starts_with('/') || path.expose().len() > PATH_MAX {
        return Err(node.malformed("expected an absolute path of a file on this host"));
    }
    Ok(CaFile {
        path: path.expose().to_owned(),
        shown: path.shown().to_owned(),
    })
}

fn envelope_from(profile: &Fields<'_>, from: &Mailbox) -> Result<String, Malformed> {
    match profile.get("envelope_from") {
        None => Ok(from.address()),
        // The null sender (RFC 5321, 4.5.5): nobody wants to hear of a failure.
        Some(node) if node.text()?.expose().is_empty() => Ok(String::new()),
        Some(node) => Ok(Mailbox::read_bare(&node)?.address()),
    }
}

#[cfg(test)]
mod tests;
