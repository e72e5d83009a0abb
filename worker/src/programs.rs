//! Which programs this machine has.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Where commands find programs: the `PATH` that they are given.
const FOLDERS: [&str; 6] = [
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
];

/// Those of the named programs that are there.
pub fn installed<'a>(names: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    names
        .into_iter()
        .filter(|name| is_installed(name))
        .map(str::to_owned)
        .collect()
}

fn is_installed(name: &str) -> bool {
    FOLDERS.iter().any(|folder| {
        let found = Path::new(folder).join(name).metadata();
        found.is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    })
}
