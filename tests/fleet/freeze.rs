//! A server that neither answers nor closes its sockets: all its processes are stopped for a while.

use fleet_tests::postgres::Server;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Goes on when the value is dropped.
pub(crate) struct Frozen(Vec<Pid>);

/// Stops a private server's processes, the postmaster first, so that no new one appears.
pub(crate) fn freeze(server: &Server) -> Frozen {
    let postmaster = server.postmaster_pid().expect("a running server");
    let mut frozen = Frozen(Vec::new());
    frozen.stop(postmaster);
    for child in children_of(postmaster) {
        frozen.stop(child);
    }
    frozen
}

impl Frozen {
    fn stop(&mut self, pid: u32) {
        let pid = Pid::from_raw(i32::try_from(pid).expect("a process id fits"));
        // One that has just ended cannot answer either.
        if kill(pid, Signal::SIGSTOP).is_ok() {
            self.0.push(pid);
        }
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        for pid in self.0.iter().rev() {
            let _ = kill(*pid, Signal::SIGCONT);
        }
    }
}

fn children_of(parent: u32) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").expect("reading /proc");
    let ids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    ids.filter(|id| parent_of(*id) == Some(parent)).collect()
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The program's name, in parentheses, may hold anything; the state and the parent follow it.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}
