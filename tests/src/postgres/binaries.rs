//! The machine's own PostgreSQL binaries, and the account they run under.

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::unistd::{Uid, User};

/// A directory with `postgres`, `initdb` and `pg_ctl`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bindir(PathBuf);

impl Bindir {
    /// A directory that is known to the caller.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// What `PGRELAY_TEST_BINDIR` or `pg_config` names, or the newest version where Debian's packages put them.
    #[must_use]
    pub fn find() -> Option<Self> {
        Self::wanted().or_else(Self::of_this_machine)
    }

    /// Binaries that are to be used in place of the machine's own, and of a container.
    pub(super) fn wanted() -> Option<Self> {
        let path = std::env::var_os("PGRELAY_TEST_BINDIR").filter(|path| !path.is_empty())?;
        Some(Self(path.into()))
    }

    /// Where client programs such as `pg_dump` are beside the server; the packages of other versions have none.
    #[must_use]
    pub fn with_clients() -> Option<Self> {
        Self::find().filter(|bindir| bindir.program("pg_dump").is_file())
    }

    fn of_this_machine() -> Option<Self> {
        let configured = Command::new("pg_config").arg("--bindir").output().ok();
        let configured =
            configured.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        // pg_config comes with the client's development files, too, where there may be no server.
        configured
            .map(PathBuf::from)
            .filter(|path| path.join("initdb").is_file())
            .map(Self)
            .or_else(newest_packaged)
    }

    /// The machine's own, and under `tests/run --long` those of the other supported major versions.
    #[must_use]
    pub fn all() -> Vec<Self> {
        let fetched = std::env::var("PGRELAY_TEST_BINDIRS").unwrap_or_default();
        let fetched = fetched
            .split(':')
            .filter(|path| !path.is_empty())
            .map(Self::at);
        let mut all: Vec<Self> = Self::find().into_iter().collect();
        for bindir in fetched {
            if !all.contains(&bindir) {
                all.push(bindir);
            }
        }
        all
    }

    /// The path of a program in it, whether or not it exists.
    #[must_use]
    pub fn program(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// What `postgres --version` says.
    #[must_use]
    pub fn version(&self) -> String {
        let output = self.command("postgres").arg("--version").output();
        output.map_or_else(
            |error| format!("unusable: {error}"),
            |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        )
    }

    /// The directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A command that runs as the account a server can run under.
    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.program(program));
        // The server's messages are matched by tests; directories of root are no place for its account.
        command
            .current_dir("/")
            .env("LC_ALL", "C")
            .env_remove("PGDATA");
        if let Some(account) = server_account() {
            command.uid(account.uid.as_raw()).gid(account.gid.as_raw());
        }
        command
    }
}

fn newest_packaged() -> Option<Bindir> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let newest = versions
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok())
        .filter(|version| Path::new(&format!("/usr/lib/postgresql/{version}/bin/initdb")).is_file())
        .max()?;
    Some(Bindir(PathBuf::from(format!(
        "/usr/lib/postgresql/{newest}/bin"
    ))))
}

/// The server refuses to run as root; then it runs as `postgres`, and as ourselves otherwise.
fn server_account() -> Option<User> {
    if !Uid::effective().is_root() {
        return None;
    }
    let account = User::from_name("postgres").ok().flatten();
    Some(account.expect("root needs an account named postgres to run a server under"))
}

/// Gives a file or directory to the account which the server runs under.
pub(super) fn give_to_server(path: &Path) {
    if let Some(account) = server_account() {
        chown(path, Some(account.uid.as_raw()), Some(account.gid.as_raw()))
            .unwrap_or_else(|error| panic!("changing the owner of {}: {error}", path.display()));
    }
}
