//! Postfix, with its own configuration, queue and mailbox. It answers every recipient as the test says, and several ports have several habits.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use nix::unistd::{Group, Uid, User};

use super::authority::Authority;
use super::maildir::{Maildir, Received};
use super::program::{self, Program};
use crate::postgres::free_port;

const MASTER: &str = "/usr/lib/postfix/sbin/master";
const LOGINS: &str = "/usr/sbin/saslpasswd2";
const MAIN_CF: &str = include_str!("postfix/main.cf");
const MASTER_CF: &str = include_str!("postfix/master.cf");

/// Whom mail is delivered as; it owns nothing else.
const NOBODY: u32 = 65534;
/// A subject with this word is refused after the final dot, with 550 5.7.1.
pub const REFUSED_SUBJECT: &str = "unwelcome";
/// What [`Port::Small`] takes at most, in bytes.
pub const SMALL: usize = 20_000;

/// Where it listens, and what for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Port {
    /// Neither encryption nor logins.
    Plain,
    /// STARTTLS is required, then a login.
    Starttls,
    /// TLS from the first byte, then a login.
    Tls,
    /// STARTTLS with a certificate of the same authority for another name.
    WrongName,
    /// The greeting must name a host; sender domains must be complete.
    Strict,
    /// Takes [`SMALL`] bytes.
    Small,
    /// Takes two recipients, and asks for the others to be sent later (452 4.5.3).
    Few,
}

impl Port {
    const ALL: [(Self, &'static str); 7] = [
        (Self::Plain, "{plain}"),
        (Self::Starttls, "{starttls}"),
        (Self::Tls, "{tls}"),
        (Self::WrongName, "{wrong-name}"),
        (Self::Strict, "{strict}"),
        (Self::Small, "{small}"),
        (Self::Few, "{few}"),
    ];
}

/// A running Postfix. Stopped and removed with the value.
#[derive(Debug)]
pub struct Postfix {
    ports: BTreeMap<Port, u16>,
    answers: Mutex<BTreeMap<String, String>>,
    authority: Authority,
    mail: Maildir,
    program: Program,
}

impl Postfix {
    /// Starts one, and waits until it listens. `Err`: why that cannot be here, for [`skip!`](crate::skip!).
    pub async fn start() -> Result<Self, String> {
        check_prerequisites()?;
        let directory = program::directory();
        let at = directory.path().to_path_buf();
        make_directories(&at);
        let authority = Authority::new();
        let ports = Port::ALL.map(|(port, _)| (port, free_port()));
        write_settings(&at, &authority, &ports);
        let config = at.join("config").display().to_string();
        let mut program =
            Program::start("Postfix", directory, "log", &[MASTER, "-d", "-c", &config]);
        // They are opened in this order.
        let (_, last) = ports[ports.len() - 1];
        program.wait_for_port(last).await;
        Ok(Self {
            ports: BTreeMap::from(ports),
            answers: Mutex::default(),
            authority,
            mail: Maildir::at(at.join("mail/inbox")),
            program,
        })
    }

    /// The number of a port.
    #[must_use]
    pub fn port(&self, port: Port) -> u16 {
        self.ports[&port]
    }

    /// Who has signed its certificates.
    #[must_use]
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// From the next connection on, answers RCPT for `recipient` with `answer`, such as `450 4.7.1 Later`, or accepts it.
    ///
    /// # Panics
    /// When the table cannot be written.
    pub fn answer(&self, recipient: &str, answer: Option<&str>) {
        let mut answers = self.answers.lock().expect("the answers");
        match answer {
            Some(answer) => answers.insert(recipient.to_owned(), answer.to_owned()),
            None => answers.remove(recipient),
        };
        let mut table = String::new();
        for (recipient, answer) in answers.iter() {
            let _ = writeln!(table, "{recipient} {answer}");
        }
        // A reader sees all of the table or none of it.
        let (draft, place) = (self.file("recipients.draft"), self.file("recipients"));
        program::write(&draft, table);
        fs::rename(&draft, &place).expect("replacing the table of recipients");
    }

