//! Tools for the files of the workspace. They use the workspace's own descriptor, never a path that was checked before.

mod edit;
mod list;
mod nearest;
mod read;
mod text;
mod write;

pub(super) use edit::FileEdit;
pub(super) use list::FileList;
pub(super) use read::FileRead;
pub(super) use write::FileWrite;

use crate::call::ToolError;
use worker_workspace::AccessError;

/// Returns an error that tells the model why a path cannot be used for the purpose.
pub(super) fn explain(path: &str, purpose: &str, error: &AccessError) -> ToolError {
    let path = path.trim();
    let remedy = match error {
        AccessError::Outside if path == "/tmp" || path.starts_with("/tmp/") => {
            ". Only shell commands see /tmp: use a path in the workspace"
        }
        AccessError::Outside if path.starts_with('/') => ". Paths are relative to the workspace",
        AccessError::Directory => ": name a file in it",
        _ => "",
    };
    ToolError::Reply(format!("`{path}` cannot be {purpose}: it {error}{remedy}"))
}
