//! The bouncer of the demo: the real binary, as a child, with a configuration of its own.

use super::super::DemoError;
use super::super::server::Server;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::process::{Child, Command};

const NAME: &str = "pepsi-failure-bouncer";
/// For a sweep of a few messages, for beginning to listen, and for an end that takes two seconds at most.
const LIMIT: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(20);

/// Where it is installed together with this program.
pub(super) fn program() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?;
    Some(own.with_file_name(NAME)).filter(|path| path.is_file())
}

/// How it is started.
#[derive(Debug)]
pub(super) struct Bouncer {
    program: PathBuf,
    directory: TempDir,
}

impl Bouncer {
    pub(super) fn new(program: PathBuf, server: &Server, stage: &str) -> Result<Self, DemoError> {
        let doing = "preparing the bouncer";
        let directory = tempfile::Builder::new()
            .prefix("pgrelay-demo-bouncer-")
            .tempdir()
            .map_err(DemoError::system(doing))?;
        // Started as root it becomes an account, and only the server's own can reach the server's socket.
        let text = format!(
            "[pepsi-postgres]\nHOST = \"{}\"\nPORT = {}\nDBNAME = \"postgres\"\nUSER = \"pepsi\"\n\
             [{NAME}]\nBOUNCE_STAGE = \"{stage}\"\nUSER = \"{}\"\nLOG_FORMAT = \"text\"\n",
            server.socket_dir().display(),
            Server::PORT,
            Server::ACCOUNT,
        );
        std::fs::write(directory.path().join("pepsi.conf"), text)
            .map_err(DemoError::system(doing))?;
        Ok(Self { program, directory })
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .arg("--config")
            .arg(self.directory.path().join("pepsi.conf"))
            .stdin(Stdio::null())
            // Ctrl-C is for us: what we have started ends with us.
            .process_group(0)
            .kill_on_drop(true);
        // It is no service, whatever we are.
        for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"] {
            command.env_remove(name);
        }
        command
    }

    /// Runs one sweep; returns what it says.
    pub(super) async fn once(&self) -> Result<String, DemoError> {
        let doing = "running pepsi-failure-bouncer --once";
        let output = tokio::time::timeout(LIMIT, self.command().arg("--once").output())
            .await
            .map_err(|_| ended("no end", String::new()))?
            .map_err(DemoError::system(doing))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let log = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(ended(&output.status.to_string(), log))
    }

    /// Starts the service, and waits until it listens.
    pub(super) async fn listen(&self) -> Result<Service, DemoError> {
        let doing = "starting the bouncer";
        let log = self.directory.path().join("log");
        let output = std::fs::File::create(&log).map_err(DemoError::system(doing))?;
        let child = self
            .command()
            .stdout(Stdio::null())
            .stderr(output)
            .spawn()
            .map_err(DemoError::system(doing))?;
        let mut service = Service { child, log };
        let started = Instant::now();
        while !service.log().contains("listening on") {
            if let Some(status) = service.child.try_wait().map_err(DemoError::system(doing))? {
                return Err(ended(&status.to_string(), service.log()));
            }
            if started.elapsed() > LIMIT {
                return Err(ended("silence", service.log()));
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(service)
    }
}

/// The running service; killed when it is dropped.
#[derive(Debug)]
pub(super) struct Service {
    child: Child,
    log: PathBuf,
}

impl Service {
    /// Tells it to stop; returns its exit code.
    pub(super) async fn stop(&mut self) -> Result<Option<i32>, DemoError> {
        let doing = "stopping the bouncer";
        if let Some(pid) = self.child.id().and_then(|id| i32::try_from(id).ok()) {
            // Our own child, not reaped yet: the id is still its.
            kill(Pid::from_raw(pid), Signal::SIGTERM)
                .map_err(|error| DemoError::system(doing)(std::io::Error::from(error)))?;
        }
        let status = tokio::time::timeout(LIMIT, self.child.wait())
            .await
            .map_err(|_| ended("no end", self.log()))?
            .map_err(DemoError::system(doing))?;
        Ok(status.code())
    }

    fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap_or_default()).into_owned()
    }
}

fn ended(how: &str, log: String) -> DemoError {
    DemoError::BouncerEnded {
        how: how.to_owned(),
        log,
    }
}
