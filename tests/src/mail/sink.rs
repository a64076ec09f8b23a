//! `smtp-sink`, which comes with Postfix: it takes any amount of mail, or misbehaves in a few ways, for everybody alike.

use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};

use nix::unistd::Uid;

use super::program::{self, Program};
use crate::postgres::free_port;

const SINK: &str = "/usr/sbin/smtp-sink";
/// Whom it becomes when root starts it.
const NOBODY: u32 = 65534;
/// The queue of connections that it has not taken yet.
const BACKLOG: &str = "256";

/// A running sink. Stopped with the value.
#[derive(Debug)]
pub struct Sink {
    port: u16,
    program: Program,
}

impl Sink {
    /// The options that make it keep messages, for [`Sink::kept`].
    pub const KEEP: [&str; 2] = ["-d", "kept/"];

    /// Starts one with further options, such as `-W .:5`, and waits until it listens. `Err`: why that cannot be here.
    pub async fn start(options: &[&str]) -> Result<Self, String> {
        if !Path::new(SINK).is_file() {
            return Err(format!("{SINK} is missing (Debian's package postfix)"));
        }
        let port = free_port();
        let address = format!("127.0.0.1:{port}");
        let directory = program::directory();
        let kept = directory.path().join("kept");
        fs::create_dir(&kept).expect("a directory for messages");
        let mut arguments = vec![SINK];
        if Uid::effective().is_root() {
            chown(&kept, Some(NOBODY), Some(NOBODY)).expect("giving the directory away");
            arguments.extend(["-u", "nobody"]);
        }
        arguments.extend(options);
        arguments.extend([address.as_str(), BACKLOG]);
        let mut program = Program::start("smtp-sink", directory, "log", &arguments);
        program.wait_for_port(port).await;
        Ok(Self { port, program })
    }

    /// What it has been handed so far, whatever it answered: the envelope in header fields of its own, then the message.
    ///
    /// # Panics
    /// When a message cannot be read.
    #[must_use]
    pub fn kept(&self) -> Vec<String> {
        let entries = fs::read_dir(self.program.directory().join("kept"));
        let paths: Vec<PathBuf> = entries
            .expect("the directory of messages")
            .map(|entry| entry.expect("an entry").path())
            .collect();
        let read = |path: &PathBuf| fs::read(path).expect("reading a kept message");
        paths
            .iter()
            .map(|path| String::from_utf8_lossy(&read(path)).into_owned())
            .collect()
    }

    /// Where it listens.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// What it has printed.
    #[must_use]
    pub fn log(&self) -> String {
        self.program.log()
    }
}
