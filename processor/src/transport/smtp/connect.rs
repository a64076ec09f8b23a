//! Opening the connection.

use super::plan::Plan;
use shared::failure::Network;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, timeout_at};

/// Connects to the first of the host's addresses that answers. Each gets its share of the time that is left, so that one which swallows everything does not
/// keep the next from being tried.
pub(super) async fn connect(plan: &Plan, deadline: Instant) -> Result<TcpStream, Network> {
    let addresses = resolve(plan, deadline).await?;
    let mut last = Network::Dns;
    for (tried, address) in addresses.iter().enumerate() {
        let left = u32::try_from(addresses.len() - tried).unwrap_or(u32::MAX);
        let share = deadline.saturating_duration_since(Instant::now()) / left;
        match timeout_at(Instant::now() + share, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                // Replies are waited for, so nothing is gained from waiting for more to send.
                stream.set_nodelay(true).ok();
                return Ok(stream);
            }
            Ok(Err(error)) if error.kind() == ErrorKind::ConnectionRefused => {
                last = Network::Refused;
            }
            Ok(Err(_)) => last = Network::Unreachable,
            Err(_) => last = Network::Timeout,
        }
    }
    Err(last)
}

async fn resolve(plan: &Plan, deadline: Instant) -> Result<Vec<SocketAddr>, Network> {
    if let Ok(address) = plan.host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, plan.port)]);
    }
    match timeout_at(deadline, lookup_host((plan.host.as_str(), plan.port))).await {
        Ok(Ok(addresses)) => Ok(addresses.collect()),
        Ok(Err(_)) => Err(Network::Dns),
        Err(_) => Err(Network::Timeout),
    }
}

/// What we call ourselves: the profile's name, else that of this host if it is a whole one, else the address we speak from. Servers refuse `localhost` and
/// names without a dot (Postfix: reject_non_fqdn_helo_hostname), and no address literal.
pub(super) fn helo_name(plan: &Plan, own: Option<IpAddr>) -> String {
    if let Some(name) = &plan.helo_name {
        return name.clone();
    }
    let host = nix::unistd::gethostname()
        .ok()
        .and_then(|name| name.into_string().ok());
    match host.and_then(|name| whole_name(&name)) {
        Some(name) => name,
        None => literal(own.unwrap_or(IpAddr::from([127, 0, 0, 1]))),
    }
}

/// `name` as a domain of more than one label that is not made up.
fn whole_name(name: &str) -> Option<String> {
    let name = super::super::mail::ascii_domain(name)?;
    let is_made_up = name.ends_with(".localhost") || name.ends_with(".localdomain");
    (name.contains('.') && !is_made_up && name.parse::<IpAddr>().is_err()).then_some(name)
}

/// RFC 5321, 4.1.3.
fn literal(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => format!("[{address}]"),
        IpAddr::V6(address) => format!("[IPv6:{address}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::{literal, whole_name};

    #[test]
    fn only_a_whole_name_of_somebodys_domain_is_used() {
        assert_eq!(
            whole_name("Mail.Example.org").as_deref(),
            Some("mail.example.org")
        );
        for name in [
            "localhost",
            "db1",
            "localhost.localdomain",
            "x.localhost",
            "a_b.example.org",
            "192.0.2.1",
            "",
        ] {
            assert_eq!(whole_name(name), None, "{name:?}");
        }
    }

    #[test]
    fn an_address_is_written_as_a_literal() {
        for (address, expected) in [
            ("192.0.2.1", "[192.0.2.1]"),
            ("::ffff:192.0.2.1", "[192.0.2.1]"),
            ("2001:db8::1", "[IPv6:2001:db8::1]"),
        ] {
            assert_eq!(literal(address.parse().unwrap()), expected);
        }
    }
}
