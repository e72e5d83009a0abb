//! Jobs over HTTP.

mod batch;
mod create;
mod delete;
mod find;
mod list;
mod place;
mod retry;
mod together;
mod update;
