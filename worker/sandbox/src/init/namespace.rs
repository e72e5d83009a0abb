//! Namespaces, and the privileges that a process gives up in them.

use std::fs;
use std::io;

use nix::sched::{CloneFlags, unshare};
use nix::unistd::{Gid, Uid, setgroups, setresgid, setresuid};
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

use super::filesystem::USER;
use super::{at, filesystem};
use crate::spec::{SetupFailed, SetupStep};

/// Becomes this user permanently.
pub(super) fn become_user(id: u32) -> io::Result<()> {
    let (user, group) = (Uid::from_raw(id), Gid::from_raw(id));
    setgroups(&[])?;
    setresgid(group, group, group)?;
    setresuid(user, user, user)?;
    // The change of user cleared this flag, without which a process cannot write its own id maps.
    set_dumpable_behavior(DumpableBehavior::Dumpable)?;
    Ok(())
}

/// Creates namespaces of every kind and maps the current user into them. The process namespace starts with the next
/// child of this process.
pub(super) fn make() -> Result<(), SetupFailed> {
    let (user, group) = (Uid::effective(), Gid::effective());
    set_dumpable_behavior(DumpableBehavior::Dumpable).map_err(at(SetupStep::UserMap))?;
    let all = CloneFlags::CLONE_NEWUSER
        | CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS
        | CloneFlags::CLONE_NEWNET
        | CloneFlags::CLONE_NEWCGROUP;
    unshare(all).map_err(at(SetupStep::Namespaces))?;
    let maps = || {
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{USER} {user} 1"))?;
        fs::write("/proc/self/gid_map", format!("{USER} {group} 1"))
    };
    maps().map_err(at(SetupStep::UserMap))
}

/// Gives up every privilege that came with the namespaces, for this process and all processes that it starts.
pub(super) fn seal() -> io::Result<()> {
    rustix::system::sethostname(b"sandbox")?;
    fs::write("/proc/sys/user/max_user_namespaces", "0")?;
    filesystem::close_proc()?;
    clear_ambient_capability_set()?;
    // All capabilities that this kernel knows.
    for bit in 0..u64::BITS {
        match remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << bit)) {
            Err(rustix::io::Errno::INVAL) => break,
            removed => removed?,
        }
    }
    let none = CapabilitySet::empty();
    set_capabilities(
        None,
        CapabilitySets {
            effective: none,
            permitted: none,
            inheritable: none,
        },
    )?;
    set_no_new_privs(true)?;
    Ok(())
}
