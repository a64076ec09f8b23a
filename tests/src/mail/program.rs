//! A server program of a test: started, waited for, and ended with the value.

use std::fs::{self, File, Permissions};
use std::io::Write as _;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::postgres::directory_prefix;
use crate::wait;

const STOP_LIMIT: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(5);

/// Owns the directory and the processes of a server; in a failing test its log is printed.
#[derive(Debug)]
pub(super) struct Program {
    name: &'static str,
    child: Child,
    log: PathBuf,
    directory: TempDir,
}

/// A directory that the accounts of mail servers can reach. A later run removes it should this one be cut short.
pub(super) fn directory() -> TempDir {
    let prefix = format!("{}mail-", directory_prefix(std::process::id()));
    let directory = tempfile::Builder::new()
        .prefix(&prefix)
        .tempdir()
        .expect("a directory for a mail server");
    fs::set_permissions(directory.path(), Permissions::from_mode(0o755))
        .expect("a directory that others can enter");
    directory
}

impl Program {
    /// Starts `program` with `arguments`. What it prints goes to `output` in its directory, its log is in `log`.
    pub(super) fn start(
        name: &'static str,
        directory: TempDir,
        log: &str,
        arguments: &[&str],
    ) -> Self {
        let output = File::create(directory.path().join("output")).expect("a file for the output");
        let log = directory.path().join(log);
        // A test that is killed takes its servers along.
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "TERM"])
            .args(arguments)
            .current_dir(directory.path())
            .stdin(Stdio::null())
            .stdout(output.try_clone().expect("a second handle on the output"))
            .stderr(output)
            .process_group(0)
            .spawn()
            .unwrap_or_else(|error| panic!("starting {name}: {error}"));
        Self {
            name,
            child,
            log,
            directory,
        }
    }

    /// Waits until somebody listens on `port`.
    ///
    /// # Panics
    /// When the program ends before that, or takes too long.
    pub(super) async fn wait_for_port(&mut self, port: u16) {
        let name = self.name;
        let child = std::cell::RefCell::new(&mut self.child);
        let what = format!("{name} to listen on port {port}");
        wait::until(&what, wait::SOON, || async {
            let ended = child.borrow_mut().try_wait().expect("asking for a status");
            assert!(ended.is_none(), "{name} ended while starting: {ended:?}");
            TcpStream::connect(("127.0.0.1", port)).map(drop)
        })
        .await;
    }

    pub(super) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Its log so far, and what it has printed.
    pub(super) fn log(&self) -> String {
        [&self.log, &self.directory.path().join("output")]
            .map(|path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned())
            .concat()
    }

    /// Signals the program and its children.
    fn signal(&mut self, signal: Signal) {
        // Not reaped yet: the group is still its own.
        if matches!(self.child.try_wait(), Ok(None)) {
            let group = i32::try_from(self.child.id()).expect("a process id fits");
            let _ = killpg(Pid::from_raw(group), signal);
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.signal(Signal::SIGTERM);
        let started = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if started.elapsed() > STOP_LIMIT {
                self.signal(Signal::SIGKILL);
                let _ = self.child.wait();
                break;
            }
            std::thread::sleep(LOOK);
        }
        if std::thread::panicking() {
            eprintln!("--- log of {} ---\n{}", self.name, self.log());
        }
    }
}

/// Debian's Python rather than one that some version manager starts slowly.
pub(super) fn python() -> &'static str {
    const PACKAGED: &str = "/usr/bin/python3";
    if Path::new(PACKAGED).is_file() {
        PACKAGED
    } else {
        "python3"
    }
}

/// Writes a file of a server's, as if a minute ago: Postfix waits until a file is a second old, lest somebody is still writing it.
pub(super) fn write(path: &Path, text: impl AsRef<[u8]>) {
    let write = || {
        let mut file = File::create(path)?;
        file.write_all(text.as_ref())?;
        file.set_modified(SystemTime::now() - Duration::from_mins(1))
    };
    write().unwrap_or_else(|error| panic!("writing {}: {error}", path.display()));
}

/// Runs a program to its end.
///
/// # Panics
/// With its output, when it fails.
pub(super) fn run(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("starting {command:?}: {error}"));
    let said = [output.stdout, output.stderr].concat();
    assert!(
        output.status.success(),
        "{command:?} failed:\n{}",
        String::from_utf8_lossy(&said)
    );
}
