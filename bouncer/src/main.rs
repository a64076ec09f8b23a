//! pepsi-failure-bouncer: reads command line and configuration, becomes the service account, does what they say and turns the end of it
//! into an exit code.

use pepsi_failure_bouncer::cli::{self, Cli, Mode};
use pepsi_failure_bouncer::config::BouncerConfig;
use pepsi_failure_bouncer::ingress::Bounce;
use pepsi_failure_bouncer::report::BounceError;
use pepsi_failure_bouncer::service::{self, Reload, Sections};
use pepsi_failure_bouncer::{PROGRAM, once, privilege};
use shared::config::{ConfigError, Document, PostgresConfig};
use shared::db::connect::Connector;
use shared::exit::Exit;
use shared::logging::LogHandle;
use shared::oneshot::{Report, complain};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match cli::parse() {
        Ok(cli) => cli,
        Err(exit) => return exit.into(),
    };
    // The panic hook has written what happened; the exit code tells systemd that it was a defect.
    catch_unwind(AssertUnwindSafe(|| start(&cli)))
        .unwrap_or(Exit::Bug)
        .into()
}

fn start(cli: &Cli) -> Exit {
    // Everything that only root may read is read now.
    let settings = match Settings::load(cli) {
        Ok(settings) => settings,
        Err(error) => {
            eprintln!("{PROGRAM}: {error}");
            return Exit::Config;
        }
    };
    let config = &settings.sections.bouncer;
    let dropped = match privilege::drop_to(&config.user) {
        Ok(dropped) => dropped,
        Err(error) => {
            eprintln!("{PROGRAM}: {error}");
            return Exit::PrivilegeDrop;
        }
    };
    let log = match shared::logging::init(config.log_level, config.log_format) {
        Ok(log) => log,
        Err(error) => {
            eprintln!("{PROGRAM}: logging cannot be set up: {error}");
            return Exit::Bug;
        }
    };
    for warning in &settings.warnings {
        tracing::warn!("{warning}");
    }
    if dropped {
        tracing::debug!("started as root, continuing as {}", config.user);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    match runtime {
        Ok(runtime) => {
            let exit = runtime.block_on(dispatch(cli, settings, log));
            // Not dropped: that would wait for a look-up of a name, which nothing can break off.
            runtime.shutdown_background();
            exit
        }
        Err(error) => {
            eprintln!("{PROGRAM}: the runtime cannot be started: {error}");
            Exit::Bug
        }
    }
}

async fn dispatch(cli: &Cli, settings: Settings, log: LogHandle) -> Exit {
    let Settings {
        sections,
        bounce,
        connector,
        ..
    } = settings;
    match cli.mode() {
        Mode::Service => {
            let interval = sections.bouncer.sweep_interval.duration();
            let reload = reload(cli.config_path(), sections, log);
            service::run(bounce, interval, connector, reload).await
        }
        Mode::Once => finish(once::sweep(&connector, &bounce, false, cli.json).await),
        Mode::DryRun => finish(once::sweep(&connector, &bounce, true, cli.json).await),
        Mode::Check => finish(once::check(&connector, &bounce, cli.json).await),
    }
}

/// How the configuration is read again on SIGHUP.
fn reload(path: &Path, running: Sections, log: LogHandle) -> Reload {
    let path = path.to_owned();
    Reload {
        load: Box::new(move || sections_of(&Document::load(&path)?)),
        running,
        log,
    }
}

fn finish(result: Result<Report, BounceError>) -> Exit {
    let report = match result {
        Ok(report) => report,
        Err(error) => return complain(PROGRAM, &error),
    };
    match report.print() {
        Ok(()) => report.exit,
        Err(error) => {
            eprintln!("{PROGRAM}: standard output cannot be written: {error}");
            Exit::Bug
        }
    }
}

/// What command line and configuration file come to.
struct Settings {
    sections: Sections,
    bounce: Bounce,
    connector: Connector,
    warnings: Vec<String>,
}

impl Settings {
    fn load(cli: &Cli) -> Result<Self, ConfigError> {
        let document = Document::load(cli.config_path())?;
        let sections = sections_of(&document)?;
        let bounce = Bounce {
            stage: sections.bouncer.stage(document.path())?.to_owned(),
            states: cli.states(),
        };
        let connector =
            Connector::new(&sections.postgres).map_err(|error| document.locate(error))?;
        Ok(Self {
            sections,
            bounce,
            connector,
            warnings: document.warnings().to_vec(),
        })
    }
}

fn sections_of(document: &Document) -> Result<Sections, ConfigError> {
    Ok(Sections {
        bouncer: document.section(BouncerConfig::SECTION)?,
        postgres: document.section(PostgresConfig::SECTION)?,
    })
}
