//! A throw-away cluster: a data directory and the postmaster on it.

use std::fs::{self, File, Permissions};
use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use super::binaries::{Bindir, give_to_server};
use super::{Endpoint, leftovers};

const START_LIMIT: Duration = Duration::from_mins(1);
const STOP_LIMIT: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(10);

/// Owns the directory and the process; both are gone when it is dropped.
#[derive(Debug)]
pub(super) struct Cluster {
    bindir: Bindir,
    directory: TempDir,
    port: u16,
    postmaster: Option<Child>,
}

impl Cluster {
    /// Makes the directory; [`Cluster::init`] or a base backup fills it.
    pub(super) fn new(bindir: Bindir) -> Self {
        // Outside the build directory: the server's account must reach it, and a socket's path is short by law.
        let prefix = leftovers::directory_prefix(std::process::id());
        let directory = tempfile::Builder::new()
            .prefix(&prefix)
            .tempdir()
            .expect("a directory for a server");
        fs::set_permissions(directory.path(), Permissions::from_mode(0o700))
            .expect("a private directory");
        give_to_server(directory.path());
        Self {
            bindir,
            directory,
            port: free_port(),
            postmaster: None,
        }
    }

    /// Creates an empty cluster that trusts whoever can reach it, which is this machine only.
    pub(super) async fn init(&self) {
        let mut initdb = self.bindir.command("initdb");
        initdb.args([
            "--auth=trust",
            "--username=postgres",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
            "--pgdata",
        ]);
        initdb.arg(self.data());
        run_to_end(initdb).await;
    }

    /// Adds settings; later ones win.
    pub(super) fn configure(&self, settings: &[(&str, &str)]) {
        let path = self.data().join("postgresql.auto.conf");
        let mut file = File::options()
            .append(true)
            .open(&path)
            .expect("the server's configuration");
        for (name, value) in settings {
            let value = value.replace('\'', "''");
            writeln!(file, "{name} = '{value}'").expect("writing the server's configuration");
        }
    }

    /// Sets what depends on where the cluster is.
    pub(super) fn configure_address(&self) {
        let (port, directory) = (
            self.port.to_string(),
            self.socket_dir().display().to_string(),
        );
        self.configure(&[
            ("listen_addresses", "127.0.0.1"),
            ("port", &port),
            ("unix_socket_directories", &directory),
        ]);
    }

    /// Starts the postmaster and waits until it answers queries.
    pub(super) async fn start(&mut self) {
        assert!(!self.is_running(), "the server runs already");
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.log_path())
            .expect("the server's log");
        let mut command = self.bindir.command("postgres");
        command.arg("-D").arg(self.data()).stdin(Stdio::null());
        command
            .stdout(log.try_clone().expect("a second handle on the log"))
            .stderr(log);
        // Ctrl-C at the terminal is for the test; the server is ended by its owner.
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        self.postmaster = Some(command.spawn().expect("starting postgres"));
        self.wait_until_answering().await;
    }

    async fn wait_until_answering(&mut self) {
        let started = Instant::now();
        loop {
            assert!(
                self.is_running(),
                "the server ended while starting:\n{}",
                self.log()
            );
            let refused = match self.endpoint().try_connect("postgres").await {
                Ok(_client) => return,
                Err(error) => error,
            };
            assert!(
                started.elapsed() < START_LIMIT,
                "no server after {START_LIMIT:?}: {refused}\n{}",
                self.log()
            );
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Signals the postmaster, and waits until it has ended.
    pub(super) async fn stop(&mut self, signal: Signal) {
        self.signal(signal);
        let started = Instant::now();
        while self.is_running() {
            assert!(
                started.elapsed() < STOP_LIMIT,
                "the server still runs {STOP_LIMIT:?} after {signal}"
            );
            tokio::time::sleep(LOOK).await;
        }
        self.postmaster = None;
    }

    /// Signals the postmaster, if it runs.
    pub(super) fn signal(&mut self, signal: Signal) {
        if self.is_running()
            && let Some(pid) = self.pid()
        {
            let pid = i32::try_from(pid).expect("a process id fits");
            // Our own child, not reaped yet: the id is still its.
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }

    pub(super) fn is_running(&mut self) -> bool {
        self.postmaster
            .as_mut()
            .is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    pub(super) fn pid(&self) -> Option<u32> {
        self.postmaster.as_ref().map(Child::id)
    }

    pub(super) fn bindir(&self) -> &Bindir {
        &self.bindir
    }

    pub(super) fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    pub(super) fn socket_dir(&self) -> &Path {
        self.directory.path()
    }

    pub(super) fn endpoint(&self) -> Endpoint {
        Endpoint::local(self.port)
    }

    pub(super) fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.log_path()).unwrap_or_default()).into_owned()
    }

    fn log_path(&self) -> PathBuf {
        self.directory.path().join("log")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Nothing in it is wanted any more, so no time is spent on a checkpoint.
        self.signal(Signal::SIGQUIT);
        let started = Instant::now();
        while self.is_running() && started.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(LOOK);
        }
        self.signal(Signal::SIGKILL);
    }
}

/// Runs a program, and panics with its output when it fails.
pub(super) async fn run_to_end(command: Command) {
    let name = format!("{command:?}");
    let mut command = tokio::process::Command::from(command);
    let output = command
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await;
    let output = output.unwrap_or_else(|error| panic!("starting {name}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{name} failed:\n{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
}

/// A port that nobody listens on. Somebody may take it before the server does; that is rare, and the start says so.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    listener
        .local_addr()
        .expect("the address of a listener")
        .port()
}
