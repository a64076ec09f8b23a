//! The Processor of the demo: this same binary, as a child.

use super::{DemoError, Target};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A little more than SHUTDOWN_TIMEOUT.
const STOP_LIMIT: Duration = Duration::from_secs(35);
const LOOK: Duration = Duration::from_millis(20);
/// Lines of its log that are shown after a failure.
const TAIL: usize = 40;

/// On the throw-away server it serves everything, as a service would.
const ALONE: &str = "[pg-relay-processor]\nLOG_FORMAT = \"text\"\n";
/// In a database with other users it takes the demo's events only. Such an instance asks nobody for wake-ups, so it looks often.
const GUEST: &str = "[pg-relay-processor]\nLOG_FORMAT = \"text\"\nCHANNELS = [\"pgrelay_demo.*\"]\nPOLL_INTERVAL = \"20ms\"\n";

/// Killed when it is dropped.
#[derive(Debug)]
pub(super) struct Processor {
    child: Child,
    log: PathBuf,
    // Removed with the value, after the child has ended.
    _directory: TempDir,
}

impl Processor {
    pub(super) fn start(target: &Target) -> Result<Self, DemoError> {
        let doing = "starting the Processor";
        let directory = tempfile::Builder::new()
            .prefix("pgrelay-demo-processor-")
            .tempdir()
            .map_err(DemoError::system(doing))?;
        // A configuration of its own: the machine's, if there is one, is for its service.
        let config = directory.path().join("pepsi.conf");
        let text = if target.shared { GUEST } else { ALONE };
        std::fs::write(&config, text).map_err(DemoError::system(doing))?;
        let log = directory.path().join("log");
        let output = File::create(&log).map_err(DemoError::system(doing))?;
        let binary = std::env::current_exe().map_err(DemoError::system(doing))?;
        let mut command = Command::new(binary);
        command.arg("--config").arg(&config);
        command.args(["--database", &target.url, "run"]);
        // It is no service, whatever we are. And Ctrl-C is for us: we end it ourselves.
        for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"] {
            command.env_remove(name);
        }
        let child = command
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(output)
            .spawn()
            .map_err(DemoError::system(doing))?;
        Ok(Self {
            child,
            log,
            _directory: directory,
        })
    }

    /// Fails once it has ended by itself.
    pub(super) fn must_run(&mut self) -> Result<(), DemoError> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(self.ended(status.to_string())),
            Err(error) => Err(self.ended(error.to_string())),
        }
    }

    fn ended(&self, how: String) -> DemoError {
        DemoError::ProcessorEnded {
            how,
            log: self.log_tail(),
        }
    }

    /// Asks it to drain, and waits until it has ended.
    pub(super) async fn stop(&mut self) -> Result<ExitStatus, DemoError> {
        self.must_run()?;
        if let Ok(pid) = i32::try_from(self.child.id()) {
            // Our own child, not reaped yet: the id is still its.
            kill(Pid::from_raw(pid), Signal::SIGTERM).map_err(|error| {
                DemoError::system("stopping the Processor")(std::io::Error::from(error))
            })?;
        }
        let started = Instant::now();
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) if started.elapsed() < STOP_LIMIT => tokio::time::sleep(LOOK).await,
                Ok(None) => return Err(self.ended(format!("no end within {STOP_LIMIT:?}"))),
                Err(error) => return Err(self.ended(error.to_string())),
            }
        }
    }

    /// The end of its log.
    pub(super) fn log_tail(&self) -> String {
        let log = std::fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(TAIL)..].join("\n")
    }
}

impl Drop for Processor {
    fn drop(&mut self) {
        // Both fail when it has ended already, which is what they are for.
        self.child.kill().unwrap_or_default();
        if let Err(error) = self.child.wait() {
            tracing::debug!("the Processor cannot be waited for: {error}");
        }
    }
}
