//! Jobs over HTTP.

mod batch;
mod create;
mod delete;
mod find;
mod list;
mod output_schema;
mod place;
mod retry;
mod together;
mod update;
