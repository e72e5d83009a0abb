//! Where things are on this machine (XDG Base Directory Specification; system directories for root).

use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::Context;

/// The data directory that was asked for, or the usual one; made if it is missing.
pub(crate) fn data(asked: Option<&Path>) -> anyhow::Result<PathBuf> {
    let path = match asked {
        Some(path) => std::path::absolute(path)?,
        None => usual("XDG_DATA_HOME", ".local/share", "/var/lib/skillet")?,
    };
    make(&path)?;
    Ok(path)
}

/// The cache directory; made if it is missing.
pub(crate) fn cache() -> anyhow::Result<PathBuf> {
    let path = usual("XDG_CACHE_HOME", ".cache", "/var/cache/skillet")?;
    make(&path)?;
    Ok(path)
}

fn usual(variable: &str, under_home: &str, for_root: &str) -> anyhow::Result<PathBuf> {
    if rustix::process::geteuid().is_root() {
        return Ok(for_root.into());
    }
    if let Some(base) = std::env::var_os(variable)
        .map(PathBuf::from)
        .filter(|base| base.is_absolute())
    {
        return Ok(base.join("skillet"));
    }
    let home =
        std::env::var_os("HOME").context("HOME is not set; name a directory with --data-dir")?;
    Ok(Path::new(&home).join(under_home).join("skillet"))
}

/// As root the database runs as another user, who must be able to pass through; nobody else may read.
fn make(path: &Path) -> anyhow::Result<()> {
    let mode = if rustix::process::geteuid().is_root() {
        0o711
    } else {
        0o700
    };
    let made = fs::DirBuilder::new()
        .recursive(true)
        .mode(mode)
        .create(path);
    made.with_context(|| format!("cannot make {}", path.display()))
}

/// Writes a file that only this user can read, all of it or nothing.
pub(crate) fn write_private(path: &Path, text: &str) -> anyhow::Result<()> {
    let side = path.with_extension("new");
    fs::write(&side, "")
        .and_then(|()| fs::set_permissions(&side, fs::Permissions::from_mode(0o600)))?;
    fs::write(&side, text)?;
    fs::rename(&side, path).with_context(|| format!("cannot write {}", path.display()))
}
