//! From root to the service account, for good.
//!
//! To be done before the database is connected to, so that peer authentication sees the account, and before the runtime starts its
//! threads, because capabilities belong to threads. What only root may read is read before.
//!
//! In this order, for each step takes the right to the ones before it away: the account's own groups (initgroups(3)), the group ids
//! and then the user ids, real, effective and saved (setresgid(2), setresuid(2)), the capabilities (capset(2)), and no_new_privs
//! (prctl(2)), so that no set-uid program can give anything back. Then it is proven: the ids are looked at, and root is asked for.

use nix::errno::Errno;
use nix::sys::prctl;
use nix::unistd::{
    Gid, Uid, User, getgrouplist, getgroups, getresgid, getresuid, initgroups, seteuid, setresgid,
    setresuid, setuid,
};
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};
use std::collections::BTreeSet;
use std::ffi::CString;
use thiserror::Error;

/// Why the process is not the service account. It must not go on.
#[derive(Debug, Error)]
#[error("cannot become the account \"{account}\" ([pepsi-failure-bouncer] USER): {reason}")]
pub struct PrivilegeError {
    account: String,
    reason: Reason,
}

#[derive(Debug, Error)]
enum Reason {
    #[error("there is no such account")]
    NoAccount,
    #[error("that is root again; name an account without privileges")]
    IsRoot,
    #[error("it is in the group of root (gid 0); name an account without privileges")]
    HasRootGroup,
    #[error("{call}: {source}")]
    Refused {
        call: &'static str,
        source: std::io::Error,
    },
    #[error("it still has {what}")]
    Left { what: &'static str },
}

/// Becomes the account `name` when the process is root in any way; otherwise nothing is changed. Returns whether it did.
pub fn drop_to(name: &str) -> Result<bool, PrivilegeError> {
    if !is_root_somehow() {
        return Ok(false);
    }
    become_account(name).map_err(|reason| PrivilegeError {
        account: name.to_owned(),
        reason,
    })?;
    Ok(true)
}

/// A real or saved user id of root is as good as an effective one: it can be taken up again.
fn is_root_somehow() -> bool {
    let ids = getresuid().map(|ids| [ids.real, ids.effective, ids.saved]);
    // A process that cannot be asked is treated as one that has something to lose.
    ids.map_or(true, |ids| ids.iter().any(|id| id.is_root()))
}

fn become_account(name: &str) -> Result<(), Reason> {
    let account = User::from_name(name)
        .map_err(refused("looking the account up"))?
        .ok_or(Reason::NoAccount)?;
    if account.uid.is_root() {
        return Err(Reason::IsRoot);
    }
    let login = CString::new(name).map_err(|_| Reason::NoAccount)?;
    let (uid, gid) = (account.uid, account.gid);
    let groups = getgrouplist(&login, gid).map_err(refused("getgrouplist"))?;
    if groups.contains(&Gid::from_raw(0)) {
        return Err(Reason::HasRootGroup);
    }
    initgroups(&login, gid).map_err(refused("initgroups"))?;
    setresgid(gid, gid, gid).map_err(refused("setresgid"))?;
    setresuid(uid, uid, uid).map_err(refused("setresuid"))?;
    let none = CapabilitySet::empty();
    let nothing = CapabilitySets {
        effective: none,
        permitted: none,
        inheritable: none,
    };
    set_capabilities(None, nothing).map_err(refused("capset"))?;
    prctl::set_no_new_privs().map_err(refused("prctl(PR_SET_NO_NEW_PRIVS)"))?;
    prove(&login, uid, gid)
}

/// Believes nothing: neither that a call that succeeded did what it should, nor that there is no way back.
fn prove(login: &CString, uid: Uid, gid: Gid) -> Result<(), Reason> {
    let left = |what| Err(Reason::Left { what });
    let users = getresuid().map_err(refused("getresuid"))?;
    if [users.real, users.effective, users.saved] != [uid; 3] {
        return left("another user id");
    }
    let groups = getresgid().map_err(refused("getresgid"))?;
    if [groups.real, groups.effective, groups.saved] != [gid; 3] {
        return left("another group id");
    }
    let held = getgroups().map_err(refused("getgroups"))?;
    let own = getgrouplist(login, gid).map_err(refused("getgrouplist"))?;
    let set = |groups: &[Gid]| {
        groups
            .iter()
            .map(|group| group.as_raw())
            .collect::<BTreeSet<_>>()
    };
    if !set(&held).is_subset(&set(&own)) {
        return left("groups that are not its own");
    }
    let have = capabilities(None).map_err(refused("capget"))?;
    if !(have.effective | have.permitted | have.inheritable).is_empty() {
        return left("capabilities");
    }
    let root = Uid::from_raw(0);
    if setuid(root).is_ok() || seteuid(root).is_ok() || setresuid(root, root, root).is_ok() {
        return left("a way back to root");
    }
    if !prctl::get_no_new_privs().map_err(refused("prctl(PR_GET_NO_NEW_PRIVS)"))? {
        return left("a way to new privileges");
    }
    Ok(())
}

/// Wraps the error of a system call; for `map_err`.
fn refused<E: Into<Failure>>(call: &'static str) -> impl FnOnce(E) -> Reason {
    move |error| {
        let Failure(source) = error.into();
        Reason::Refused { call, source }
    }
}

/// nix and rustix each have an error number of their own.
struct Failure(std::io::Error);

impl From<Errno> for Failure {
    fn from(errno: Errno) -> Self {
        Self(errno.into())
    }
}

impl From<rustix::io::Errno> for Failure {
    fn from(errno: rustix::io::Errno) -> Self {
        Self(errno.into())
    }
}
