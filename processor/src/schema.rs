//! The SQL this binary carries, and bringing a database to it.

mod auto_mv;
pub mod bundle;
mod error;
mod extension;
mod install;
mod pgrelay;
mod state;
mod upgrade;
mod version;

pub use auto_mv::AUTO_MV;
pub use bundle::{Bundle, Data, GroupRole, Script, Upgrade};
pub use error::{SchemaError, installed_version};
pub use extension::write_extension;
pub use install::{Installed, install};
pub use pgrelay::PGRELAY;
pub use state::{State, oldest_processor, read as read_state};
pub use upgrade::{Patience, Upgraded, upgrade};
pub use version::Version;

use crate::cli::{Companion, InstallArgs};
use crate::oneshot::Report;
use shared::db::connect::Connector;
use shared::shutdown::Shutdown;

/// `install`.
pub async fn install_command(
    connector: &Connector,
    args: &InstallArgs,
) -> Result<Report, SchemaError> {
    let mut bundles = vec![&PGRELAY];
    for &companion in &args.with {
        let bundle = companion_bundle(companion)?;
        if !bundles.iter().any(|other| other.name == bundle.name) {
            bundles.push(bundle);
        }
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

/// `upgrade`.
pub async fn upgrade_command(connector: &Connector, dry_run: bool) -> Result<Report, SchemaError> {
    if dry_run {
        return Ok(Report::done(upgrade::dry_run(connector, &PGRELAY).await?));
    }
    let stop = Shutdown::install().map_err(SchemaError::Signals)?.token;
    let outcome = upgrade(connector, &PGRELAY, Patience::default(), &stop).await?;
    Ok(Report::done(outcome.describe(&PGRELAY, connector)))
}

/// The SQL of a companion, once this release carries it.
fn companion_bundle(companion: Companion) -> Result<&'static Bundle, SchemaError> {
    match companion {
        Companion::AutoMv => Ok(&AUTO_MV),
        Companion::Notifier | Companion::Pepsi => Err(SchemaError::NotInRelease {
            companion: companion.as_str(),
        }),
    }
}
