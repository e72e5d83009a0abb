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
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

pub(crate) use access::{AccessError, EntryKind};
pub(crate) use replace::Replaced;
pub(crate) use root::WorkspaceRoot;
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
pub(crate) use snapshot::Snapshots;
pub(crate) use survey::FileSize;

use tokio::time::timeout;

use crate::sandbox::{Identity, Underway};

/// What a job has on this machine: its workspace, and `/tmp`. They are made when something is first done in them, for
/// many a job has no files, and go when this is dropped.
pub(crate) struct Workspace {
    path: PathBuf,
    identity: Option<Identity>,
    made: OnceLock<Directories>,
    making: Mutex<()>,
    underway: Underway,
}

struct Directories {
    /// The one that holds the others.
    job: File,
    workspace: File,
}

/// How long what is left of a command may hold up the removal of its files.
const QUIET_PATIENCE: Duration = Duration::from_secs(3);
/// What the workspace is called in a sandbox.
const INSIDE: &str = "/workspace";

impl Workspace {
    /// An empty one that only the job's user can enter, which is ours if it has none of its own.
    pub(crate) fn new(path: PathBuf, identity: Option<Identity>) -> Self {
        Self {
            path,
            identity,
            made: OnceLock::new(),
            making: Mutex::default(),
            underway: Underway::default(),
        }
    }

    /// Whether there is anything of it on this machine.
    pub(crate) fn is_made(&self) -> bool {
        self.made.get().is_some()
    }

    /// Its directories, made if need be.
    fn directories(&self) -> io::Result<&Directories> {
        if let Some(made) = self.made.get() {
            return Ok(made);
        }
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = self.made.get() {
            return Ok(made);
        }
        let owner = self.identity();
        let made = Directories::create(&self.path, owner)?;
        Ok(self.made.get_or_init(|| made))
    }

    /// The one that models see.
    fn directory(&self) -> io::Result<&File> {
        Ok(&self.directories()?.workspace)
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
    pub(crate) fn job_directory(&self) -> io::Result<&File> {
        Ok(&self.directories()?.job)
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
        let file: File = openat2(self.directory()?, path, flags, Mode::empty(), resolve)?.into();
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

impl Directories {
    fn create(path: &Path, owner: Option<u32>) -> io::Result<Self> {
        let workspace = path.join("workspace");
        for directory in [path, &workspace, &path.join("tmp")] {
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(directory)?;
            if let Some(id) = owner {
                std::os::unix::fs::lchown(directory, Some(id), Some(id))?;
            }
        }
        Ok(Self {
            job: File::open(path)?,
            workspace: File::open(&workspace)?,
        })
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

/// A workspace that is there, for tests that fill it from outside.
#[cfg(test)]
pub(crate) fn made(path: PathBuf) -> Workspace {
    let workspace = Workspace::new(path, None);
    workspace
        .directories()
        .expect("a test can make directories");
    workspace
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use shared::event::AssetRejection;

    use super::*;

    #[test]
    fn it_is_made_when_something_is_done_in_it_and_goes_with_its_owner() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("job");
        let workspace = Workspace::new(path.clone(), None);
        assert!(workspace.survey().unwrap().found.is_empty());
        assert!(!path.exists() && !workspace.is_made());
        workspace.create_file("a.txt", 0o644).unwrap();
        assert!(path.join("workspace/a.txt").exists() && path.join("tmp").exists());
        drop(workspace);
        assert!(!path.exists());
    }

    #[test]
    fn no_path_leads_out_and_only_own_regular_files_open() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("secret"), "s").unwrap();
        let workspace = made(home.path().join("job"));
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
