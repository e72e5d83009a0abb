//! Tools that query databases.

mod rows;
mod sqlite;
mod supabase;
mod table_query;

use std::time::Duration;

pub(crate) use sqlite::SqlQuery;
pub(crate) use supabase::ReadTable;

/// The timeout of a query.
const TIMEOUT: Duration = Duration::from_secs(60);
