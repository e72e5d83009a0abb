//! Files: how they come in, how they go out, and how they reach a job.

mod content;
mod input;
mod upload;
mod url;