    /// Lets `user` log in with `password`.
    ///
    /// # Panics
    /// When saslpasswd2 refuses.
    pub fn add_login(&self, user: &str, password: &str) {
        let database = self.file("config/sasl/logins");
        let mut child = Command::new(LOGINS)
            .args(["-p", "-c", "-u", "test.example", "-f"])
            .arg(&database)
            .arg(user)
            .stdin(Stdio::piped())
            .spawn()
            .expect("starting saslpasswd2");
        let mut input = child.stdin.take().expect("its standard input");
        input.write_all(password.as_bytes()).expect("a password");
        drop(input);
        let status = child.wait().expect("waiting for saslpasswd2");
        assert!(status.success(), "saslpasswd2 ended with {status}");
        give(&database, "postfix", None);
    }

    /// What it has received so far, one for each recipient, oldest first.
    #[must_use]
    pub fn received(&self) -> Vec<Received> {
        self.mail.received()
    }

    /// Waits until there are `count` of them for `recipient`.
    pub async fn wait_for(&self, recipient: &str, count: usize) -> Vec<Received> {
        self.mail.wait_for(recipient, count).await
    }

    /// Its log so far.
    #[must_use]
    pub fn log(&self) -> String {
        self.program.log()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.program.directory().join(name)
    }
}

fn check_prerequisites() -> Result<(), String> {
    if !Uid::effective().is_root() {
        return Err("Postfix has to be started by root".to_owned());
    }
    for (program, package) in [(MASTER, "postfix"), (LOGINS, "sasl2-bin")] {
        if !Path::new(program).is_file() {
            return Err(format!("{program} is missing (Debian's package {package})"));
        }
    }
    Ok(())
}

/// What a package's installation makes for the machine's own Postfix.
fn make_directories(at: &Path) {
    for name in ["config", "config/sasl", "queue", "queue/pid"] {
        make_directory(&at.join(name), 0o755);
    }
    for name in [
        "active", "bounce", "corrupt", "defer", "deferred", "flush", "hold", "incoming", "private",
        "saved", "trace",
    ] {
        let path = at.join("queue").join(name);
        make_directory(&path, 0o700);
        give(&path, "postfix", None);
    }
    for (name, mode) in [("queue/maildrop", 0o730), ("queue/public", 0o710)] {
        make_directory(&at.join(name), mode);
        give(&at.join(name), "postfix", Some("postdrop"));
    }
    make_directory(&at.join("data"), 0o700);
    give(&at.join("data"), "postfix", None);
    make_directory(&at.join("mail"), 0o700);
    chown(at.join("mail"), Some(NOBODY), Some(NOBODY)).expect("giving the mailbox away");
}

fn write_settings(at: &Path, authority: &Authority, ports: &[(Port, u16)]) {
    let main = format!("directory = {}\n{MAIN_CF}", at.display());
    program::write(&at.join("config/main.cf"), main);
    let mut master = MASTER_CF.to_owned();
    for ((_, number), (_, name)) in ports.iter().zip(Port::ALL) {
        master = master.replace(name, &number.to_string());
    }
    program::write(&at.join("config/master.cf"), master);
    program::write(&at.join("recipients"), "");
    let refuse = format!("/^Subject:.*{REFUSED_SUBJECT}/ REJECT unwelcome content\n");
    program::write(&at.join("header_checks"), refuse);
    let sasl = format!(
        "pwcheck_method: auxprop\nauxprop_plugin: sasldb\nmech_list: PLAIN LOGIN\nsasldb_path: {}\n",
        at.join("config/sasl/logins").display()
    );
    program::write(&at.join("config/sasl/smtpd.conf"), sasl);
    for (file, names) in [
        ("right", "DNS:localhost,IP:127.0.0.1"),
        ("wrong", "DNS:elsewhere.test.example"),
    ] {
        let identity = authority.issue(file, names);
        let copy = |from: &Path, extension: &str| {
            fs::copy(from, at.join(file).with_extension(extension)).expect("copying a certificate");
        };
        copy(&identity.certificate, "pem");
        copy(&identity.key, "key");
    }
}

fn make_directory(path: &Path, mode: u32) {
    fs::DirBuilder::new()
        .mode(mode)
        .create(path)
        .unwrap_or_else(|error| panic!("making {}: {error}", path.display()));
    // The umask of whoever runs the tests does not matter.
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("setting a mode");
}

fn give(path: &Path, user: &str, group: Option<&str>) {
    let user = User::from_name(user).ok().flatten();
    let uid = user.expect("Postfix's account").uid.as_raw();
    let gid = group.map(|group| {
        let group = Group::from_name(group).ok().flatten();
        group.expect("Postfix's group").gid.as_raw()
    });
    chown(path, Some(uid), gid).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
