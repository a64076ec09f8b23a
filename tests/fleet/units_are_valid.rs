//! systemd accepts the units as they are shipped, and cron the crontab.

use std::path::{Path, PathBuf};
use std::process::Command;

use fleet_tests::skip;

/// Programs that are not installed where the tests run: any other stands in for them.
const OURS: [&str; 2] = [
    "/usr/bin/pg-relay-processor",
    "/usr/bin/pepsi-failure-bouncer",
];

fn shipped(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

fn with_stand_in(path: &Path) -> String {
    let text = std::fs::read_to_string(path).expect("a text");
    OURS.iter()
        .fold(text, |text, program| text.replace(program, "/bin/true"))
}

/// What systemd says about the unit `name` in `directory`, and whether it would load it.
fn verify(directory: &Path, name: &str) {
    let verified = Command::new("systemd-analyze")
        .args(["verify", "--man=no"])
        .arg(directory.join(name))
        // Units refer to each other, and drop-ins lie beside them.
        .env("SYSTEMD_UNIT_PATH", format!("{}:", directory.display()))
        .output()
        .expect("systemd-analyze runs");
    let complaints = String::from_utf8_lossy(&verified.stderr);
    let about_it: Vec<&str> = complaints
        .lines()
        .filter(|line| line.contains(name))
        .collect();
    assert!(about_it.is_empty(), "{about_it:#?}");
    assert!(verified.status.success(), "{complaints}");
}

fn have_systemd() -> bool {
    let version = Command::new("systemd-analyze").arg("--version").output();
    version.is_ok()
}

/// Copies the units into `directory` and gives their names.
fn copy_units(directory: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(shipped("systemd")).expect("the units") {
        let path = entry.expect("a unit").path();
        if path.is_file() {
            let name = path.file_name().expect("a name").to_string_lossy();
            std::fs::write(directory.join(&*name), with_stand_in(&path)).expect("a copy");
            names.push(name.into_owned());
        }
    }
    names
}

#[test]
fn and_nothing_in_them_is_unknown() {
    if !have_systemd() {
        skip!("systemd", "systemd-analyze is not installed");
    }
    let scratch = tempfile::tempdir().expect("a directory");
    let names = copy_units(scratch.path());
    for name in &names {
        verify(scratch.path(), name);
    }
    for expected in [
        "pg-relay-processor.service",
        "pepsi-failure-bouncer.service",
        "pepsi-failure-bouncer-once.service",
        "pepsi-failure-bouncer-once.timer",
    ] {
        assert!(names.iter().any(|name| name == expected), "{names:?}");
    }
}

#[test]
fn nor_in_the_variant_with_an_account() {
    const UNIT: &str = "pepsi-failure-bouncer.service";
    if !have_systemd() {
        skip!("systemd", "systemd-analyze is not installed");
    }
    let scratch = tempfile::tempdir().expect("a directory");
    copy_units(scratch.path());
    let example = shipped("systemd").join(format!("{UNIT}.d/user.conf.example"));
    let drop_in = scratch.path().join(format!("{UNIT}.d"));
    std::fs::create_dir(&drop_in).expect("a directory");
    // The account need not exist where the tests run.
    let text = with_stand_in(&example).replace("=pepsi", "=root");
    std::fs::write(drop_in.join("user.conf"), text).expect("a copy");
    verify(scratch.path(), UNIT);
}

#[test]
fn services_start_a_binary_of_ours_and_stay_down_when_a_restart_cures_nothing() {
    for entry in std::fs::read_dir(shipped("systemd")).expect("the units") {
        let path = entry.expect("a unit").path();
        if path
            .extension()
            .is_none_or(|extension| extension != "service")
        {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a text");
        let starts = |program: &&str| text.contains(&format!("ExecStart={program} "));
        assert!(OURS.iter().any(starts), "{}", path.display());
        if text.contains("Restart=on-failure") {
            assert!(
                text.contains("\nRestartPreventExitStatus=64 76 77 78\n"),
                "{}",
                path.display()
            );
        }
    }
}

#[test]
fn the_crontab_has_five_times_an_account_and_a_command() {
    let text = std::fs::read_to_string(shipped("conf/pepsi-failure-bouncer.cron")).expect("a text");
    let entries: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.contains('=') || line.starts_with('*'))
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(entries.len(), 1, "{entries:?}");
    let words = &entries[0];
    assert!(
        words[..5].iter().all(|time| time.starts_with('*')),
        "{words:?}"
    );
    assert_eq!(words[5..7], ["root", "pepsi-failure-bouncer"]);
    assert!(words.contains(&"--once"), "{words:?}");
    // cron takes a per cent sign for a line break.
    assert!(
        !text
            .lines()
            .any(|line| line.starts_with('*') && line.contains('%'))
    );
}
