//! Files of a workspace. Every path that a model names is opened below the workspace's descriptor (openat2(2),
//! `RESOLVE_BENEATH`).

mod access;
mod entry;
#[cfg(test)]
mod race;
mod replace;
mod root;
mod snapshot;
mod survey;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

pub use access::{AccessError, EntryKind};
pub use replace::Replaced;
pub use root::WorkspaceRoot;
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
pub use snapshot::Snapshots;
pub use survey::FileSize;

use worker_sandbox::{Identity, JobDirectory};

/// The path of the workspace in a sandbox.
const INSIDE: &str = "/workspace";

/// The workspace of a job.
pub struct Workspace {
    directory: JobDirectory,
}

impl Workspace {
    /// Returns an empty workspace in its own directory. Without an identity, it belongs to the worker's user.
    pub fn new(path: PathBuf, identity: Option<Identity>) -> Self {
        Self {
            directory: JobDirectory::new(path, identity),
        }
    }

    /// Adds packages that commands can read: folders of this machine, each with `python` and `node`. Earlier packages
    /// take precedence.
    pub fn with_packages(self, packages: Vec<PathBuf>) -> Self {
        Self {
            directory: self.directory.with_packages(packages),
        }
    }

    /// The directory in which the job's commands run.
    pub fn job_directory(&self) -> &JobDirectory {
        &self.directory
    }

    /// Whether the workspace was created.
    pub fn exists(&self) -> bool {
        self.directory.exists()
    }

    /// The directory of the workspace, created if necessary.
    fn directory(&self) -> io::Result<&File> {
        self.directory.workspace()
    }

    /// Opens a regular file by its path in the workspace, without following links. The file may have hard links.
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

    /// Converts a path that a model wrote to a relative path. It can be absolute, as the shell shows it.
    fn relative(&self, named: &str) -> PathBuf {
        let path = Path::new(named.trim());
        let inner = path
            .strip_prefix(INSIDE)
            .or_else(|_| path.strip_prefix(self.directory.path().join("workspace")));
        match inner {
            Ok(inner) if inner.as_os_str().is_empty() => ".".into(),
            Ok(inner) => inner.to_owned(),
            Err(_) => path.to_owned(),
        }
    }
}

const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);

/// Returns a workspace whose directory exists, for tests that fill it from outside.
#[cfg(test)]
pub(crate) fn made(path: PathBuf) -> Workspace {
    let workspace = Workspace::new(path, None);
    workspace
        .directory()
        .expect("a test can create directories");
    workspace
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use shared::event::AssetRejection;

    use super::*;

    #[test]
    fn it_is_made_when_something_is_done_in_it_and_goes_with_its_owner() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("job");
        let workspace = Workspace::new(path.clone(), None);
        assert!(workspace.survey().unwrap().found.is_empty());
        assert!(!path.exists() && !workspace.exists());
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
        let folder = PathBuf::from(workspace.directory.host_paths().0);
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
