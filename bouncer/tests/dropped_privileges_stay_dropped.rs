//! Once root has become the service account there is no way back. One test, alone in its executable: what it drops, the whole
//! process has dropped.

use nix::unistd::{Gid, Uid, User, setegid, seteuid, setgid, setgroups, setresuid, setuid};
use pepsi_failure_bouncer::privilege;
use std::fs::File;

/// An account without privileges that every machine has.
const ACCOUNT: &str = "nobody";

#[test]
fn whatever_is_tried() {
    if !Uid::effective().is_root() {
        fleet_tests::skip!("root", "the test does not run as root");
    }
    // For root's eyes only, as a configuration file may be.
    let secret = "/etc/shadow";
    assert!(File::open(secret).is_ok());
    assert!(privilege::drop_to(ACCOUNT).unwrap());

    let account = User::from_name(ACCOUNT).unwrap().unwrap();
    assert_eq!(
        (Uid::current(), Uid::effective()),
        (account.uid, account.uid)
    );
    let root = Uid::from_raw(0);
    assert!(setuid(root).is_err());
    assert!(seteuid(root).is_err());
    assert!(setresuid(root, root, root).is_err());
    assert!(setgid(Gid::from_raw(0)).is_err());
    assert!(setegid(Gid::from_raw(0)).is_err());
    assert!(setgroups(&[Gid::from_raw(0)]).is_err());
    assert!(File::open(secret).is_err());

    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        let expected = format!("{set}:\t0000000000000000");
        assert!(status.lines().any(|line| line == expected), "{status}");
    }
    assert!(
        status.lines().any(|line| line == "NoNewPrivs:\t1"),
        "{status}"
    );
    // There is nothing left to drop: the account goes on as it is.
    assert!(!privilege::drop_to("no-such-account").unwrap());
}
