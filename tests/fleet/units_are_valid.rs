//! systemd accepts the units as they are shipped.

use std::path::Path;
use std::process::Command;

use fleet_tests::skip;

#[test]
fn and_nothing_in_them_is_unknown() {
    if Command::new("systemd-analyze")
        .arg("--version")
        .output()
        .is_err()
    {
        skip!("systemd", "systemd-analyze is not installed");
    }
    let units = Path::new(env!("CARGO_MANIFEST_DIR")).join("../systemd");
    let scratch = tempfile::tempdir().expect("a directory");
    for entry in std::fs::read_dir(units).expect("the units") {
        let path = entry.expect("a unit").path();
        let name = path.file_name().expect("a name");
        // The binaries are not installed where the tests run: any program stands in for them.
        let text = std::fs::read_to_string(&path).expect("a text");
        let stand_in = text.replace("/usr/bin/pg-relay-processor", "/bin/true");
        assert_ne!(
            text,
            stand_in,
            "{} starts no binary of ours",
            path.display()
        );
        let copy = scratch.path().join(name);
        std::fs::write(&copy, stand_in).expect("a copy");
        let verified = Command::new("systemd-analyze")
            .args(["verify", "--man=no"])
            .arg(&copy)
            .output()
            .expect("systemd-analyze runs");
        let complaints = String::from_utf8_lossy(&verified.stderr);
        let about_it: Vec<&str> = complaints
            .lines()
            .filter(|line| line.contains(&*name.to_string_lossy()))
            .collect();
        assert!(about_it.is_empty(), "{about_it:#?}");
        assert!(verified.status.success(), "{complaints}");
    }
}
