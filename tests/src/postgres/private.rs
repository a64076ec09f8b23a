//! Servers that belong to one test, which may stop, crash, restart and copy them.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::signal::Signal;

use super::Server;
use super::binaries::{Bindir, give_to_server};
use super::cluster::{Cluster, run_to_end};
use crate::wait;

/// What a private server is like.
#[derive(Debug, Clone, Default)]
pub struct PrivateOptions<'a> {
    /// Whether commits reach the disk. Off unless the test measures or crashes the machine: a crashed *server* loses nothing.
    pub fsync: bool,
    /// Settings for `postgresql.conf`.
    pub settings: &'a [(&'a str, &'a str)],
    /// Lines for `pg_hba.conf`, looked at before the ones that trust everybody.
    pub hba: &'a [&'a str],
    /// Other binaries than the machine's own, for instance another major version.
    pub bindir: Option<Bindir>,
}

/// How to end a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopMode {
    /// Ends the sessions with an error, and shuts down cleanly.
    Fast,
    /// As in a crash: sockets close, recovery follows at the next start.
    Immediate,
    /// Refuses new sessions, and waits for the present ones to leave.
    Smart,
}

impl StopMode {
    fn signal(self) -> Signal {
        match self {
            Self::Fast => Signal::SIGINT,
            Self::Immediate => Signal::SIGQUIT,
            Self::Smart => Signal::SIGTERM,
        }
    }
}

const BASE_SETTINGS: &[(&str, &str)] = &[
    ("max_connections", "200"),
    ("max_prepared_transactions", "20"),
    ("log_line_prefix", "%m [%p] %q%a@%d "),
];

/// Faster, and as safe as ever against a crash of the server: only a crash of the machine would lose data.
const NOT_DURABLE: &[(&str, &str)] = &[("fsync", "off"), ("full_page_writes", "off")];

pub(super) async fn start(options: PrivateOptions<'_>) -> Server {
    let cluster = start_cluster(options).await;
    server_of(cluster)
}

pub(super) async fn start_cluster(options: PrivateOptions<'_>) -> Cluster {
    let bindir = options.bindir.or_else(Bindir::find);
    let mut cluster =
        Cluster::new(bindir.expect("a private server needs PostgreSQL's binaries on this machine"));
    cluster.init().await;
    cluster.configure(BASE_SETTINGS);
    if !options.fsync {
        cluster.configure(NOT_DURABLE);
    }
    cluster.configure(options.settings);
    cluster.configure_address();
    if !options.hba.is_empty() {
        prepend_hba(&cluster.data(), options.hba);
    }
    cluster.start().await;
    cluster
}

fn server_of(cluster: Cluster) -> Server {
    let source = format!(
        "private, {} in {}",
        cluster.bindir().version(),
        cluster.bindir().path().display()
    );
    Server {
        endpoint: cluster.endpoint(),
        source,
        cluster: Some(cluster),
    }
}

fn prepend_hba(data: &Path, lines: &[&str]) {
    let path = data.join("pg_hba.conf");
    let old = std::fs::read_to_string(&path).expect("reading pg_hba.conf");
    std::fs::write(&path, format!("{}\n{old}", lines.join("\n"))).expect("writing pg_hba.conf");
}

const NOT_PRIVATE: &str = "only a private server can be stopped, changed or copied";

/// What only a private server offers; on the shared one these panic.
impl Server {
    fn cluster(&self) -> &Cluster {
        self.cluster.as_ref().expect(NOT_PRIVATE)
    }

    fn cluster_mut(&mut self) -> &mut Cluster {
        self.cluster.as_mut().expect(NOT_PRIVATE)
    }

    /// Starts it again on the same port, and waits until it answers.
    pub async fn start(&mut self) {
        self.cluster_mut().start().await;
    }

    /// Ends it, and waits until it has ended.
    pub async fn stop(&mut self, mode: StopMode) {
        self.cluster_mut().stop(mode.signal()).await;
    }

    /// Begins to end it without waiting; for what happens while a server shuts down.
    pub fn begin_stop(&mut self, mode: StopMode) {
        self.cluster_mut().signal(mode.signal());
    }

    /// Ends it and starts it again.
    pub async fn restart(&mut self, mode: StopMode) {
        self.stop(mode).await;
        self.start().await;
    }

    /// True while the postmaster runs.
    pub fn is_running(&mut self) -> bool {
        self.cluster_mut().is_running()
    }

    /// The postmaster's process id, while one was started.
    #[must_use]
    pub fn postmaster_pid(&self) -> Option<u32> {
        self.cluster().pid()
    }

    /// Freezes (`SIGSTOP`), thaws (`SIGCONT`) or otherwise signals the postmaster. Its sessions are processes of their own.
    pub fn signal(&mut self, signal: Signal) {
        self.cluster_mut().signal(signal);
    }

    /// The directory of its socket.
    #[must_use]
    pub fn socket_dir(&self) -> &Path {
        self.cluster().socket_dir()
    }

    /// Its data directory.
    #[must_use]
    pub fn data_dir(&self) -> PathBuf {
        self.cluster().data()
    }

    /// Its log so far.
    #[must_use]
    pub fn log(&self) -> String {
        self.cluster().log()
    }

    /// Puts a file into the data directory, readable by the server only, as it wants its keys.
    pub fn put_file(&self, name: &str, contents: &[u8]) {
        let path = self.cluster().data().join(name);
        std::fs::write(&path, contents).expect("writing into the data directory");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))
            .expect("a private file");
        give_to_server(&path);
    }

    /// Adds settings, which take effect with the next start or reload.
    pub fn configure(&self, settings: &[(&str, &str)]) {
        self.cluster().configure(settings);
    }

    /// A streaming standby of it, caught up and answering read-only queries.
    ///
    /// # Panics
    /// Where the binaries have no `pg_basebackup`.
    pub async fn standby(&self) -> Server {
        let primary = self.cluster();
        let mut standby = Cluster::new(primary.bindir().clone());
        let mut backup = primary.bindir().command("pg_basebackup");
        backup.args([
            "--checkpoint=fast",
            "--wal-method=stream",
            "--write-recovery-conf",
            "--no-sync",
            "--pgdata",
        ]);
        backup
            .arg(standby.data())
            .arg("--dbname")
            .arg(self.connection_string("postgres"));
        run_to_end(backup).await;
        standby.configure_address();
        standby.start().await;
        server_of(standby)
    }

    /// Makes a standby a primary, and waits until it takes writes.
    pub async fn promote(&mut self) {
        let session = self.endpoint().connect("postgres").await;
        // The function itself waits for a minute; what it waits for is checked below.
        session
            .execute("SELECT pg_promote()", &[])
            .await
            .expect("promoting the standby");
        wait::until("the promotion", Duration::from_mins(1), || async {
            let row = session.query_one("SELECT pg_is_in_recovery()", &[]).await;
            let in_recovery: bool = row.map_err(|error| error.to_string())?.get(0);
            (!in_recovery)
                .then_some(())
                .ok_or_else(|| "still in recovery".to_owned())
        })
        .await;
    }
}
