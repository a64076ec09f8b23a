//! The process that owns the shared server: it starts it, and ends it when told to or when nobody uses it any more.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use tokio::signal::unix::{SignalKind, signal};
use uuid::Uuid;

use super::binaries::Bindir;
use super::cluster::Cluster;
use super::container::Container;
use super::private::{PrivateOptions, start_cluster};
use super::shared::{self, Shared};
use super::{Endpoint, leftovers};
use crate::docker::Engine;
use crate::paths;

/// The helper binary's file name.
const BINARY: &str = "test-postgres";
const ENGINE_SOCKET: &str = "PGRELAY_TEST_ENGINE";
const ENGINE_ERROR: &str = "PGRELAY_TEST_NO_ENGINE";

/// Between two test processes there may be nobody for a moment; between two runs of a developer this is over soon.
const IDLE_LIMIT: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(500);

const SETTINGS: &[(&str, &str)] = &[
    ("max_connections", "400"),
    ("shared_buffers", "256MB"),
    ("max_prepared_transactions", "20"),
    ("fsync", "off"),
    ("full_page_writes", "off"),
    ("max_wal_size", "4GB"),
    ("log_line_prefix", "%m [%p] %q%a@%d "),
];

enum Running {
    Container(Box<Container>),
    Cluster(Cluster),
}

impl Running {
    fn endpoint(&self) -> Endpoint {
        match self {
            Self::Container(container) => container.endpoint.clone(),
            Self::Cluster(cluster) => cluster.endpoint(),
        }
    }
}

/// The command that runs [`serve`] in a process of its own.
pub(super) fn command(directory: &Path, wanted: &str) -> Command {
    let mut command = Command::new(paths::binary(BINARY));
    command.arg("serve").arg(directory).arg(wanted);
    // testcontainers takes its engine from DOCKER_HOST only, and a process cannot change that for itself safely.
    // There it finds our bridge; where the engine really is goes by another name.
    let engine =
        std::env::var("DOCKER_HOST").unwrap_or_else(|_| "unix:///var/run/docker.sock".to_owned());
    let bridge =
        std::env::temp_dir().join(format!("pgrelay-bridge-{}.sock", Uuid::new_v4().simple()));
    match engine.strip_prefix("unix://") {
        Some(socket) => command.env(ENGINE_SOCKET, socket),
        None => command.env(ENGINE_ERROR, format!("{engine} is not a unix socket")),
    };
    command.env("DOCKER_HOST", format!("unix://{}", bridge.display()));
    command
}

/// True while this process exists and is a supervisor.
pub(super) fn is_supervisor(pid: u32) -> bool {
    // A zombie has no command line any more.
    let command_line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&command_line).contains(BINARY)
}

/// The whole life of a supervisor.
///
/// # Panics
/// When no server can be started; the message goes to its log, which the test process prints.
pub async fn serve(directory: PathBuf, wanted: String) {
    let mut terminated = signal(SignalKind::terminate()).expect("listening for SIGTERM");
    leftovers::sweep_servers();
    let (running, source) = tokio::select! {
        started = start() => started,
        _ = terminated.recv() => return,
    };
    let shared = Shared {
        supervisor: std::process::id(),
        wanted,
        source,
        endpoint: running.endpoint(),
    };
    publish(&directory, &shared);
    tokio::select! {
        _ = terminated.recv() => {}
        () = until_unused(&directory) => {}
    }
    if let Running::Container(container) = running {
        container.remove().await;
        let _ = fs::remove_file(bridge_path());
    }
}

/// The socket which `DOCKER_HOST` names in this process; see [`command`].
fn bridge_path() -> PathBuf {
    let host = std::env::var("DOCKER_HOST").unwrap_or_default();
    PathBuf::from(host.trim_start_matches("unix://"))
}

async fn start() -> (Running, String) {
    let bridge = bridge_path();
    let container = start_container(&bridge).await;
    let why = match container {
        Ok(container) => {
            let source = container.source.clone();
            return (Running::Container(Box::new(container)), source);
        }
        Err(why) => why,
    };
    let _ = fs::remove_file(&bridge);
    let cluster = start_cluster(PrivateOptions {
        settings: SETTINGS,
        ..PrivateOptions::default()
    })
    .await;
    let bindir = cluster.bindir();
    let source = format!(
        "{} from {} (no container: {why})",
        bindir.version(),
        bindir.path().display()
    );
    (Running::Cluster(cluster), source)
}

async fn start_container(bridge: &Path) -> Result<Container, String> {
    if Bindir::wanted().is_some() {
        return Err("PGRELAY_TEST_BINDIR is set".to_owned());
    }
    if let Ok(why) = std::env::var(ENGINE_ERROR) {
        return Err(why);
    }
    let socket = std::env::var(ENGINE_SOCKET).map_err(|_| "no engine was named".to_owned())?;
    let engine = Engine::at(Path::new(&socket)).await?;
    engine.sweep_containers().await;
    Container::start(&engine, bridge, SETTINGS).await
}

/// Written under another name first: a reader sees all of it or nothing.
fn publish(directory: &Path, shared: &Shared) {
    let draft = directory.join("state.draft");
    fs::write(&draft, serde_json::to_vec(shared).expect("state as JSON"))
        .expect("writing the state");
    fs::rename(&draft, shared::state_file(directory)).expect("publishing the state");
}

/// Returns once no registered process has been alive for a while, with the state file removed.
async fn until_unused(directory: &Path) {
    let mut last_used = Instant::now();
    loop {
        if in_use(directory) {
            last_used = Instant::now();
        } else if last_used.elapsed() > IDLE_LIMIT {
            // Nobody holds this lock for long, and whoever comes after us finds no state and starts anew.
            let _lock = shared::lock(directory);
            if !in_use(directory) {
                let _ = fs::remove_file(shared::state_file(directory));
                return;
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn in_use(directory: &Path) -> bool {
    let Ok(users) = fs::read_dir(shared::users_dir(directory)) else {
        return false;
    };
    let mut any = false;
    for user in users.flatten() {
        let pid = user.file_name().to_str().and_then(|name| name.parse().ok());
        if pid.is_some_and(paths::is_alive) {
            any = true;
        } else {
            let _ = fs::remove_file(user.path());
        }
    }
    any
}
