//! Paths on this machine (XDG Base Directory Specification; system directories for root).

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::Context;

/// The data directory that was asked for, or the usual one; made if it is missing.
pub(crate) fn data(asked: Option<&Path>) -> anyhow::Result<PathBuf> {
    let path = data_path(asked)?;
    make(&path)?;
    Ok(path)
}

/// Where that is, whether or not it is there.
pub(crate) fn data_path(asked: Option<&Path>) -> anyhow::Result<PathBuf> {
    match asked {
        Some(path) => Ok(std::path::absolute(path)?),
        None => usual("XDG_DATA_HOME", ".local/share", "/var/lib/skillet"),
    }
}

/// The directory of the user's own configuration, whether or not it exists. For root too it is the user's own.
pub(crate) fn config_path() -> anyhow::Result<PathBuf> {
    let base = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    if let Some(base) = base.filter(|base| base.is_absolute()) {
        return Ok(base.join("skillet"));
    }
    let home = std::env::var_os("HOME").context("set HOME or XDG_CONFIG_HOME")?;
    Ok(Path::new(&home).join(".config/skillet"))
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

fn make(path: &Path) -> anyhow::Result<()> {
    create(path).with_context(|| format!("cannot make {}", path.display()))
}

/// Creates a directory where it is missing, and those above it, whatever the process's umask. Nobody else may read it.
/// As root the database and commands run as other users, who must be able to pass through.
///
/// Those that exist stay as they are.
pub(crate) fn create(path: &Path) -> io::Result<()> {
    let is_root = rustix::process::geteuid().is_root();
    create_with_mode(path, if is_root { 0o711 } else { 0o700 })
}

/// The same for a directory that only this user may enter.
pub(crate) fn create_private(path: &Path) -> io::Result<()> {
    create_with_mode(path, 0o700)
}

fn create_with_mode(path: &Path, mode: u32) -> io::Result<()> {
    let missing: Vec<_> = path
        .ancestors()
        .take_while(|directory| !directory.exists())
        .collect();
    for directory in missing.into_iter().rev() {
        match fs::create_dir(directory) {
            Ok(()) => fs::set_permissions(directory, Permissions::from_mode(mode))?,
            // Another process was first.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Closes a directory of ours to all other users. One that belongs to somebody else stays as it is, with a warning if
/// it is open.
pub(crate) fn close(path: &Path) -> anyhow::Result<()> {
    let look = || format!("cannot look at {}", path.display());
    let metadata = fs::metadata(path).with_context(look)?;
    let mode = metadata.mode() & 0o7777;
    if mode & 0o077 == 0 {
        return Ok(());
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        let path = path.display();
        tracing::warn!("other users of this machine may read {path}: have its owner close it");
        return Ok(());
    }
    fs::set_permissions(path, Permissions::from_mode(mode & !0o077))
        .with_context(|| format!("cannot close {} to other users", path.display()))
}

/// Warns of a directory whose files other users could replace. It may be meant for more than Skillet, so it is not
/// closed.
pub(crate) fn warn_if_writable(path: &Path) {
    if fs::metadata(path).is_ok_and(|metadata| metadata.mode() & 0o022 != 0) {
        let path = path.display();
        tracing::warn!("other users of this machine may write to {path}: chmod go-w {path}");
    }
}

/// Writes a file that only this user can read, all of it or nothing.
pub(crate) fn write_private(path: &Path, text: &str) -> anyhow::Result<()> {
    let side = path.with_extension("new");
    fs::write(&side, "")
        .and_then(|()| fs::set_permissions(&side, Permissions::from_mode(0o600)))?;
    fs::write(&side, text)?;
    fs::rename(&side, path).with_context(|| format!("cannot write {}", path.display()))
}
