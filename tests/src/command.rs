//! Running the real binaries in an environment that holds no surprises.

use std::fmt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use crate::paths;

/// How a one-shot command ended.
#[derive(Debug)]
pub struct Output {
    /// The exit code; 128 + n after signal n, as a shell has it.
    pub code: i32,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
}

impl fmt::Display for Output {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "exit {}\nstdout:\n{}\nstderr:\n{}",
            self.code, self.stdout, self.stderr
        )
    }
}

/// Runs a binary to its end with arguments only, within two minutes.
pub(crate) async fn run(binary: &'static str, arguments: &[&str]) -> Output {
    let mut command = tokio::process::Command::from(clean_command(binary));
    command
        .args(arguments)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = tokio::time::timeout(Duration::from_mins(2), command.output()).await;
    let output =
        output.unwrap_or_else(|_| panic!("{binary} {arguments:?} still runs after two minutes"));
    let output = output.unwrap_or_else(|error| panic!("starting {binary}: {error}"));
    Output {
        code: code_of(output.status),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The command without what a service manager or a psql user may have left in our environment.
pub(crate) fn clean_command(binary: &str) -> Command {
    let mut command = Command::new(paths::binary(binary));
    for name in [
        "NOTIFY_SOCKET",
        "JOURNAL_STREAM",
        "INVOCATION_ID",
        "WATCHDOG_USEC",
        "WATCHDOG_PID",
        "CREDENTIALS_DIRECTORY",
    ] {
        command.env_remove(name);
    }
    for name in [
        "PGHOST",
        "PGPORT",
        "PGUSER",
        "PGPASSWORD",
        "PGDATABASE",
        "PGOPTIONS",
        "PGSERVICE",
    ] {
        command.env_remove(name);
    }
    command
}

pub(crate) fn code_of(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt as _;
    status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal))
        .unwrap_or(-1)
}
