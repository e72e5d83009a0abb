//! The job's own directory. Whatever a model names in it is opened through a descriptor and never
//! leads out (openat2(2), `RESOLVE_BENEATH`).

mod access;
mod entry;
#[cfg(test)]
mod race;
mod remove;
mod replace;
mod root;
mod snapshot;
mod survey;

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) use access::{AccessError, EntryKind};
pub(crate) use replace::Replaced;
pub(crate) use root::WorkspaceRoot;
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
pub(crate) use snapshot::Snapshots;
pub(crate) use survey::FileSize;

use tokio::time::timeout;

use crate::sandbox::{Identity, Underway};

/// What a job has on this machine: its workspace, and `/tmp`. Both go when this is dropped.
pub(crate) struct Workspace {
    path: PathBuf,
    job: File,
    directory: File,
    identity: Option<Identity>,
    underway: Underway,
}

/// How long what is left of a command may hold up the removal of its files.
const QUIET_PATIENCE: Duration = Duration::from_secs(3);
/// What the workspace is called in a sandbox.
const INSIDE: &str = "/workspace";

impl Workspace {
    /// Makes an empty one that only the job's user can enter, which is ours if it has none of its own.
    pub(crate) fn create(path: PathBuf, identity: Option<Identity>) -> io::Result<Self> {
        let workspace = path.join("workspace");
        for directory in [&path, &workspace, &path.join("tmp")] {
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(directory)?;
            if let Some(Identity { id, .. }) = identity {
                std::os::unix::fs::lchown(directory, Some(id), Some(id))?;
            }
        }
        Ok(Self {
            job: File::open(&path)?,
            directory: File::open(&workspace)?,
            path,
            identity,
            underway: Underway::default(),
        })
    }

    /// Its place on the host, and that of the job's `/tmp`.
    pub(crate) fn places(&self) -> (String, String) {
        let at = |name| self.path.join(name).display().to_string();
        (at("workspace"), at("tmp"))
    }

    /// The user that commands run as, if that is not ours.
    pub(crate) fn identity(&self) -> Option<u32> {
        self.identity.as_ref().map(|identity| identity.id)
    }

    /// The directory that holds `workspace` and `tmp`.
    pub(crate) fn job_directory(&self) -> &File {
        &self.job
    }

    /// What runs in it.
    pub(crate) fn underway(&self) -> &Underway {
        &self.underway
    }

    /// Waits until nothing runs in it any more. Nothing may begin from now on.
    pub(crate) async fn quiet(&self) {
        // What does not die has been logged.
        let _ = timeout(QUIET_PATIENCE, self.underway.quiet()).await;
    }

    /// Opens a regular file by its path from here, through no link. It may have other names.
    fn open_own(&self, path: &str) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve = BENEATH.union(ResolveFlags::NO_SYMLINKS);
        let file: File = openat2(&self.directory, path, flags, Mode::empty(), resolve)?.into();
        if file.metadata()?.is_file() {
            Ok(file)
        } else {
            Err(io::ErrorKind::InvalidInput.into())
        }
    }

    /// A path as models write it: relative, or absolute where the shell showed them where it is.
    fn relative(&self, named: &str) -> PathBuf {
        let path = Path::new(named.trim());
        let inner = path
            .strip_prefix(INSIDE)
            .or_else(|_| path.strip_prefix(self.path.join("workspace")));
        match inner {
            Ok(inner) if inner.as_os_str().is_empty() => ".".into(),
            Ok(inner) => inner.to_owned(),
            Err(_) => path.to_owned(),
        }
    }
}

const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);

impl Drop for Workspace {
    fn drop(&mut self) {
        if let Err(error) = remove::remove_tree(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "a workspace could not be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use shared::event::AssetRejection;

    use super::*;

    #[test]
    fn no_path_leads_out_and_only_own_regular_files_open() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("secret"), "s").unwrap();
        let workspace = Workspace::create(home.path().join("job"), None).unwrap();
        let folder = PathBuf::from(workspace.places().0);
        let at = |name: &str| folder.join(name);
        fs::write(at("a.txt"), "hello").unwrap();
        fs::create_dir(at("dir")).unwrap();
        symlink("a.txt", at("inner")).unwrap();
        symlink("../../secret", at("outer")).unwrap();
        symlink("/etc/passwd", at("absolute")).unwrap();
        fs::hard_link(home.path().join("secret"), at("hard")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), Mode::RWXU).unwrap();

        for good in [
            "a.txt",
            "./a.txt",
            "dir/../a.txt",
            "inner",
            at("a.txt").to_str().unwrap(),
            "/workspace/a.txt",
        ] {
            assert_eq!(workspace.open_file(good).unwrap().1, 5, "{good}");
        }
        let cases = [
            ("none", AssetRejection::Missing),
            ("../../secret", AssetRejection::Outside),
            ("outer", AssetRejection::Outside),
            ("absolute", AssetRejection::Outside),
            ("/etc/passwd", AssetRejection::Outside),
            ("/proc/self/environ", AssetRejection::Outside),
            ("hard", AssetRejection::NotAFile),
            ("pipe", AssetRejection::NotAFile),
            ("dir", AssetRejection::NotAFile),
            ("/workspace", AssetRejection::NotAFile),
            ("/workspace/../tmp", AssetRejection::Outside),
            ("/workspaces", AssetRejection::Outside),
            ("a\0b", AssetRejection::Missing),
            ("", AssetRejection::Missing),
        ];
        for (bad, reason) in cases {
            let error = workspace.open_file(bad).unwrap_err();
            assert_eq!(AssetRejection::from(error), reason, "{bad:?}");
        }
        assert!(
            workspace.create_file("a.txt", 0o644).is_err(),
            "nothing is overwritten"
        );
        assert!(workspace.create_file("../new", 0o644).is_err());
    }
}
