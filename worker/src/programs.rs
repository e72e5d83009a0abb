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

/// Those of the named programs that are there, and that commands see.
pub fn installed<'a>(
    names: impl IntoIterator<Item = &'a str>,
    is_seen: impl Fn(&Path) -> bool,
) -> BTreeSet<String> {
    names
        .into_iter()
        .filter(|name| is_installed(name, &is_seen))
        .map(str::to_owned)
        .collect()
}

fn is_installed(name: &str, is_seen: impl Fn(&Path) -> bool) -> bool {
    // Tenants' skills name programs, too: no name is a way to look elsewhere.
    let is_plain = !name.is_empty() && !name.contains(['/', '\0']);
    is_plain
        && FOLDERS.iter().any(|folder| {
            // A link may lead to where commands cannot follow.
            let Ok(path) = Path::new(folder).join(name).canonicalize() else {
                return false;
            };
            let found = path.metadata();
            is_seen(&path)
                && found.is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
        })
}
