//! Exim, a second receiver with another view of the protocol. It greylists `grey@` any domain, refuses `unknown@` and unwelcome subjects.
//!
//! Debian does not install it beside Postfix: `tests/unpack-exim` takes the program out of its package. It needs no privileges, and finds the account
//! it was built for through nss_wrapper.

use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::unistd::Uid;

use super::maildir::{Maildir, Received};
use super::program::{self, Program};
use crate::paths;
use crate::postgres::free_port;

const CONFIGURATION: &str = include_str!("exim/exim.conf");
/// The account that Debian's Exim was built for.
const ACCOUNT: &str = "Debian-exim";
const NOBODY: u32 = 65534;

/// A running Exim. Stopped and removed with the value.
#[derive(Debug)]
pub struct Exim {
    port: u16,
    mail: Maildir,
    program: Program,
}

impl Exim {
    /// Starts one, and waits until it listens. `Err`: why that cannot be here, for [`skip!`](crate::skip!).
    pub async fn start() -> Result<Self, String> {
        let exim = unpack()?;
        let directory = program::directory();
        let (at, port) = (directory.path().to_path_buf(), free_port());
        let (user, group) = account();
        for name in ["spool", "log", "mail"] {
            let path = at.join(name);
            fs::create_dir(&path).expect("a directory for Exim");
            chown(&path, Some(user), Some(group)).expect("giving Exim its directory");
        }
        let show = |path: &Path| path.display().to_string();
        let definitions = format!(
            "DIRECTORY = {}\nPORT = {port}\nPROGRAM = {}\n",
            show(&at),
            show(&exim)
        );
        program::write(&at.join("exim.conf"), definitions + CONFIGURATION);
        write_accounts(&at, user, group);
        let mut arguments = vec![
            "env".to_owned(),
            "LD_PRELOAD=libnss_wrapper.so".to_owned(),
            format!("NSS_WRAPPER_PASSWD={}", show(&at.join("passwd"))),
            format!("NSS_WRAPPER_GROUP={}", show(&at.join("group"))),
        ];
        if Uid::effective().is_root() {
            let ids = [format!("--reuid={user}"), format!("--regid={group}")];
            arguments.push("setpriv".to_owned());
            arguments.extend(ids);
            arguments.push("--clear-groups".to_owned());
            // Becoming somebody else takes the signal back.
            arguments.extend(["--pdeathsig", "TERM"].map(str::to_owned));
        }
        arguments.extend([show(&exim), "-C".to_owned(), show(&at.join("exim.conf"))]);
        arguments.extend(["-bdf", "-q1h"].map(str::to_owned));
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut program = Program::start("Exim", directory, "log/mainlog", &arguments);
        program.wait_for_port(port).await;
        let mail = Maildir::at(at.join("mail"));
        Ok(Self {
            port,
            mail,
            program,
        })
    }

    /// Where it listens, without encryption.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Waits until there are `count` messages for `recipient`.
    pub async fn wait_for(&self, recipient: &str, count: usize) -> Vec<Received> {
        self.mail.wait_for(recipient, count).await
    }

    /// Its log so far.
    #[must_use]
    pub fn log(&self) -> String {
        self.program.log()
    }
}

/// The program, taken out of its package now if it is not there yet.
fn unpack() -> Result<PathBuf, String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("unpack-exim");
    let output = Command::new(script)
        .arg(paths::build_dir().join("exim"))
        .output()
        .expect("starting tests/unpack-exim");
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() {
        Ok(PathBuf::from(said(&output.stdout)))
    } else {
        Err(said(&output.stderr))
    }
}

/// Whom it runs as: not root, who may not receive mail.
fn account() -> (u32, u32) {
    if Uid::effective().is_root() {
        return (NOBODY, NOBODY);
    }
    (
        Uid::effective().as_raw(),
        nix::unistd::Gid::effective().as_raw(),
    )
}

fn write_accounts(at: &Path, user: u32, group: u32) {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let groups = fs::read_to_string("/etc/group").unwrap_or_default();
    let account = format!("{ACCOUNT}:x:{user}:{group}::/nonexistent:/usr/sbin/nologin\n");
    program::write(&at.join("passwd"), account + &users);
    program::write(&at.join("group"), format!("{ACCOUNT}:x:{group}:\n{groups}"));
}
