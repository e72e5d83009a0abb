//! Limits of the files of a skill.

/// The maximum size of an archive.
pub const MAX_PACKED_BYTES: usize = 8 * 1024 * 1024;
/// The maximum number of files in a skill.
pub(super) const MAX_FILES: usize = 500;
/// The maximum size of a file, and of all files together.
pub(super) const MAX_FILE_BYTES: usize = 16 * 1024 * 1024;
pub(super) const MAX_TOTAL_BYTES: usize = 32 * 1024 * 1024;
/// The maximum size of a `SKILL.md`. The model reads the whole file.
pub(super) const MAX_SKILL_FILE_BYTES: usize = 256 * 1024;
