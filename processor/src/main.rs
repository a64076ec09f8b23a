//! pg-relay-processor: reads command line and configuration, does what they say and turns the end
//! of it into an exit code.

use clap::Parser;
use pg_relay_processor::cli::{Cli, Command};
use pg_relay_processor::config::ProcessorConfig;
use pg_relay_processor::oneshot::{Complaint, Report, complain};
use pg_relay_processor::run::{self, Reload, Sections};
use pg_relay_processor::{PROGRAM, demo, preflight, schema, status};
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
    let config = &settings.sections.processor;
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
        Ok(runtime) => {
            let exit = runtime.block_on(dispatch(cli, settings, log));
            // Not dropped: that would wait for a look-up of a name, which nothing can break off.
            runtime.shutdown_background();
            exit
        }
        Err(error) => {
            eprintln!("pg-relay-processor: the runtime cannot be started: {error}");
            Exit::Bug
        }
    }
}

async fn dispatch(cli: &Cli, settings: Settings, log: LogHandle) -> Exit {
    let Settings {
        sections,
        connector,
        ..
    } = settings;
    match cli.command() {
        Command::Run => {
            let config = sections.processor.clone();
            if let Some(finding) = preflight::secrets::file_beside(cli.config_path()) {
                tracing::warn!(finding = finding.code, "{}", finding.text());
            }
            run::run(config, connector, Some(reload(cli, sections, log))).await
        }
        Command::Check(args) => {
            let host = preflight::secrets::file_beside(cli.config_path());
            finish(preflight::check(&connector, args.json, host).await)
        }
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
fn reload(cli: &Cli, running: Sections, log: LogHandle) -> Reload {
    let (path, must_exist) = (cli.config_path().to_owned(), must_exist(cli));
    let named_on_command_line = cli.database.is_some();
    Reload {
        load: Box::new(move || {
            let document = load_document(&path, must_exist)?;
            sections_of(&document, named_on_command_line)
        }),
        running,
        log,
    }
}

fn finish<E: Complaint>(result: Result<Report, E>) -> Exit {
    let report = match result {
        Ok(report) => report,
        Err(error) => return complain(PROGRAM, &error),
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
    sections: Sections,
    connector: Connector,
    warnings: Vec<String>,
}

impl Settings {
    fn load(cli: &Cli) -> Result<Self, ConfigError> {
        let document = load_document(cli.config_path(), must_exist(cli))?;
        let sections = sections_of(&document, cli.database.is_some())?;
        let connector = match (&cli.database, &sections.postgres) {
            (Some(url), _) => Connector::from_url(url)?,
            (None, postgres) => Connector::new(&postgres.clone().unwrap_or_default())
                .map_err(|error| document.locate(error))?,
        };
        Ok(Self {
            sections,
            connector,
            warnings: document.warnings().to_vec(),
        })
    }
}

fn sections_of(document: &Document, database_named: bool) -> Result<Sections, ConfigError> {
    let postgres = (!database_named).then(|| document.section(PostgresConfig::SECTION));
    Ok(Sections {
        processor: document.section(ProcessorConfig::SECTION)?,
        postgres: postgres.transpose()?,
    })
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
