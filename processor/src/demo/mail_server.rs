//! A throw-away Postfix on loopback: a real server, whose answers to some recipients are set.

use super::DemoError;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::{Group, Pid, Uid, User};
use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};
use tempfile::TempDir;

const MASTER: &str = "/usr/lib/postfix/sbin/master";
const MAIN_CF: &str = include_str!("postfix/main.cf");
const MASTER_CF: &str = include_str!("postfix/master.cf");
/// Whom mail is delivered as; it owns nothing else.
const NOBODY: u32 = 65534;
/// In the queue, for Postfix alone.
const QUEUES: [&str; 11] = [
    "active", "bounce", "corrupt", "defer", "deferred", "flush", "hold", "incoming", "private",
    "saved", "trace",
];
const START_LIMIT: Duration = Duration::from_secs(20);
const STOP_LIMIT: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(20);

/// Stopped and removed when it is dropped.
#[derive(Debug)]
pub(super) struct MailServer {
    port: u16,
    master: Child,
    directory: TempDir,
}

/// Why there is no mail server on this machine; the demo goes on without it.
pub(super) fn missing() -> Option<&'static str> {
    if !Path::new(MASTER).is_file() {
        Some("Postfix is not installed")
    } else if !Uid::effective().is_root() {
        Some("only root can start Postfix")
    } else {
        None
    }
}

impl MailServer {
    /// Starts one, and waits until it listens.
    pub(super) async fn start() -> Result<Self, DemoError> {
        let doing = "starting a throw-away mail server";
        let port = free_port().map_err(DemoError::system(doing))?;
        let directory = prepare(port).map_err(DemoError::system(doing))?;
        eprintln!("starting a throw-away mail server, Postfix");
        let master = spawn(directory.path()).map_err(DemoError::system(doing))?;
        let mut server = Self {
            port,
            master,
            directory,
        };
        let started = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            if !server.is_running() || started.elapsed() > START_LIMIT {
                return Err(server.failed());
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(server)
    }

    /// Where it listens, on 127.0.0.1.
    pub(super) const fn port(&self) -> u16 {
        self.port
    }

    /// From the next connection on, answers so to some recipients, and accepts all others.
    pub(super) fn answer(&self, answers: &[(&str, &str)]) -> Result<(), DemoError> {
        let lines = answers
            .iter()
            .map(|answer| format!("{} {}\n", answer.0, answer.1));
        let table: String = lines.collect::<Vec<_>>().concat();
        let (draft, place) = (self.file("recipients.draft"), self.file("recipients"));
        write(&draft, &table)
            .and_then(|()| fs::rename(&draft, &place))
            .map_err(DemoError::system("setting the mail server's answers"))
    }

    /// The messages it has delivered, oldest first.
    pub(super) fn delivered(&self) -> Result<Vec<String>, DemoError> {
        let read = || -> io::Result<Vec<String>> {
            let mut found = Vec::new();
            for entry in fs::read_dir(self.file("mail/inbox/new"))? {
                let path = entry?.path();
                let text = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
                found.push((path.metadata()?.modified()?, text));
            }
            found.sort();
            Ok(found.into_iter().map(|(_, text)| text).collect())
        };
        match read() {
            // The first delivery makes the mailbox.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            delivered => delivered.map_err(DemoError::system("reading the delivered mail")),
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn failed(&self) -> DemoError {
        let log = fs::read(self.file("log")).unwrap_or_default();
        DemoError::ServerProgram {
            program: "Postfix",
            output: String::from_utf8_lossy(&log).into_owned(),
        }
    }

    fn is_running(&mut self) -> bool {
        matches!(self.master.try_wait(), Ok(None))
    }

    /// Signals all of its processes.
    fn signal(&mut self, signal: Signal) {
        // Not reaped yet: the group is still its own.
        if self.is_running()
            && let Ok(group) = i32::try_from(self.master.id())
            && let Err(error) = killpg(Pid::from_raw(group), signal)
        {
            tracing::debug!("the mail server cannot be signalled: {error}");
        }
    }
}

impl Drop for MailServer {
    fn drop(&mut self) {
        self.signal(Signal::SIGTERM);
        let started = Instant::now();
        while self.is_running() && started.elapsed() < STOP_LIMIT {
            std::thread::sleep(LOOK);
        }
        self.signal(Signal::SIGKILL);
    }
}

/// Somebody may take it before the server does; that is rare, and the start says so.
fn free_port() -> io::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}

/// What a package's installation prepares for the machine's own Postfix.
fn prepare(port: u16) -> io::Result<TempDir> {
    let directory = tempfile::Builder::new()
        .prefix("pgrelay-demo-mail-")
        .permissions(Permissions::from_mode(0o755))
        .tempdir()?;
    let at = directory.path();
    let postfix = account("postfix")?;
    let postdrop = Group::from_name("postdrop")?.map(|group| group.gid.as_raw());
    for name in ["config", "queue", "queue/pid"] {
        make(&at.join(name), 0o755, None, None)?;
    }
    for name in QUEUES {
        make(&at.join("queue").join(name), 0o700, Some(postfix), None)?;
    }
    for (name, mode) in [("queue/maildrop", 0o730), ("queue/public", 0o710)] {
        make(&at.join(name), mode, Some(postfix), postdrop)?;
    }
    make(&at.join("data"), 0o700, Some(postfix), None)?;
    make(&at.join("mail"), 0o700, Some(NOBODY), Some(NOBODY))?;
    let main = format!("directory = {}\n{MAIN_CF}", at.display());
    write(&at.join("config/main.cf"), &main)?;
    let master = MASTER_CF.replace("{port}", &port.to_string());
    write(&at.join("config/master.cf"), &master)?;
    write(&at.join("recipients"), "")?;
    Ok(directory)
}

/// Writes a file as if a minute ago: Postfix waits until a file is a second old, lest somebody is still writing it.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(text.as_bytes())?;
    file.set_modified(SystemTime::now() - Duration::from_mins(1))
}

fn account(name: &str) -> io::Result<u32> {
    let user = User::from_name(name)?;
    user.map(|user| user.uid.as_raw())
        .ok_or_else(|| io::Error::other(format!("there is no account named {name}")))
}

fn make(path: &Path, mode: u32, user: Option<u32>, group: Option<u32>) -> io::Result<()> {
    fs::create_dir(path)?;
    fs::set_permissions(path, Permissions::from_mode(mode))?;
    chown(path, user, group)
}

fn spawn(directory: &Path) -> io::Result<Child> {
    let output = File::create(directory.join("output"))?;
    Command::new(MASTER)
        .args(["-d", "-c"])
        .arg(directory.join("config"))
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        // Ctrl-C is for us: we end it ourselves, after the Processor.
        .process_group(0)
        .spawn()
}
