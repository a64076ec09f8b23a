//! The checks at start and after every reload: what would keep a Processor from working, or part of
//! its work from being done.

mod channels;
mod grants;
mod notifier;
pub mod secrets;
mod server;
mod version;

pub use shared::finding::{Finding, Severity, any_blocks};

use crate::engine::notify::interface::Interface;
use crate::oneshot::{self, DatabaseError, Report};
use crate::schema::{PGRELAY, State, read_state};
use shared::db::connect::Connector;
use shared::finding;

const APP: &str = "pg-relay-processor preflight";

/// What the checks saw.
#[derive(Debug)]
pub struct Seen {
    /// What a person should know, the blocking ones first.
    pub findings: Vec<Finding>,
    /// The notifier; `None` where something blocks, and nobody looked.
    pub notifier: Option<Interface>,
}

/// Looks at the database through sessions of its own. An error says that the looking itself failed,
/// mostly because there is no database; what is wrong in the database is a finding.
pub async fn run(connector: &Connector) -> Result<Seen, DatabaseError> {
    let session = oneshot::open(connector, APP).await?;
    // First, and with nothing but plain statements: behind such a pooler no other answer counts.
    if let Some(finding) = server::pooler(connector, &session).await? {
        return Ok(Seen {
            findings: vec![finding],
            notifier: None,
        });
    }
    let client = &session.client;
    let whereabouts = oneshot::whereabouts(client).await?;
    let mut findings = server::encoding_and_role(client, &whereabouts).await?;
    let mut notifier = None;
    match read_state(client, &PGRELAY).await? {
        State::Hidden => findings.push(grants::no_usage(client, &whereabouts).await?),
        state => {
            findings.extend(version::judge(client, state, &whereabouts).await?);
            if !any_blocks(&findings) {
                findings.extend(grants::missing(client, &whereabouts).await?);
            }
            if !any_blocks(&findings) {
                let interface = notifier::look(connector).await?;
                findings.extend(notifier::findings(&interface));
                notifier = Some(interface);
                findings.extend(channels::try_actions(connector, client).await?);
            }
        }
    }
    session.close().await;
    // What a person must act on comes first.
    findings.sort_by_key(|finding| finding.severity);
    Ok(Seen { findings, notifier })
}

/// `check`, with what was found on this host.
pub async fn check(
    connector: &Connector,
    json: bool,
    host: Option<Finding>,
) -> Result<Report, DatabaseError> {
    let mut findings = run(connector).await?.findings;
    findings.extend(host);
    Ok(finding::report(&findings, json))
}
