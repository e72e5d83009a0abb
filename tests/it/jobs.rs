//! Jobs as their owner makes, sees and removes them.

mod create;
mod delete;
mod list;
mod place;
mod retry;
