//! Files: uploads, downloads and inputs of jobs.

mod content;
mod input;
mod left;
mod slow_url;
mod upload;
mod url;
