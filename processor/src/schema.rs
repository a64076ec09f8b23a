//! The SQL this binary carries, and bringing a database to it.

mod auto_mv;
pub mod bundle;
mod error;
mod extension;
mod install;
mod notifier;
mod pepsi;
mod pgrelay;
mod state;
mod upgrade;
mod version;

pub use auto_mv::AUTO_MV;
pub use bundle::{Bundle, Data, GroupRole, Script, Upgrade};
pub use error::{SchemaError, installed_version};
pub use extension::write_extension;
pub use install::{Installed, install};
pub use notifier::NOTIFIER;
pub use pepsi::PEPSI;
pub use pgrelay::PGRELAY;
pub use state::{State, oldest_processor, read as read_state};
pub use upgrade::{Patience, Upgraded, upgrade};
pub use version::Version;

use crate::cli::{Companion, InstallArgs};
use crate::oneshot::{self, Report};
use shared::db::connect::Connector;
use shared::shutdown::Shutdown;

/// `install`.
pub async fn install_command(
    connector: &Connector,
    args: &InstallArgs,
) -> Result<Report, SchemaError> {
    let mut bundles = vec![&PGRELAY];
    for &companion in &args.with {
        let bundle = companion_bundle(companion);
        if !bundles.iter().any(|other| other.name == bundle.name) {
            bundles.push(bundle);
        }
    }
    if args.as_extension.is_none() {
        install::foresee(connector, &bundles).await?;
    }
    let mut text = String::new();
    for bundle in bundles {
        if let Some(directory) = &args.as_extension {
            for path in write_extension(bundle, directory)? {
                text += &path.display().to_string();
                text.push('\n');
            }
        } else if args.dry_run {
            text += &install::dry_run(connector, bundle).await?;
        } else {
            let outcome = install(connector, bundle).await?;
            text += &outcome.describe(bundle, connector);
        }
    }
    Ok(Report::done(text))
}

/// `upgrade`: the queue, and after it every companion of this binary that is installed.
pub async fn upgrade_command(connector: &Connector, dry_run: bool) -> Result<Report, SchemaError> {
    let mut bundles = vec![&PGRELAY];
    bundles.extend(installed_companions(connector).await?);
    let mut text = String::new();
    if dry_run {
        for bundle in bundles {
            text += &upgrade::dry_run(connector, bundle).await?;
        }
        return Ok(Report::done(text));
    }
    let stop = Shutdown::install().map_err(SchemaError::Signals)?.token;
    for bundle in bundles {
        let outcome = upgrade(connector, bundle, Patience::default(), &stop).await?;
        text += &outcome.describe(bundle, connector);
    }
    Ok(Report::done(text))
}

/// The companions whose SQL this binary carries.
const COMPANIONS: [&Bundle; 3] = [&NOTIFIER, &AUTO_MV, &PEPSI];

/// Those of them that are there in some form; one that cannot be read is for the upgrade to complain about.
async fn installed_companions(connector: &Connector) -> Result<Vec<&'static Bundle>, SchemaError> {
    let session = oneshot::open(connector, "pg-relay-processor upgrade").await?;
    let mut installed = Vec::new();
    for bundle in COMPANIONS {
        match read_state(&session.client, bundle).await? {
            State::Absent => {}
            // A mail queue that somebody else made, which is none of ours to change.
            State::Foreign if bundle.name == PEPSI.name => {}
            State::Foreign | State::Hidden | State::Installed { .. } => installed.push(bundle),
        }
    }
    session.close().await;
    Ok(installed)
}

/// The SQL of a companion.
const fn companion_bundle(companion: Companion) -> &'static Bundle {
    match companion {
        Companion::Notifier => &NOTIFIER,
        Companion::AutoMv => &AUTO_MV,
        Companion::Pepsi => &PEPSI,
    }
}
