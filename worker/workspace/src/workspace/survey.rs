//! A survey of the files of a workspace, without following links.

use std::fs::File;
use std::io;
use std::sync::Arc;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, openat2, readlinkat, statat};

use super::{BENEATH, Workspace};

/// The maximum number of entries in a survey, and of bytes of all their paths. Further entries are left out.
const MAX_ENTRIES: usize = 50_000;
const MAX_PATH_BYTES: usize = 16 * 1024 * 1024;
/// The maximum size of a file, and of all files together, that are kept for another worker.
const MAX_FILE_BYTES: u64 = 256 * 1024 * 1024;
const MAX_TOTAL_BYTES: u64 = 1024 * 1024 * 1024;
/// Directories that programs can fetch or build again.
const CACHES: [&str; 5] = [".cache", ".npm", ".local", "__pycache__", "node_modules"];
/// Files and directories that may contain credentials, which must not be stored.
const CREDENTIALS: [&str; 7] = [
    ".ssh",
    ".netrc",
    ".aws",
    ".gnupg",
    ".pgpass",
    ".docker",
    ".git-credentials",
];

/// All entries that are kept, and those that are left out.
#[derive(Default)]
pub(super) struct Survey {
    pub(super) found: Vec<SurveyEntry>,
    /// Paths of entries that are too large, too many or unreadable.
    pub(super) left_out: Vec<String>,
}

/// An entry, by its path in the workspace.
pub(super) struct SurveyEntry {
    pub(super) path: String,
    pub(super) kind: SurveyEntryKind,
}

pub(super) enum SurveyEntryKind {
    File { mode: u32, stamp: Stamp },
    Link { target: String },
    Directory { mode: u32 },
}

/// The properties of a file that change when its content may have changed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    inode: u64,
    size: i64,
    modified: (i64, u64),
    changed: (i64, u64),
}

impl Stamp {
    fn of(stat: &Stat) -> Self {
        Self {
            inode: stat.st_ino,
            size: stat.st_size,
            modified: (stat.st_mtime, stat.st_mtime_nsec),
            changed: (stat.st_ctime, stat.st_ctime_nsec),
        }
    }
}

/// A file and its size.
#[derive(Debug, PartialEq, Eq)]
pub struct FileSize {
    /// The path in the workspace.
    pub path: String,
    /// The size in bytes.
    pub size: u64,
}

impl Workspace {
    /// Returns all files, sorted by path.
    pub async fn list(workspace: &Arc<Self>) -> anyhow::Result<Vec<FileSize>> {
        let survey = Self::look(workspace).await?;
        let files = survey
            .found
            .into_iter()
            .filter_map(|found| match found.kind {
                SurveyEntryKind::File { stamp, .. } => Some(FileSize {
                    path: found.path,
                    size: stamp.size.unsigned_abs(),
                }),
                SurveyEntryKind::Link { .. } | SurveyEntryKind::Directory { .. } => None,
            });
        let mut files: Vec<_> = files.collect();
        files.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(files)
    }

    /// Surveys the workspace on a thread that may block.
    pub(super) async fn look(workspace: &Arc<Self>) -> anyhow::Result<Survey> {
        if !workspace.exists() {
            return Ok(Survey::default());
        }
        let workspace = workspace.clone();
        Ok(tokio::task::spawn_blocking(move || workspace.survey()).await??)
    }

    /// Surveys the workspace. This blocks.
    pub(super) fn survey(&self) -> io::Result<Survey> {
        let mut survey = Survey::default();
        if !self.exists() {
            return Ok(survey);
        }
        let (mut bytes, mut path_bytes) = (0, 0);
        let mut directories = vec![String::new()];
        while let Some(path) = directories.pop() {
            let Ok(directory) = self.open_directory(&path) else {
                survey.left_out.push(path);
                continue;
            };
            for entry in Dir::read_from(&directory)? {
                let entry = entry?;
                let name = entry.file_name().to_str();
                if name.is_ok_and(is_ignored) {
                    continue;
                }
                let path = join(&path, &entry.file_name().to_string_lossy());
                path_bytes += path.len();
                let count = survey.found.len() + survey.left_out.len();
                if count >= MAX_ENTRIES || path_bytes > MAX_PATH_BYTES {
                    survey.left_out.push(path);
                    return Ok(survey);
                }
                let Ok(name) = name else {
                    survey.left_out.push(path);
                    continue;
                };
                match look(&directory, name, &mut bytes) {
                    Some(kind) => {
                        if matches!(kind, SurveyEntryKind::Directory { .. }) {
                            directories.push(path.clone());
                        }
                        survey.found.push(SurveyEntry { path, kind });
                    }
                    None => survey.left_out.push(path),
                }
            }
        }
        Ok(survey)
    }

    fn open_directory(&self, path: &str) -> io::Result<File> {
        let path = if path.is_empty() { "." } else { path };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat2(self.directory()?, path, flags, Mode::empty(), BENEATH)?.into())
    }
}

fn is_ignored(name: &str) -> bool {
    [".", ".."].contains(&name) || CACHES.contains(&name) || CREDENTIALS.contains(&name)
}

/// Returns the kind of an entry, or `None` if it cannot be kept.
fn look(directory: &File, name: &str, bytes: &mut u64) -> Option<SurveyEntryKind> {
    let stat = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let mode = stat.st_mode & 0o777;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => Some(SurveyEntryKind::Directory { mode }),
        FileType::Symlink => {
            let target = readlinkat(directory, name, Vec::new())
                .ok()?
                .into_string()
                .ok()?;
            Some(SurveyEntryKind::Link { target })
        }
        FileType::RegularFile => {
            let size = stat.st_size.unsigned_abs();
            let fits = size <= MAX_FILE_BYTES && *bytes + size <= MAX_TOTAL_BYTES;
            fits.then(|| {
                *bytes += size;
                SurveyEntryKind::File {
                    mode,
                    stamp: Stamp::of(&stat),
                }
            })
        }
        _ => None,
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}/{name}")
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    use super::*;

    #[test]
    fn entries_that_cannot_be_kept_count_towards_the_limit() {
        let home = tempfile::tempdir().unwrap();
        let workspace = Workspace::new(home.path().join("job"), None);
        let root = workspace.job_directory().host_paths().0;
        workspace.create_directory("folder", 0o755).unwrap();
        for number in 0..MAX_ENTRIES + 10 {
            let name = [number.to_string().as_bytes(), b"\xff"].concat();
            File::create(Path::new(&root).join(OsStr::from_bytes(&name))).unwrap();
        }
        let survey = workspace.survey().unwrap();
        assert_eq!(survey.found.len() + survey.left_out.len(), MAX_ENTRIES + 1);
    }
}
