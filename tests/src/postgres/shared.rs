//! Finding the server of this run, or having it started: test processes agree through a lock and a state file.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;

use super::{Endpoint, leftovers, supervisor};
use crate::paths;

/// Longer than an image takes to come from a registry.
const START_LIMIT: Duration = Duration::from_mins(6);
const STOP_LIMIT: Duration = Duration::from_mins(1);
const LOOK: Duration = Duration::from_millis(20);

/// What the supervisor tells the test processes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Shared {
    pub(super) supervisor: u32,
    pub(super) wanted: String,
    pub(super) source: String,
    pub(super) endpoint: Endpoint,
}

/// The shared server, kept alive at least as long as this process.
pub(super) async fn acquire() -> Shared {
    static FOUND: OnceCell<Shared> = OnceCell::const_new();
    let found = FOUND.get_or_init(|| async {
        let shared = acquire_for(std::process::id()).await;
        println!("PostgreSQL for the tests: {}", shared.source);
        shared
    });
    found.await.clone()
}

/// Starts the shared server for the process `user` unless it runs already, drops what crashed tests have left on it,
/// and says where it comes from.
pub async fn start_for(user: u32) -> String {
    let shared = acquire_for(user).await;
    leftovers::sweep_databases(&shared.endpoint).await;
    shared.source
}

/// The shared server, kept alive at least as long as the process `user`.
async fn acquire_for(user: u32) -> Shared {
    if let Some(given) = given_by_environment() {
        return given;
    }
    tokio::task::spawn_blocking(move || find_or_start(user))
        .await
        .expect("finding the shared server")
}

fn given_by_environment() -> Option<Shared> {
    let url = std::env::var("PGRELAY_TEST_DATABASE_URL")
        .ok()
        .filter(|url| !url.is_empty())?;
    let endpoint =
        Endpoint::parse(&url).unwrap_or_else(|error| panic!("PGRELAY_TEST_DATABASE_URL: {error}"));
    let source = format!(
        "PGRELAY_TEST_DATABASE_URL, {}:{}",
        endpoint.host(),
        endpoint.port()
    );
    Some(Shared {
        supervisor: 0,
        wanted: String::new(),
        source,
        endpoint,
    })
}

fn find_or_start(user: u32) -> Shared {
    let directory = paths::state_dir();
    let _lock = lock(&directory);
    let users = users_dir(&directory);
    fs::create_dir_all(&users).expect("the state directory");
    // Registered before the look: the supervisor ends only when, under the lock, it sees nobody.
    fs::write(users.join(user.to_string()), "").expect("registering as a user of the server");
    match read(&directory) {
        Some(shared)
            if supervisor::is_supervisor(shared.supervisor) && shared.wanted == wanted() =>
        {
            shared
        }
        Some(outdated) => {
            end(outdated.supervisor);
            start(&directory)
        }
        None => start(&directory),
    }
}

/// What decides where the server comes from: a change of it means another server.
fn wanted() -> String {
    let value = |name| std::env::var(name).unwrap_or_default();
    format!(
        "image {:?}, engine {:?}, binaries {:?}",
        value("PGRELAY_TEST_IMAGE"),
        value("DOCKER_HOST"),
        value("PGRELAY_TEST_BINDIR")
    )
}

fn start(directory: &Path) -> Shared {
    let log_path = directory.join("supervisor.log");
    let log = File::create(&log_path).expect("the supervisor's log");
    let mut supervisor = supervisor::command(directory, &wanted());
    supervisor
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("a handle on the log"))
        .stderr(log);
    detach(&mut supervisor);
    let mut child = supervisor
        .spawn()
        .expect("starting the supervisor of the shared server");
    wait_for_state(directory, &mut child, &log_path)
}

/// It outlives this process, and Ctrl-C at the terminal is not for it.
fn detach(command: &mut Command) {
    std::os::unix::process::CommandExt::process_group(command, 0);
}

fn wait_for_state(directory: &Path, child: &mut Child, log: &Path) -> Shared {
    let started = Instant::now();
    let said = || fs::read_to_string(log).unwrap_or_default();
    loop {
        if let Some(shared) = read(directory).filter(|shared| shared.supervisor == child.id()) {
            return shared;
        }
        let ended = child
            .try_wait()
            .expect("asking for the supervisor's status");
        assert!(
            ended.is_none(),
            "no PostgreSQL server for the tests:\n{}",
            said()
        );
        assert!(
            started.elapsed() < START_LIMIT,
            "no shared server after {START_LIMIT:?}:\n{}",
            said()
        );
        std::thread::sleep(LOOK);
    }
}

/// Ends the shared server, if these tests have started one, and removes what crashed runs have left.
pub fn stop() {
    let directory = paths::state_dir();
    let _lock = lock(&directory);
    if let Some(shared) = read(&directory) {
        end(shared.supervisor);
        let _ = fs::remove_file(state_file(&directory));
    }
    leftovers::sweep_servers();
}

fn end(supervisor: u32) {
    // A stale state file may name a process that is somebody else's by now.
    if !supervisor::is_supervisor(supervisor) {
        return;
    }
    let pid = Pid::from_raw(i32::try_from(supervisor).expect("a process id fits"));
    let _ = kill(pid, Signal::SIGTERM);
    let started = Instant::now();
    while supervisor::is_supervisor(supervisor) && started.elapsed() < STOP_LIMIT {
        std::thread::sleep(LOOK);
    }
}

/// Held until the returned file is dropped.
pub(super) fn lock(directory: &Path) -> File {
    fs::create_dir_all(directory).expect("the state directory");
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(directory.join("lock"));
    let file = file.expect("the lock file");
    file.lock().expect("locking the state of the shared server");
    file
}

pub(super) fn state_file(directory: &Path) -> PathBuf {
    directory.join("state.json")
}

pub(super) fn users_dir(directory: &Path) -> PathBuf {
    directory.join("users")
}

fn read(directory: &Path) -> Option<Shared> {
    serde_json::from_slice(&fs::read(state_file(directory)).ok()?).ok()
}
