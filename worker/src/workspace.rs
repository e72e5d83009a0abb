//! The job's own directory. Whatever a model names in it is opened through a descriptor and never
//! leads out (openat2(2), `RESOLVE_BENEATH`).

mod root;
mod snapshot;
mod survey;

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

pub(crate) use root::WorkspaceRoot;
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
pub(crate) use snapshot::Snapshots;

use shared::event::AssetRejection;

/// A directory that goes when this is dropped.
pub(crate) struct Workspace {
    path: PathBuf,
    directory: File,
}

impl Workspace {
    /// Makes an empty one that only this user can enter.
    pub(crate) fn create(path: PathBuf) -> io::Result<Self> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&path)?;
        let directory = File::open(&path)?;
        Ok(Self { path, directory })
    }

    /// Where it is on the host.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a new file.
    pub(crate) fn create_file(&self, name: &str) -> io::Result<File> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat2(
            &self.directory,
            name,
            flags,
            Mode::from_raw_mode(0o644),
            BENEATH,
        )?;
        Ok(file.into())
    }

    /// Opens a regular file that the model named, to read it. Its size is that of the open file.
    pub(crate) fn open_file(&self, named: &str) -> Result<(File, u64), AssetRejection> {
        let relative = self.relative(named);
        // Neither a pipe nor a device is opened by looking at it.
        let seen = openat2(
            &self.directory,
            &relative,
            OFlags::PATH | OFlags::CLOEXEC,
            Mode::empty(),
            BENEATH,
        );
        let seen: File = seen.map_err(rejection)?.into();
        let is_plain = |file: &File| {
            file.metadata()
                .is_ok_and(|data| data.is_file() && data.nlink() == 1)
        };
        if !is_plain(&seen) {
            return Err(AssetRejection::NotAFile);
        }
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file: File = openat2(&self.directory, &relative, flags, Mode::empty(), BENEATH)
            .map_err(rejection)?
            .into();
        let size = file.metadata().map_err(|_| AssetRejection::Missing)?.len();
        if is_plain(&file) {
            Ok((file, size))
        } else {
            Err(AssetRejection::NotAFile)
        }
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
        path.strip_prefix(&self.path).unwrap_or(path).to_owned()
    }
}

const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_MAGICLINKS);

fn rejection(error: rustix::io::Errno) -> AssetRejection {
    match error {
        rustix::io::Errno::XDEV | rustix::io::Errno::LOOP => AssetRejection::Outside,
        _ => AssetRejection::Missing,
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "a workspace could not be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn no_path_leads_out_and_only_own_regular_files_open() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("secret"), "s").unwrap();
        let workspace = Workspace::create(home.path().join("job")).unwrap();
        let at = |name: &str| workspace.path().join(name);
        fs::write(at("a.txt"), "hello").unwrap();
        fs::create_dir(at("dir")).unwrap();
        symlink("a.txt", at("inner")).unwrap();
        symlink("../secret", at("outer")).unwrap();
        symlink("/etc/passwd", at("absolute")).unwrap();
        fs::hard_link(home.path().join("secret"), at("hard")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), Mode::RWXU).unwrap();

        for good in [
            "a.txt",
            "./a.txt",
            "dir/../a.txt",
            "inner",
            at("a.txt").to_str().unwrap(),
        ] {
            assert_eq!(workspace.open_file(good).unwrap().1, 5, "{good}");
        }
        let cases = [
            ("none", AssetRejection::Missing),
            ("../secret", AssetRejection::Outside),
            ("outer", AssetRejection::Outside),
            ("absolute", AssetRejection::Outside),
            ("/etc/passwd", AssetRejection::Outside),
            ("/proc/self/environ", AssetRejection::Outside),
            ("hard", AssetRejection::NotAFile),
            ("pipe", AssetRejection::NotAFile),
            ("dir", AssetRejection::NotAFile),
            ("a\0b", AssetRejection::Missing),
            ("", AssetRejection::Missing),
        ];
        for (bad, reason) in cases {
            assert_eq!(workspace.open_file(bad).unwrap_err(), reason, "{bad:?}");
        }
        assert!(
            workspace.create_file("a.txt").is_err(),
            "nothing is overwritten"
        );
        assert!(workspace.create_file("../new").is_err());
    }
}
