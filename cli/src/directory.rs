//! Paths on this machine (XDG Base Directory Specification; system directories for root).

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::Context;

/// Returns the given data directory, or the default one. Creates it if it is missing.
pub(crate) fn data(asked: Option<&Path>) -> anyhow::Result<PathBuf> {
    let path = data_path(asked)?;
    make(&path)?;
    Ok(path)
}

/// Returns the path of the data directory, whether or not it exists.
pub(crate) fn data_path(asked: Option<&Path>) -> anyhow::Result<PathBuf> {
    match asked {
        Some(path) => Ok(std::path::absolute(path)?),
        None => usual("XDG_DATA_HOME", ".local/share", "/var/lib/skillet"),
    }
}

/// The configuration directory of the user, whether or not it exists. Root has one in its home directory too.
pub(crate) fn config_path() -> anyhow::Result<PathBuf> {
    let base = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    if let Some(base) = base.filter(|base| base.is_absolute()) {
        return Ok(base.join("skillet"));
    }
    let home = std::env::var_os("HOME").context("set HOME or XDG_CONFIG_HOME")?;
    Ok(Path::new(&home).join(".config/skillet"))
}

/// Returns the cache directory. Creates it if it is missing.
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
    create(path).with_context(|| format!("cannot create {}", path.display()))
}

/// Creates a directory and its missing parents, independent of the umask. Other users cannot read them. If this process
/// is root, other users can traverse them, because the database and commands run as other users.
///
/// Existing directories are not changed.
pub(crate) fn create(path: &Path) -> io::Result<()> {
    let is_root = rustix::process::geteuid().is_root();
    create_with_mode(path, if is_root { 0o711 } else { 0o700 })
}

/// Creates a directory and its missing parents so that only this user may enter them.
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
            // Another process created it first.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Removes the access of all other users to a directory of this user. A directory of another user is not changed, but
/// causes a warning if it is accessible.
pub(crate) fn close(path: &Path) -> anyhow::Result<()> {
    let look = || format!("cannot read the permissions of {}", path.display());
    let metadata = fs::metadata(path).with_context(look)?;
    let mode = metadata.mode() & 0o7777;
    if mode & 0o077 == 0 {
        return Ok(());
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        let path = path.display();
        tracing::warn!(
            "other users of this machine may read {path}: its owner should run chmod go-rwx {path}"
        );
        return Ok(());
    }
    fs::set_permissions(path, Permissions::from_mode(mode & !0o077)).with_context(|| {
        format!(
            "cannot remove the access of other users to {}",
            path.display()
        )
    })
}

/// Warns about a directory whose files other users could replace. The directory may have other uses too, so its mode is
/// not changed.
pub(crate) fn warn_if_writable(path: &Path) {
    if fs::metadata(path).is_ok_and(|metadata| metadata.mode() & 0o022 != 0) {
        let path = path.display();
        tracing::warn!("other users of this machine may write to {path}: run chmod go-w {path}");
    }
}

/// Atomically and durably writes a file that only this user can read.
pub(crate) fn write_private(path: &Path, text: &str) -> anyhow::Result<()> {
    let write = || {
        let side = path.with_extension("new");
        let mut file = File::create(&side)?;
        file.set_permissions(Permissions::from_mode(0o600))?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&side, path)?;
        // Secrets that were encrypted with a key must not outlive it after a power failure.
        match path.parent() {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}
