//! Complete outputs that are too large for a model, kept as files of the workspace.

use std::io;
use std::sync::Arc;

use tokio::fs::File;
use tokio::io::AsyncWriteExt;

use crate::head_tail_buffer::TextStream;
use crate::secret::{Redactor, Tail};
use crate::workspace::Workspace;

/// The directory of these files.
const FOLDER: &str = ".skillet";
const FOLDER_MODE: u32 = 0o755;
const FILE_MODE: u32 = 0o644;

/// A file of the workspace for a complete output. It is created with the first bytes.
pub struct Spill {
    workspace: Arc<Workspace>,
    path: String,
    cleaning: Option<Cleaning>,
    state: SpillState,
}

/// The file with a complete output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spilled {
    /// The path relative to the workspace.
    pub path: String,
    /// The size of the file.
    pub bytes: u64,
}

enum SpillState {
    Unused,
    Open { file: File, bytes: u64 },
    Failed,
}

/// Redaction of the file. Unlike the running command, the file outlives the job's secrets.
struct Cleaning {
    redactor: Arc<Redactor>,
    text: TextStream,
    tail: Tail,
}

impl Spill {
    /// Creates a spill with this file name. With a redactor the file is text without secrets, otherwise it has every
    /// byte.
    pub fn new(workspace: Arc<Workspace>, name: &str, redactor: Option<Arc<Redactor>>) -> Self {
        Self {
            workspace,
            path: format!("{FOLDER}/{name}"),
            cleaning: redactor.map(|redactor| Cleaning {
                redactor,
                text: TextStream::default(),
                tail: Tail::default(),
            }),
            state: SpillState::Unused,
        }
    }

    /// Appends bytes. If that fails, there will be no file, and the output continues without it.
    pub async fn push(&mut self, bytes: &[u8]) {
        match &mut self.cleaning {
            None => self.write(bytes).await,
            Some(Cleaning {
                redactor,
                text,
                tail,
            }) => {
                let text = redactor.push(tail, &text.push(bytes));
                self.write(text.as_bytes()).await;
            }
        }
    }

    /// Ends the file. Returns `None` if there is none.
    pub async fn finish(mut self) -> Option<Spilled> {
        if let Some(Cleaning {
            redactor,
            mut text,
            mut tail,
        }) = self.cleaning.take()
        {
            let last = redactor.push(&mut tail, &text.finish());
            self.write((last + &redactor.finish(tail)).as_bytes()).await;
        }
        let SpillState::Open { mut file, bytes } = self.state else {
            return None;
        };
        if let Err(error) = file.flush().await {
            tracing::debug!(%error, path = self.path, "the full output could not be stored");
            return None;
        }
        Some(Spilled {
            path: self.path,
            bytes,
        })
    }

    async fn write(&mut self, piece: &[u8]) {
        if piece.is_empty() {
            return;
        }
        if matches!(self.state, SpillState::Unused) {
            self.state = match self.create() {
                Ok(file) => SpillState::Open { file, bytes: 0 },
                Err(error) => self.failed(&error),
            };
        }
        if let SpillState::Open { file, bytes } = &mut self.state {
            match file.write_all(piece).await {
                Ok(()) => *bytes += piece.len() as u64,
                Err(error) => self.state = self.failed(&error),
            }
        }
    }

    fn failed(&self, error: &io::Error) -> SpillState {
        // The disk is full, or the job has another file at this path.
        tracing::debug!(%error, path = self.path, "the full output cannot be stored");
        SpillState::Failed
    }

    fn create(&self) -> io::Result<File> {
        match self.workspace.create_directory(FOLDER, FOLDER_MODE) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        // A file from an attempt that was lost during the same tool call.
        match self.workspace.remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = self.workspace.create_file(&self.path, FILE_MODE)?;
        Ok(File::from_std(file))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use super::*;

    fn workspace() -> (tempfile::TempDir, Arc<Workspace>, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let workspace = crate::workspace::made(home.path().join("job"));
        let folder = PathBuf::from(workspace.job_directory().host_paths().0);
        (home, Arc::new(workspace), folder)
    }

    #[tokio::test]
    async fn all_bytes_are_kept_and_without_bytes_there_is_no_file() {
        let (_home, workspace, folder) = workspace();
        let spill = Spill::new(workspace.clone(), "1.txt", None);
        assert_eq!(spill.finish().await, None);
        assert!(!folder.join(FOLDER).exists());
        for round in 0..2 {
            let mut spill = Spill::new(workspace.clone(), "1.txt", None);
            spill.push(b"a\0\xff").await;
            spill.push(&[b'x'; 100_000]).await;
            let spilled = spill.finish().await.unwrap();
            assert_eq!((&*spilled.path, spilled.bytes), (".skillet/1.txt", 100_003));
            let kept = std::fs::read(folder.join(&spilled.path)).unwrap();
            assert!(
                kept.starts_with(b"a\0\xffx") && kept.len() == 100_003,
                "{round}"
            );
        }
    }

    #[tokio::test]
    async fn values_of_secrets_are_not_kept_however_they_are_cut() {
        let (_home, workspace, folder) = workspace();
        let redactor = Arc::new(Redactor::new([("KEY", "hunter2-hunter2")].into_iter()));
        let mut spill = Spill::new(workspace.clone(), "1.txt", Some(redactor));
        for piece in ["say hun", "ter2-hunt", "er2 and hunter2-"] {
            spill.push(piece.as_bytes()).await;
        }
        let spilled = spill.finish().await.unwrap();
        let kept = std::fs::read_to_string(folder.join(spilled.path)).unwrap();
        assert_eq!(kept, "say [secret KEY] and hunter2-");
    }

    #[tokio::test]
    async fn a_link_in_the_place_of_the_folder_leads_nowhere() {
        let (home, workspace, folder) = workspace();
        let outside = home.path().join("outside");
        std::fs::create_dir(&outside).unwrap();
        symlink(&outside, folder.join(FOLDER)).unwrap();
        let mut spill = Spill::new(workspace, "1.txt", None);
        spill.push(b"x").await;
        assert_eq!(spill.finish().await, None);
        assert_eq!(std::fs::read_dir(outside).unwrap().count(), 0);
    }
}
