//! From the host of a URL to the addresses that are connected to: resolved once, checked, and pinned.

use super::guard::{Reach, reach};
use super::target::Target;
use crate::transport::Failure;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use shared::failure::{Evidence, Network, Unsendable};
use std::future::{Future, ready};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Instant;
use tokio::time::timeout_at;

/// Resolves names.
pub trait Resolver: Sync {
    /// The addresses of `host`.
    fn resolve(&self, host: &str) -> impl Future<Output = io::Result<Vec<IpAddr>>> + Send;
}

/// The resolver of this host.
#[derive(Debug, Clone, Copy)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let addresses = tokio::net::lookup_host((host, 0)).await?;
        Ok(addresses.map(|address| address.ip()).collect())
    }
}

/// Answers every question with the addresses that were checked, so that no second answer of a name server can matter.
pub(super) struct Pinned(pub(super) Vec<SocketAddr>);

impl Resolve for Pinned {
    fn resolve(&self, _: Name) -> Resolving {
        let addresses: Addrs = Box::new(self.0.clone().into_iter());
        Box::pin(ready(Ok(addresses)))
    }
}

/// The addresses of `target`, every one of which it may reach.
///
/// One forbidden address is enough to refuse the host: public and private answers side by side are the mark of a name that is made to deceive, or of
/// a split DNS in which chance would decide where a notification goes.
pub(super) async fn checked(
    resolver: &impl Resolver,
    target: &Target,
    deadline: Instant,
) -> Result<Vec<SocketAddr>, Failure> {
    let addresses = match target.literal_address() {
        Some(address) => vec![address],
        None => look_up(resolver, target, deadline).await?,
    };
    for address in &addresses {
        let kind = match reach(*address) {
            Reach::Public => continue,
            Reach::Private(_) if target.allow_private_network => continue,
            Reach::Private(kind) => format!("{kind}, which needs allow_private_network"),
            Reach::Never(kind) => format!("{kind}, which no webhook may reach"),
        };
        return Err(refused(target, *address, &kind));
    }
    let port = target.port();
    Ok(addresses
        .into_iter()
        .map(|address| SocketAddr::new(address, port))
        .collect())
}

async fn look_up(
    resolver: &impl Resolver,
    target: &Target,
    deadline: Instant,
) -> Result<Vec<IpAddr>, Failure> {
    let host = target.url.host_str().unwrap_or_default();
    let failure = |network, cause: &str| {
        let text = format!("host of {} not resolved: {cause}", target.shown);
        Failure::new(Evidence::Network(network), text.clone(), text)
    };
    match timeout_at(deadline.into(), resolver.resolve(host)).await {
        Ok(Ok(addresses)) if addresses.is_empty() => {
            Err(failure(Network::Dns, "it has no address"))
        }
        Ok(Ok(addresses)) => Ok(addresses),
        Ok(Err(error)) => Err(failure(Network::Dns, &error.to_string())),
        Err(_) => Err(failure(
            Network::Timeout,
            "the time for the attempt is over",
        )),
    }
}

fn refused(target: &Target, address: IpAddr, kind: &str) -> Failure {
    let summary = format!("an address of {} is {kind}", target.shown);
    let detail = if target.is_secret {
        summary.clone()
    } else {
        format!("address {address} of {} is {kind}", target.shown)
    };
    Failure::unsendable(Unsendable::Address, summary, detail)
}
