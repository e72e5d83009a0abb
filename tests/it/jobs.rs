//! Jobs over HTTP.

mod batch;
mod create;
mod delete;
mod list;
mod place;
mod retry;
mod together;
