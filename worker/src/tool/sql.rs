//! Tools that ask databases.

mod rows;
mod sqlite;

pub(super) use sqlite::SqlQuery;
