//! Files: how they come in, how they go out, and how they reach a job.

mod content;
mod input;
mod left;
mod slow_url;
mod upload;
mod url;
