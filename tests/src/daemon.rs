//! Starting the real daemons, watching them and ending them.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::command::{Output, clean_command, code_of};
use crate::config_file::ConfigFile;
use crate::database::Database;
use crate::wait;

/// Describes a daemon before it is started.
#[derive(Debug)]
pub struct Builder {
    binary: &'static str,
    section: &'static str,
    config: ConfigFile,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    launcher: Vec<String>,
}

impl Builder {
    pub(crate) fn new(binary: &'static str, section: &'static str, database: &Database) -> Self {
        let config = ConfigFile::for_database(database);
        Self {
            binary,
            section,
            config,
            arguments: Vec::new(),
            environment: Vec::new(),
            launcher: Vec::new(),
        }
    }

    /// Sets a key of the daemon's own section; a number, a text, a boolean or `json!([...])`.
    #[must_use]
    pub fn set(self, key: &str, value: impl Into<Value>) -> Self {
        let section = self.section;
        self.set_in(section, key, value)
    }

    /// Sets a key of any section.
    #[must_use]
    pub fn set_in(mut self, section: &str, key: &str, value: impl Into<Value>) -> Self {
        self.config.set(section, key, value);
        self
    }

    /// Takes a key out again, to leave it to its default.
    #[must_use]
    pub fn unset(mut self, section: &str, key: &str) -> Self {
        self.config.unset(section, key);
        self
    }

    /// Adds a command line argument, after `--config FILE`.
    #[must_use]
    pub fn arg(mut self, argument: &str) -> Self {
        self.arguments.push(argument.to_owned());
        self
    }

    /// Adds an environment variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Has another program start it, such as `ip netns exec NAME` or `setpriv`, which must become the daemon.
    #[must_use]
    pub fn through(mut self, launcher: &[&str]) -> Self {
        self.launcher = launcher.iter().map(|word| (*word).to_owned()).collect();
        self
    }

    /// Starts it without waiting for anything.
    #[must_use]
    pub fn spawn(self) -> Daemon {
        let directory = tempfile::Builder::new().prefix("pgrelay-daemon-").tempdir();
        let directory = directory.expect("a directory for the daemon's files");
        let config = directory.path().join("pepsi.conf");
        self.config.write(&config);
        let log = directory.path().join("log");
        let stdout = directory.path().join("stdout");
        let create =
            |path: &Path| std::fs::File::create(path).expect("a file for the daemon's output");
        let child = launched(clean_command(self.binary), &self.launcher)
            .arg("--config")
            .arg(&config)
            .args(&self.arguments)
            .envs(self.environment)
            .stdin(Stdio::null())
            .stdout(create(&stdout))
            .stderr(create(&log))
            .spawn()
            .unwrap_or_else(|error| panic!("starting {}: {error}", self.binary));
        Daemon {
            binary: self.binary,
            child,
            config,
            log,
            stdout,
            section: self.section,
            settings: self.config,
            _directory: directory,
        }
    }

    /// Runs it to its end, within a minute.
    pub async fn run(self) -> Output {
        let mut daemon = self.spawn();
        let code = daemon.wait_exit(Duration::from_mins(1)).await;
        Output {
            code,
            stdout: daemon.stdout(),
            stderr: daemon.logs(),
        }
    }
}

/// A running daemon. It is killed when the value is dropped; in a failing test its log is printed.
#[derive(Debug)]
pub struct Daemon {
    binary: &'static str,
    section: &'static str,
    settings: ConfigFile,
    child: Child,
    config: PathBuf,
    log: PathBuf,
    stdout: PathBuf,
    // Removed with the value, after the child has ended.
    _directory: tempfile::TempDir,
}

impl Daemon {
    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Everything it has written to standard error so far.
    #[must_use]
    pub fn logs(&self) -> String {
        read_lossy(&self.log)
    }

    /// Everything it has written to standard output so far.
    #[must_use]
    pub fn stdout(&self) -> String {
        read_lossy(&self.stdout)
    }

    /// Its configuration file.
    #[must_use]
    pub fn config_path(&self) -> &Path {
        &self.config
    }

    /// Changes a key of its own section in the configuration file; send SIGHUP to have it read.
    pub fn reconfigure(&mut self, key: &str, value: impl Into<Value>) {
        self.settings.set(self.section, key, value);
        self.settings.write(&self.config);
    }

    /// Sends any signal. Nothing happens when it has ended already.
    pub fn signal(&mut self, signal: Signal) {
        // Once reaped the id may belong to somebody else.
        if matches!(self.child.try_wait(), Ok(None)) {
            let pid = i32::try_from(self.child.id()).expect("a process id fits");
            // It may still end between the look and the signal; its parent has not reaped it, so nobody else is hit.
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }

    /// SIGTERM: asks it to drain.
    pub fn terminate(&mut self) {
        self.signal(Signal::SIGTERM);
    }

    /// SIGKILL, and waits until the process is gone.
    pub fn kill(&mut self) {
        self.signal(Signal::SIGKILL);
        let _ = self.child.wait();
    }

    /// Its exit code, once it has ended; 128 + n after signal n.
    #[must_use]
    pub fn exit_code(&mut self) -> Option<i32> {
        self.child
            .try_wait()
            .expect("asking for the daemon's status")
            .map(code_of)
    }

    /// Waits for it to end, and gives the exit code; 128 + n after signal n.
    ///
    /// # Panics
    /// When it still runs after `deadline`, with its log.
    pub async fn wait_exit(&mut self, deadline: Duration) -> i32 {
        let started = std::time::Instant::now();
        loop {
            if let Some(code) = self.exit_code() {
                return code;
            }
            assert!(
                started.elapsed() < deadline,
                "{} still runs after {deadline:?}",
                self.binary
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until its log contains `text`.
    ///
    /// # Panics
    /// When it ends before that, or does not say so in time.
    pub async fn wait_for_log(&mut self, text: &str, deadline: Duration) {
        let (binary, log) = (self.binary, self.log.clone());
        let child = std::cell::RefCell::new(&mut self.child);
        wait::until(&format!("{binary} to log {text:?}"), deadline, || async {
            if read_lossy(&log).contains(text) {
                return Ok(());
            }
            let status = child
                .borrow_mut()
                .try_wait()
                .expect("asking for the daemon's status");
            assert!(
                status.is_none(),
                "{binary} ended ({status:?}) without logging {text:?}"
            );
            Err("a log without it (printed below)")
        })
        .await;
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            eprintln!(
                "--- log of {} {} ---\n{}",
                self.binary,
                self.pid(),
                self.logs()
            );
        }
    }
}

/// The command with another program in front of it, in the same environment.
fn launched(command: Command, launcher: &[String]) -> Command {
    let Some((program, words)) = launcher.split_first() else {
        return command;
    };
    let mut outer = Command::new(program);
    outer.args(words).arg(command.get_program());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    outer
}

fn read_lossy(path: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned()
}
