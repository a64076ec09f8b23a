//! Started as root the bouncer becomes its account before it connects, for good. If it cannot, it ends with 77 and has connected nowhere.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::process::Command;

use fleet_tests::bouncer::{self, starts_as_root};
use fleet_tests::command::Output;
use fleet_tests::daemon::Daemon;
use fleet_tests::database::Database;
use fleet_tests::postgres::{PrivateOptions, Server};
use fleet_tests::{skip, wait};
use nix::unistd::{User, getgrouplist};

use crate::{ingress, mounted};

/// The account that servers of the tests run as; it can reach their sockets, and is the superuser by peer authentication.
const SERVICE: &str = "postgres";

/// The words behind a name in /proc/PID/task/TID/status.
fn words<'a>(status: &'a str, name: &str) -> Vec<&'a str> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("no {name}"))
        .split_whitespace()
        .collect()
}

/// Looks at every thread: capabilities, and even ids, belong to threads.
fn assert_unprivileged(daemon: &Daemon, account: &str) {
    let user = User::from_name(account)
        .expect("the accounts")
        .expect("the account");
    let name = std::ffi::CString::new(account).expect("a name");
    let own = getgrouplist(&name, user.gid).expect("the groups");
    let own: BTreeSet<String> = own.iter().map(ToString::to_string).collect();
    let (uid, gid) = (user.uid.to_string(), user.gid.to_string());
    let threads = std::fs::read_dir(format!("/proc/{}/task", daemon.pid())).expect("the threads");
    for thread in threads {
        let status = thread.expect("a thread").path().join("status");
        let status = std::fs::read_to_string(status).expect("the thread's status");
        assert_eq!(words(&status, "Uid"), [&uid; 4], "{status}");
        assert_eq!(words(&status, "Gid"), [&gid; 4], "{status}");
        let groups: BTreeSet<String> = words(&status, "Groups")
            .iter()
            .map(|word| (*word).to_owned())
            .collect();
        assert!(groups.is_subset(&own), "{groups:?} are not of {own:?}");
        for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
            assert_eq!(words(&status, set), ["0000000000000000"], "{set}: {status}");
        }
        assert_eq!(words(&status, "NoNewPrivs"), ["1"], "{status}");
    }
}

#[tokio::test]
async fn and_is_let_in_as_the_account_by_peer_authentication() {
    if !starts_as_root() {
        skip!("root", "the tests do not run as root");
    }
    let server = Server::private(PrivateOptions {
        hba: &["local all all peer"],
        ..PrivateOptions::default()
    })
    .await;
    let db = bouncer::database_on(&server).await;
    let builder = bouncer::builder(&db)
        .set("USER", SERVICE)
        .unset("pepsi-postgres", "USER")
        .set_in(
            "pepsi-postgres",
            "HOST",
            server.socket_dir().display().to_string(),
        );
    let bouncer = bouncer::start(builder).await;
    let id = ingress::stuck(&db, "relay", "failed").await;
    ingress::wait_until_bounced(&db, id, wait::SOON).await;
    assert_unprivileged(&bouncer, SERVICE);
    let moved_by =
        "SELECT moved_by FROM pepsi.ingress_trail WHERE ingress_id = $1 AND client IS NULL";
    assert_eq!(db.query_one::<String>(moved_by, &[&id]).await, SERVICE);

    // The file was for root's eyes only: it was read before, and can no longer be.
    let config = bouncer.config_path();
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &config.metadata().expect("the file").permissions(),
    );
    assert_eq!(mode & 0o077, 0);
    let mut bouncer = bouncer;
    bouncer.signal(nix::sys::signal::Signal::SIGHUP);
    bouncer
        .wait_for_log("the configuration stays as it was", wait::SOON)
        .await;
    assert!(
        bouncer.logs().contains("Permission denied"),
        "{}",
        bouncer.logs()
    );
}

/// Runs `--once` against a port at which every connection would be noticed; there must be none.
async fn run_unconnected(
    change: impl FnOnce(fleet_tests::daemon::Builder) -> fleet_tests::daemon::Builder,
) -> Output {
    let db = Database::empty().await;
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener
        .set_nonblocking(true)
        .expect("a listener that does not wait");
    let port = listener.local_addr().expect("an address").port();
    let builder = bouncer::builder(&db)
        .set_in("pepsi-postgres", "HOST", "127.0.0.1")
        .set_in("pepsi-postgres", "PORT", port);
    let output = change(builder).arg("--once").run().await;
    let connected = listener.accept();
    assert!(
        connected.is_err(),
        "it has connected: {connected:?} {output}"
    );
    output
}

