//! A throw-away PostgreSQL server, made from this machine's own binaries.

use super::{APP, DemoError, Target};
use crate::oneshot;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid, User};
use shared::db::connect::Connector;
use std::fs::{File, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const START_LIMIT: Duration = Duration::from_mins(1);
const STOP_LIMIT: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(20);
/// A socket's path has 107 bytes; the socket's own name and the directory's need some of them.
const LONGEST_BASE: usize = 60;

/// Stopped and removed when it is dropped.
#[derive(Debug)]
pub(super) struct Server {
    directory: TempDir,
    postmaster: Child,
    target: Target,
}

impl Server {
    /// Part of the socket's name only: nothing listens on the network.
    pub(super) const PORT: u16 = 5432;
    /// Who it runs as when the demo is root's.
    pub(super) const ACCOUNT: &str = "postgres";

    /// Creates and starts one, and waits until it answers.
    pub(super) async fn start() -> Result<Self, DemoError> {
        let bindir = bindir().ok_or(DemoError::NoServerPrograms)?;
        let account = account()?;
        let directory = private_directory(account.as_ref())?;
        eprintln!(
            "starting a throw-away PostgreSQL server from {}",
            bindir.display()
        );
        initialise(&bindir, account.as_ref(), directory.path()).await?;
        let postmaster = spawn(&bindir, account.as_ref(), directory.path())?;
        let url = format!(
            "host='{}' port={} user=postgres dbname=postgres",
            directory.path().display(),
            Self::PORT
        );
        let connector = Connector::from_url(&url).map_err(|error| DemoError::ServerProgram {
            program: "connecting to the server",
            output: error.to_string(),
        })?;
        let mut server = Self {
            directory,
            postmaster,
            target: Target {
                url,
                connector,
                shared: false,
            },
        };
        server.wait_until_answering().await?;
        Ok(server)
    }

    /// Its database.
    pub(super) fn target(&self) -> &Target {
        &self.target
    }

    /// The directory of its socket.
    pub(super) fn socket_dir(&self) -> &Path {
        self.directory.path()
    }

    async fn wait_until_answering(&mut self) -> Result<(), DemoError> {
        let started = Instant::now();
        loop {
            match oneshot::open(&self.target.connector, APP).await {
                Ok(session) => {
                    session.close().await;
                    return Ok(());
                }
                Err(error) if !self.is_running() || started.elapsed() > START_LIMIT => {
                    let log = std::fs::read(log_path(self.directory.path())).unwrap_or_default();
                    return Err(DemoError::ServerProgram {
                        program: "postgres",
                        output: format!("{}{error}", String::from_utf8_lossy(&log)),
                    });
                }
                Err(_) => tokio::time::sleep(LOOK).await,
            }
        }
    }

    fn is_running(&mut self) -> bool {
        matches!(self.postmaster.try_wait(), Ok(None))
    }

    fn signal(&mut self, signal: Signal) {
        // Our own child, not reaped yet: the id is still its.
        if self.is_running()
            && let Ok(pid) = i32::try_from(self.postmaster.id())
            && let Err(error) = kill(Pid::from_raw(pid), signal)
        {
            tracing::debug!("the server cannot be signalled: {error}");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Nothing in it is wanted any more, so no time is spent on a checkpoint.
        self.signal(Signal::SIGQUIT);
        let started = Instant::now();
        while self.is_running() && started.elapsed() < STOP_LIMIT {
            std::thread::sleep(LOOK);
        }
        self.signal(Signal::SIGKILL);
    }
}

/// Where pg_config points to, or the newest version where Debian's packages put them.
fn bindir() -> Option<PathBuf> {
    let configured = Command::new("pg_config").arg("--bindir").output().ok();
    configured
        .map(|output| PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
        // pg_config comes with the client's development files, too, where there may be no server.
        .filter(|path| path.join("initdb").is_file())
        .or_else(|| {
            let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
            let newest = versions
                .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
                .map(|version| (version, format!("/usr/lib/postgresql/{version}/bin")))
                .filter(|(_, path)| Path::new(path).join("initdb").is_file())
                .max()?;
            Some(PathBuf::from(newest.1))
        })
}

/// Who the server runs as, when it cannot be us: it refuses root.
fn account() -> Result<Option<User>, DemoError> {
    if !Uid::effective().is_root() {
        return Ok(None);
    }
    let account = User::from_name(Server::ACCOUNT).ok().flatten();
    account.map(Some).ok_or(DemoError::NoServerAccount)
}

/// For its data and its socket: whoever can reach the socket is let in, so nobody else may.
fn private_directory(account: Option<&User>) -> Result<TempDir, DemoError> {
    let doing = "making a directory for the server";
    let mut base = std::env::temp_dir();
    if base.as_os_str().len() > LONGEST_BASE {
        base = PathBuf::from("/tmp");
    }
    let directory = tempfile::Builder::new()
        .prefix("pgrelay-demo-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(base)
        .map_err(DemoError::system(doing))?;
    if let Some(account) = account {
        let (uid, gid) = (account.uid.as_raw(), account.gid.as_raw());
        chown(directory.path(), Some(uid), Some(gid)).map_err(DemoError::system(doing))?;
    }
    Ok(directory)
}

/// A program of the server, out of reach of the terminal's Ctrl-C: we end it ourselves, after the Processor.
fn command(bindir: &Path, account: Option<&User>, program: &str) -> Command {
    let mut command = Command::new(bindir.join(program));
    command
        .current_dir("/")
        .env("LC_ALL", "C")
        .env_remove("PGDATA")
        .stdin(Stdio::null())
        .process_group(0);
    if let Some(account) = account {
        command.uid(account.uid.as_raw()).gid(account.gid.as_raw());
    }
    command
}

async fn initialise(
    bindir: &Path,
    account: Option<&User>,
    directory: &Path,
) -> Result<(), DemoError> {
    let mut initdb = command(bindir, account, "initdb");
    initdb.args([
        "--auth=trust",
        "--username=postgres",
        "--encoding=UTF8",
        "--locale=C",
        "--no-sync",
    ]);
    initdb.arg("--pgdata").arg(directory.join("data"));
    let output = tokio::process::Command::from(initdb).output().await;
    let output = output.map_err(DemoError::system("starting initdb"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stdout, output.stderr].concat();
    Err(DemoError::ServerProgram {
        program: "initdb",
        output: String::from_utf8_lossy(&text).into_owned(),
    })
}

fn spawn(bindir: &Path, account: Option<&User>, directory: &Path) -> Result<Child, DemoError> {
    let doing = "starting postgres";
    let log = File::create(log_path(directory)).map_err(DemoError::system(doing))?;
    let mut postgres = command(bindir, account, "postgres");
    postgres.arg("-D").arg(directory.join("data"));
    let settings = [
        "listen_addresses=".to_owned(),
        format!("unix_socket_directories={}", directory.display()),
        format!("port={}", Server::PORT),
        "max_connections=50".to_owned(),
    ];
    for setting in settings {
        postgres.arg("-c").arg(setting);
    }
    postgres
        .stdout(log.try_clone().map_err(DemoError::system(doing))?)
        .stderr(log)
        .spawn()
        .map_err(DemoError::system(doing))
}

fn log_path(directory: &Path) -> PathBuf {
    directory.join("log")
}
