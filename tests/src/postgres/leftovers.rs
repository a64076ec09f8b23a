//! What a run that crashed has left behind: servers, their directories, and databases.

use std::fs;
use std::path::{Path, PathBuf};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::Endpoint;
use crate::database::{drop_database, name_prefix};
use crate::paths::is_alive;

const DIRECTORY: &str = "pgrelay-test-";

/// The owner's process id is part of the name, so that a later run can tell whether it still lives.
pub(crate) fn directory_prefix(owner: u32) -> String {
    format!("{DIRECTORY}{owner}-")
}

/// Stops the servers and removes the directories of owners that are gone.
pub(super) fn sweep_servers() {
    for directory in abandoned_directories() {
        if let Some(pid) = postmaster_of(&directory.join("data")) {
            // Nobody waits for it, and its data goes next.
            let _ = kill(Pid::from_raw(pid), Signal::SIGQUIT);
        }
        let _ = fs::remove_dir_all(&directory);
    }
}

fn abandoned_directories() -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(std::env::temp_dir()) else {
        return Vec::new();
    };
    let abandoned = |path: &PathBuf| {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let owner = name
            .strip_prefix(DIRECTORY)
            .and_then(|rest| rest.split('-').next());
        owner
            .and_then(|owner| owner.parse().ok())
            .is_some_and(|owner| !is_alive(owner))
    };
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(abandoned)
        .collect()
}

/// The postmaster on a data directory, only if that process really is one: ids are used again.
fn postmaster_of(data: &Path) -> Option<i32> {
    let pid = fs::read_to_string(data.join("postmaster.pid")).ok()?;
    let pid: i32 = pid.lines().next()?.trim().parse().ok()?;
    let command_line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let command_line = String::from_utf8_lossy(&command_line).into_owned();
    command_line
        .contains(&data.display().to_string())
        .then_some(pid)
}

/// Drops the databases of test processes of this host that are gone.
pub(super) async fn sweep_databases(endpoint: &Endpoint) {
    let Ok(session) = endpoint.try_connect("postgres").await else {
        return;
    };
    let prefix = name_prefix();
    let sql = "SELECT datname FROM pg_database WHERE starts_with(datname, $1)";
    let Ok(rows) = session.query(sql, &[&prefix]).await else {
        return;
    };
    for row in rows {
        let name: String = row.get(0);
        let owner = name[prefix.len()..]
            .split('_')
            .next()
            .and_then(|owner| owner.parse().ok());
        if owner.is_some_and(|owner| !is_alive(owner)) {
            drop_database(endpoint, &name).await;
        }
    }
}
