//! Jobs as their owner makes, sees and removes them.

mod batch;
mod create;
mod delete;
mod find;
mod list;
mod place;
mod retry;
mod together;
mod update;
