//! Assets: uploads, downloads and inputs of jobs.

mod content;
mod input;
mod left;
mod previews;
mod slow_url;
mod upload;
mod url;
