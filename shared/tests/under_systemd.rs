//! What a process of its own looks like to the service manager and to whoever reads its stderr.
//!
//! Logging and the environment belong to the whole process, so each case runs this test binary again
//! as a child; `child` is what the child does.

use shared::logging::{Format, Level};
use shared::shutdown::Shutdown;
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Output};
use std::time::Duration;

/// Tells the child what to do; without it `child` is an empty test.
const ROLE: &str = "SHARED_TEST_CHILD_LOG_FORMAT";

fn child_command(format: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command
        .args(["--exact", "child", "--nocapture"])
        .env(ROLE, format)
        .env_remove("NOTIFY_SOCKET")
        .env_remove("WATCHDOG_USEC")
        .env_remove("WATCHDOG_PID");
    command
}

fn run(mut command: Command) -> (Output, String) {
    let output = command.output().expect("the child ran");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{stderr}");
    (output, stderr)
}

#[tokio::test]
async fn child() {
    let format = match std::env::var(ROLE).as_deref() {
        Ok("text") => Format::Text,
        Ok("json") => Format::Json,
        Ok("journald") => Format::Journald,
        _ => return,
    };
    let log = shared::logging::init(Level::Warn, format).expect("the first to set up logging");
    tracing::info!("withheld");
    log.set_level(Level::Info);
    tracing::info!(event.id = 7, "event 7: done");

    let (shutdown, _reloads) = Shutdown::without_signals();
    shared::systemd::ready();
    shared::systemd::status("serving");
    shared::systemd::spawn_watchdog(shutdown.force.clone(), &shutdown.tracker);
    tokio::task::yield_now().await;
    shared::systemd::stopping();
    shutdown.force.cancel();
    shutdown.tracker.close();
    shutdown.tracker.wait().await;
}

#[test]
fn text_lines_read_alone_and_follow_the_level() {
    let (_, stderr) = run(child_command("text"));
    assert!(stderr.contains("INFO event 7: done"), "{stderr}");
    assert!(stderr.contains("event.id=7"), "{stderr}");
    assert!(!stderr.contains("withheld"), "{stderr}");
    assert!(!stderr.contains('\x1b'), "colours in a pipe: {stderr}");
}

#[test]
fn json_lines_carry_the_dotted_names() {
    let (_, stderr) = run(child_command("json"));
    let line = stderr
        .lines()
        .find(|line| line.contains("event 7: done"))
        .expect(&stderr);
    assert!(line.starts_with('{') && line.ends_with('}'), "{line}");
    assert!(line.contains("\"event.id\":7"), "{line}");
    assert!(line.contains("\"level\":\"INFO\""), "{line}");
}

#[test]
fn without_a_journal_lines_go_to_stderr() {
    if std::path::Path::new("/run/systemd/journal/socket").exists() {
        println!("SKIPPED without a journal: this machine has one");
        return;
    }
    let (_, stderr) = run(child_command("journald"));
    assert!(stderr.contains("event 7: done"), "{stderr}");
    assert!(stderr.contains("the journal cannot be reached"), "{stderr}");
}

#[test]
fn the_service_manager_hears_of_start_status_life_and_stop() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("notify");
    let socket = UnixDatagram::bind(&path).expect("a socket");
    socket
        .set_read_timeout(Some(Duration::from_secs(10)))
        .expect("a limit");
    let mut command = child_command("text");
    command
        .env("NOTIFY_SOCKET", &path)
        .env("WATCHDOG_USEC", "30000000");
    run(command);
    let mut heard = Vec::new();
    while !heard
        .iter()
        .any(|line: &String| line.contains("STOPPING=1"))
    {
        let mut buffer = [0; 256];
        let length = socket.recv(&mut buffer).unwrap_or_else(|error| {
            panic!("{error}; heard only {heard:?}");
        });
        heard.push(String::from_utf8_lossy(&buffer[..length]).trim().to_owned());
    }
    assert_eq!(
        heard,
        ["READY=1", "STATUS=serving", "WATCHDOG=1", "STOPPING=1"]
    );
}
