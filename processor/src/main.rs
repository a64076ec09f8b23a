//! pg-relay-processor: reads command line and configuration, does what they say and turns the end
//! of it into an exit code.

use clap::Parser;
use pg_relay_processor::cli::{Cli, Command};
use pg_relay_processor::config::ProcessorConfig;
use pg_relay_processor::oneshot::{Complaint, Report, complain};
use pg_relay_processor::run::{self, Reload};
use pg_relay_processor::{demo, preflight, schema, status};
use shared::config::{ConfigError, Document, PostgresConfig};
use shared::db::connect::Connector;
use shared::exit::Exit;
use shared::logging::LogHandle;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return say_usage(&error).into(),
    };
    // The panic hook has written what happened; the exit code tells systemd that it was a defect.
    catch_unwind(AssertUnwindSafe(|| start(&cli)))
        .unwrap_or(Exit::Bug)
        .into()
}

/// Also the way `--help` and `--version` come out.
fn say_usage(error: &clap::Error) -> Exit {
    // A reader that went away is no reason to end differently.
    error.print().unwrap_or_default();
    if error.use_stderr() {
        Exit::Usage
    } else {
        Exit::Drained
    }
}

fn start(cli: &Cli) -> Exit {
    let settings = match Settings::load(cli) {
        Ok(settings) => settings,
        Err(error) => {
            eprintln!("pg-relay-processor: {error}");
            return Exit::Config;
        }
    };
    let config = &settings.config;
    let log = match shared::logging::init(config.log_level, config.log_format) {
        Ok(log) => log,
        Err(error) => {
            eprintln!("pg-relay-processor: logging cannot be set up: {error}");
            return Exit::Bug;
        }
    };
    for warning in &settings.warnings {
        tracing::warn!("{warning}");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    match runtime {
        Ok(runtime) => runtime.block_on(dispatch(cli, settings, log)),
        Err(error) => {
            eprintln!("pg-relay-processor: the runtime cannot be started: {error}");
            Exit::Bug
        }
    }
}

async fn dispatch(cli: &Cli, settings: Settings, log: LogHandle) -> Exit {
    let Settings {
        config, connector, ..
    } = settings;
    match cli.command() {
        Command::Run => run::run(config, connector, Some(reload(cli, log))).await,
        Command::Check(args) => finish(preflight::check(&connector, args.json).await),
        Command::Install(args) => finish(schema::install_command(&connector, &args).await),
        Command::Upgrade(args) => finish(schema::upgrade_command(&connector, args.dry_run).await),
        Command::Status(args) => finish(status::status(&connector, args.json).await),
        Command::Demo(args) => {
            let given = cli.database.clone();
            demo::run(
                args.events,
                given.map(|url| demo::Target::given(url, connector)),
            )
            .await
        }
    }
}

/// How the configuration is read again on SIGHUP.
fn reload(cli: &Cli, log: LogHandle) -> Reload {
    let (path, must_exist) = (cli.config_path().to_owned(), must_exist(cli));
    Reload {
        load: Box::new(move || load_document(&path, must_exist)?.section(ProcessorConfig::SECTION)),
        log,
    }
}

fn finish<E: Complaint>(result: Result<Report, E>) -> Exit {
    let report = match result {
        Ok(report) => report,
        Err(error) => return complain(&error),
    };
    match report.print() {
        Ok(()) => report.exit,
        Err(error) => {
            eprintln!("pg-relay-processor: standard output cannot be written: {error}");
            Exit::Bug
        }
    }
}

/// What command line and configuration file come to.
struct Settings {
    config: ProcessorConfig,
    connector: Connector,
    warnings: Vec<String>,
}

impl Settings {
    fn load(cli: &Cli) -> Result<Self, ConfigError> {
        let document = load_document(cli.config_path(), must_exist(cli))?;
        let config = document.section(ProcessorConfig::SECTION)?;
        let connector = if let Some(url) = &cli.database {
            Connector::from_url(url)?
        } else {
            let postgres: PostgresConfig = document.section(PostgresConfig::SECTION)?;
            Connector::new(&postgres).map_err(|error| document.locate(error))?
        };
        Ok(Self {
            config,
            connector,
            warnings: document.warnings().to_vec(),
        })
    }
}

fn load_document(path: &Path, must_exist: bool) -> Result<Document, ConfigError> {
    match Document::load(path) {
        Err(ConfigError::Unreadable { source, .. })
            if source.kind() == std::io::ErrorKind::NotFound && !must_exist =>
        {
            Document::parse(path, "")
        }
        loaded => loaded,
    }
}

/// The usual file may be absent when nothing of it is needed; a file that was asked for may not.
fn must_exist(cli: &Cli) -> bool {
    let needs_database = match cli.command() {
        Command::Install(args) => args.as_extension.is_none(),
        Command::Demo(_) => false,
        Command::Run | Command::Check(_) | Command::Upgrade(_) | Command::Status(_) => true,
    };
    cli.config.is_some() || (cli.database.is_none() && needs_database)
}
