//! The workspace of a job: its files, snapshots of them, large outputs, and the redaction of secrets.

mod head_tail_buffer;
mod secret;
mod spill;
mod workspace;

pub use head_tail_buffer::{HeadTail, HeadTailBuffer, TextStream, to_text};
pub use secret::{FillError, JobSecrets, Redactor, SecretsError, Tail};
pub use spill::{Spill, Spilled};
pub use workspace::{
    AccessError, EntryKind, FileSize, Replaced, Snapshots, Workspace, WorkspaceRoot,
};
