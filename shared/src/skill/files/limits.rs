//! Limits of the files of a skill.

/// The largest archive.
pub const MAX_PACKED_BYTES: usize = 8 * 1024 * 1024;
/// The most files of a skill.
pub(super) const MAX_FILES: usize = 500;
/// The largest file, and all files together.
pub(super) const MAX_FILE_BYTES: usize = 16 * 1024 * 1024;
pub(super) const MAX_TOTAL_BYTES: usize = 32 * 1024 * 1024;
/// The largest `SKILL.md`: a model reads all of it.
pub(super) const MAX_SKILL_FILE_BYTES: usize = 256 * 1024;
