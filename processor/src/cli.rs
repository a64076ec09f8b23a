//! The command line.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::{Path, PathBuf};

/// Serves the events of pgrelay.queue, and looks after the schema they live in.
#[derive(Debug, Clone, Parser)]
#[command(name = "pg-relay-processor", version)]
pub struct Cli {
    /// Configuration file [default: /etc/pepsi/pepsi.conf]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Database, as postgres://user@host:port/dbname; takes the place of [pepsi-postgres]
    #[arg(long, global = true, value_name = "URL")]
    pub database: Option<String>,
    /// What to do.
    #[command(subcommand)]
    command: Option<Command>,
}

/// What the binary can be asked to do.
#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum Command {
    /// Serve the queue until told to stop (the default)
    Run,
    /// Look for what would keep a Processor from working
    Check(CheckArgs),
    /// Install the schema
    Install(InstallArgs),
    /// Bring an installed schema to this release
    Upgrade(UpgradeArgs),
    /// Show Processors, channels, backlog and the latest failures
    Status(StatusArgs),
    /// Show the queue at work on a throw-away server, or on --database
    Demo(DemoArgs),
}

/// Options of `check`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Args)]
pub struct CheckArgs {
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Options of `install`.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct InstallArgs {
    /// Companions to install as well
    #[arg(long, value_name = "COMPANION", value_delimiter = ',')]
    pub with: Vec<Companion>,
    /// Print the SQL and change nothing
    #[arg(long, conflicts_with = "as_extension")]
    pub dry_run: bool,
    /// Write the files of CREATE EXTENSION into a directory, without connecting to a database
    #[arg(long, value_name = "DIR")]
    pub as_extension: Option<PathBuf>,
}

/// Options of `upgrade`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Args)]
pub struct UpgradeArgs {
    /// Print the SQL and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Options of `status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Args)]
pub struct StatusArgs {
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// Options of `demo`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Args)]
pub struct DemoArgs {
    /// How many events to send through the queue
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub events: Option<u64>,
}

/// SQL packages that build on the queue, as `--with` names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Companion {
    /// Mail and webhooks from SQL.
    Notifier,
    /// Materialised views that keep themselves fresh.
    AutoMv,
    /// The mail pipeline's ingress table.
    Pepsi,
}

impl Cli {
    /// What was asked for; `run` when nothing was.
    #[must_use]
    pub fn command(&self) -> Command {
        self.command.clone().unwrap_or(Command::Run)
    }

    /// The configuration file to read.
    #[must_use]
    pub fn config_path(&self) -> &Path {
        self.config
            .as_deref()
            .unwrap_or_else(|| Path::new(shared::config::DEFAULT_PATH))
    }
}

#[cfg(test)]
mod tests {
    use super::{Cli, Command, Companion};
    use clap::{CommandFactory, Parser};
    use std::path::Path;

    fn parse(arguments: &[&str]) -> Result<Cli, clap::Error> {
        Cli::try_parse_from([&["pg-relay-processor"], arguments].concat())
    }

    #[test]
    fn the_definition_is_consistent() {
        <Cli as CommandFactory>::command().debug_assert();
    }

    #[test]
    fn without_a_command_it_runs_with_the_usual_file() {
        let cli = parse(&[]).unwrap();
        assert_eq!(cli.command(), Command::Run);
        assert_eq!(cli.config_path(), Path::new("/etc/pepsi/pepsi.conf"));
    }

    #[test]
    fn general_options_stand_before_or_after_the_command() {
        for arguments in [
            ["--config", "a", "--database", "b", "check"],
            ["check", "--config", "a", "--database", "b"],
            ["--config", "a", "check", "--database", "b"],
        ] {
            let cli = parse(&arguments).unwrap();
            assert_eq!(cli.config.as_deref(), Some(Path::new("a")));
            assert_eq!(cli.database.as_deref(), Some("b"));
            assert!(matches!(cli.command(), Command::Check(_)));
        }
    }

    #[test]
    fn companions_are_listed_with_commas() {
        let cli = parse(&["install", "--with", "notifier,auto-mv,pepsi"]).unwrap();
        let Command::Install(install) = cli.command() else {
            panic!("not install");
        };
        assert_eq!(
            install.with,
            [Companion::Notifier, Companion::AutoMv, Companion::Pepsi]
        );
    }

    #[test]
    fn nonsense_is_refused() {
        for arguments in [
            &["fly"] as &[_],
            &["check", "--loud"],
            &["install", "--with", "tea"],
            &["install", "--dry-run", "--as-extension", "/tmp"],
            &["demo", "--events", "0"],
        ] {
            assert!(parse(arguments).is_err(), "{arguments:?}");
        }
    }
}