#[tokio::test]
async fn and_ends_with_77_when_it_cannot() {
    if !starts_as_root() {
        skip!("root", "the tests do not run as root");
    }
    let no_account = |builder: fleet_tests::daemon::Builder| builder.set("USER", "no-such-account");
    let output = run_unconnected(no_account).await;
    assert_eq!(output.code, 77, "{output}");
    assert_eq!(
        output.stderr,
        "pepsi-failure-bouncer: cannot become the account \"no-such-account\" ([pepsi-failure-bouncer] USER): there is no such account\n"
    );
    let output = run_unconnected(|builder| builder.set("USER", "root")).await;
    assert_eq!(output.code, 77, "{output}");
    assert!(output.stderr.contains("that is root again"), "{output}");
    if Command::new("setpriv").arg("--version").output().is_err() {
        skip!("root", "setpriv is not installed");
    }
    // Root without the right to change groups, or user ids: each step that fails is fatal.
    for (right, call) in [("setgid", "initgroups"), ("setuid", "setresuid")] {
        let without = format!("-{right}");
        let launcher = [
            "setpriv",
            "--bounding-set",
            &without,
            "--inh-caps",
            &without,
        ];
        let output = run_unconnected(|builder| builder.through(&launcher)).await;
        assert_eq!(output.code, 77, "{output}");
        let expected = format!("{call}: Operation not permitted");
        assert!(output.stderr.contains(&expected), "{output}");
    }
}

#[tokio::test]
async fn and_works_as_it_is_when_it_is_not_root() {
    let db = bouncer::database().await;
    let id = ingress::stuck(&db, "relay", "failed").await;
    // Whom it would become as root does not matter.
    let builder = bouncer::builder(&db).set("USER", "no-such-account");
    let output = if starts_as_root() {
        if Command::new("setpriv").arg("--version").output().is_err() {
            skip!("root", "setpriv is not installed");
        }
        run_as_nobody(builder).await
    } else {
        builder.arg("--once").run().await
    };
    assert_eq!(output.code, 0, "{output}");
    assert_eq!(
        output.stdout,
        "bounced 1 (failed 1, timeout 0), left 0 at stage bounce\n"
    );
    assert_eq!(ingress::place(&db, id).await, "bounce/pending");
}

/// Root's files, and perhaps the build directory, are out of reach for others: it gets copies.
async fn run_as_nobody(builder: fleet_tests::daemon::Builder) -> Output {
    let shell = r#"
        set -e
        copy=$(mktemp -d)
        trap 'rm -rf "$copy"' EXIT
        cp "$0" "$copy/bouncer"
        cp "$2" "$copy/pepsi.conf"
        chown -R nobody "$copy"
        setpriv --reuid nobody --regid "$(id -g nobody)" --clear-groups "$copy/bouncer" --config "$copy/pepsi.conf" --once"#;
    builder.through(&["sh", "-c", shell]).run().await
}

#[tokio::test]
async fn and_no_account_with_the_group_of_root_will_do() {
    let accounts = tempfile::NamedTempFile::new().expect("a file");
    let known = std::fs::read_to_string("/etc/passwd").expect("the accounts");
    let text = format!("{known}half:x:4321:0::/nonexistent:/usr/sbin/nologin\n");
    std::fs::write(&accounts, text).expect("the accounts and one more");
    std::fs::set_permissions(
        &accounts,
        std::os::unix::fs::PermissionsExt::from_mode(0o644),
    )
    .expect("a file for everybody");
    let Some(launcher) = mounted::launcher(accounts.path(), "/etc/passwd") else {
        skip!("root", "no mount namespace may be made");
    };
    let launcher: Vec<&str> = launcher.iter().map(String::as_str).collect();
    let output = run_unconnected(|builder| builder.set("USER", "half").through(&launcher)).await;
    assert_eq!(output.code, 77, "{output}");
    assert!(
        output.stderr.contains("it is in the group of root"),
        "{output}"
    );
}

/// The capabilities that a unit leaves to its process, as setpriv names them.
fn bounding_set(unit: &str) -> String {
    let path = format!("{}/../systemd/{unit}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the unit");
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("CapabilityBoundingSet="));
    let names = line.expect("a set").split_whitespace();
    let names = names.map(|name| name.trim_start_matches("CAP_").to_lowercase());
    names.fold("-all".to_owned(), |set, name| format!("{set},+{name}"))
}

#[tokio::test]
async fn and_reads_a_password_of_another_account_as_its_unit_starts_it() {
    if !starts_as_root() || Command::new("setpriv").arg("--version").output().is_err() {
        skip!(
            "root",
            "the tests do not run as root, or setpriv is not installed"
        );
    }
    let db = bouncer::database().await;
    let directory = tempfile::tempdir().expect("a directory");
    let password = directory.path().join("password");
    std::fs::write(&password, "swordfish").expect("a password");
    std::fs::set_permissions(
        &password,
        std::os::unix::fs::PermissionsExt::from_mode(0o600),
    )
    .expect("a file for its owner");
    let owner = User::from_name(SERVICE).expect("the accounts").expect("it");
    for path in [password.as_path(), directory.path()] {
        std::os::unix::fs::chown(path, Some(owner.uid.as_raw()), None).expect("another owner");
    }
    for unit in [
        "pepsi-failure-bouncer.service",
        "pepsi-failure-bouncer-once.service",
    ] {
        let set = bounding_set(unit);
        let output = bouncer::builder(&db)
            .set_in(
                "pepsi-postgres",
                "PASSWORD_FILE",
                password.display().to_string(),
            )
            .through(&["setpriv", "--bounding-set", &set, "--inh-caps", "-all"])
            .arg("--once")
            .run()
            .await;
        assert_eq!(output.code, 0, "{unit}: {output}");
    }
}
