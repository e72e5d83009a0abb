//! Landlock rules (landlock(7)) for machines without namespaces: files, and signals to other processes.

use std::io;
use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    RestrictionStatus, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus,
    Scope,
};
use rustix::process::{getppid, test_kill_process};

use super::{at, filesystem};
use crate::spec::{SetupFailed, SetupStep};

/// The requested version. An older kernel enforces the parts that it supports.
const NEWEST: ABI = ABI::V6;
/// The oldest accepted version. Below it, files cannot be confined completely.
const OLDEST: ABI = ABI::V2;

/// Confines this thread, and all processes that it starts, to the programs that it can run and the job's own
/// directories, which are `.` and `../tmp`.
pub(super) fn restrict(read_only: &[PathBuf]) -> Result<(), SetupFailed> {
    ruleset(read_only).map_err(|error| {
        let _: RulesetError = error;
        at(SetupStep::Landlock)(io::Error::from_raw_os_error(libc::ENOSYS))
    })
}

/// Prevents this process, and all processes that it starts, from sending signals to other processes. Returns whether
/// this is enforced, which needs Linux 6.12.
pub(super) fn keep_signals_in() -> bool {
    let restrict = || {
        let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        // Every ruleset denies links between directories unless it allows them.
        let ruleset = ruleset.handle_access(AccessFs::Refer)?;
        let ruleset = ruleset.scope(Scope::Signal)?.create()?;
        allow(ruleset, "/".into(), AccessFs::Refer.into())?.restrict_self()
    };
    let restricted: Result<_, RulesetError> = restrict();
    let is_enforced = |status: RestrictionStatus| status.ruleset == RulesetStatus::FullyEnforced;
    // The check uses the launcher, because this process did not start it. If the launcher is root, it cannot be
    // signalled anyway.
    restricted.is_ok_and(is_enforced)
        && getppid().is_some_and(|launcher| test_kill_process(launcher).is_err())
}

fn ruleset(read_only: &[PathBuf]) -> Result<(), RulesetError> {
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(OLDEST))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?;
    let mut ruleset = ruleset.create()?;
    let read = AccessFs::from_read(NEWEST);
    let shown = filesystem::shown().map(PathBuf::from);
    for path in shown.chain(read_only.iter().cloned()) {
        ruleset = allow(ruleset, path, read)?;
    }
    for path in filesystem::devices() {
        ruleset = allow(ruleset, path, AccessFs::ReadFile | AccessFs::WriteFile)?;
    }
    for path in [".", "../tmp"] {
        ruleset = allow(ruleset, path.into(), AccessFs::from_all(NEWEST))?;
    }
    ruleset.restrict_self()?;
    Ok(())
}

/// Adds a rule for a path. Paths that do not exist are skipped.
fn allow(
    ruleset: landlock::RulesetCreated,
    path: PathBuf,
    access: BitFlags<AccessFs>,
) -> Result<landlock::RulesetCreated, RulesetError> {
    match PathFd::new(&path) {
        Ok(opened) if path.is_dir() => ruleset.add_rule(PathBeneath::new(opened, access)),
        Ok(opened) => ruleset.add_rule(PathBeneath::new(
            opened,
            access & AccessFs::from_file(NEWEST),
        )),
        Err(_) => Ok(ruleset),
    }
}
