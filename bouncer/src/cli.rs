//! The command line.

use clap::Parser;
use clap::error::ErrorKind;
use shared::exit::Exit;
use std::path::{Path, PathBuf};

/// Hands messages that failed or timed out to the bounce stage, so that their senders hear of it.
///
/// Without --once, --dry-run or --check it is a service: it bounces what is stuck when it starts, and then each message
/// as it fails or times out, until SIGTERM or SIGINT ends it. Started as root it becomes the account that
/// [pepsi-failure-bouncer] USER names before it connects to the database.
#[derive(Debug, Clone, PartialEq, Eq, Parser)]
#[command(name = "pepsi-failure-bouncer", version)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line"
)]
pub struct Cli {
    /// Configuration file [default: /etc/pepsi/pepsi.conf]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Bounce what is stuck now, say how much that was, and exit
    #[arg(long)]
    pub once: bool,
    /// Bounce failed messages only
    #[arg(long, conflicts_with = "timeout_only")]
    pub failed_only: bool,
    /// Bounce timed-out messages only
    #[arg(long)]
    pub timeout_only: bool,
    /// Say what --once would bounce, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Look for what would keep the bouncer from working
    #[arg(long, conflicts_with_all = ["once", "dry_run"])]
    pub check: bool,
    /// Print one JSON object; with --once, --dry-run or --check
    #[arg(long)]
    pub json: bool,
}

/// What the process is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Bounce until told to stop.
    Service,
    /// One sweep.
    Once,
    /// One look, without a change.
    DryRun,
    /// The preflight alone.
    Check,
}

/// The terminal states that are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum States {
    /// Both.
    All,
    /// Permanent errors and crashed workers.
    Failed,
    /// Workers that exceeded their time.
    Timeout,
}

impl States {
    /// As they stand in the column.
    #[must_use]
    pub const fn names(self) -> &'static [&'static str] {
        match self {
            Self::All => &["failed", "timeout"],
            Self::Failed => &["failed"],
            Self::Timeout => &["timeout"],
        }
    }
}

impl Cli {
    /// What was asked for.
    #[must_use]
    pub const fn mode(&self) -> Mode {
        if self.check {
            Mode::Check
        } else if self.dry_run {
            Mode::DryRun
        } else if self.once {
            Mode::Once
        } else {
            Mode::Service
        }
    }

    /// The states to look for.
    #[must_use]
    pub const fn states(&self) -> States {
        match (self.failed_only, self.timeout_only) {
            (true, _) => States::Failed,
            (false, true) => States::Timeout,
            (false, false) => States::All,
        }
    }

    /// The configuration file to read.
    #[must_use]
    pub fn config_path(&self) -> &Path {
        self.config
            .as_deref()
            .unwrap_or_else(|| Path::new(shared::config::DEFAULT_PATH))
    }
}

/// Reads the arguments of this process. What clap has to say it says here: help and version on
/// stdout, complaints on stderr; the error is the code to exit with.
pub fn parse() -> Result<Cli, Exit> {
    read(std::env::args_os()).map_err(|error| {
        let exit = match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => Exit::Drained,
            _ => Exit::Usage,
        };
        // A closed stdout or stderr leaves nobody to tell.
        drop(error.print());
        exit
    })
}

fn read(arguments: impl Iterator<Item = std::ffi::OsString>) -> Result<Cli, clap::Error> {
    use clap::CommandFactory as _;
    let cli = Cli::try_parse_from(arguments)?;
    // clap knows "needs all of" and "conflicts with", but not "needs one of".
    if cli.json && cli.mode() == Mode::Service {
        return Err(Cli::command().error(
            ErrorKind::MissingRequiredArgument,
            "the argument '--json' needs one of '--once', '--dry-run' and '--check': a service prints no result",
        ));
    }
    Ok(cli)
}

#[cfg(test)]
mod tests {
    use super::{Cli, Mode, States, read};
    use clap::CommandFactory;
    use std::path::Path;

    fn parse(arguments: &[&str]) -> Result<Cli, clap::Error> {
        let program = ["pepsi-failure-bouncer"];
        let all = program.iter().chain(arguments);
        read(all.map(std::ffi::OsString::from))
    }

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn without_options_it_is_a_service_with_the_usual_file() {
        let cli = parse(&[]).unwrap();
        assert_eq!(cli.mode(), Mode::Service);
        assert_eq!(cli.states(), States::All);
        assert_eq!(cli.config_path(), Path::new("/etc/pepsi/pepsi.conf"));
    }

    #[test]
    fn the_states_narrow_every_mode() {
        for (mode, arguments) in [
            (Mode::Service, &[] as &[_]),
            (Mode::Once, &["--once"]),
            (Mode::DryRun, &["--dry-run"]),
            (Mode::DryRun, &["--once", "--dry-run"]),
            (Mode::Check, &["--check"]),
        ] {
            for (states, option) in [
                (States::Failed, "--failed-only"),
                (States::Timeout, "--timeout-only"),
            ] {
                let cli = parse(&[arguments, &[option]].concat()).unwrap();
                assert_eq!((cli.mode(), cli.states()), (mode, states));
            }
        }
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        for arguments in [
            &["--failed-only", "--timeout-only"] as &[_],
            &["--once", "--failed-only", "--timeout-only"],
            &["--check", "--once"],
            &["--check", "--dry-run"],
            &["--json"],
            &["--json", "--failed-only"],
            &["--config"],
            &["--once", "--once"],
            &["--loud"],
            &["once"],
        ] {
            let error = parse(arguments).expect_err("a contradiction");
            assert!(error.use_stderr(), "{arguments:?}");
        }
        for arguments in [["--json", "--once"], ["--json", "--check"]] {
            assert!(parse(&arguments).unwrap().json);
        }
    }
}
