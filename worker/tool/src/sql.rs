//! Tools that ask databases.

mod postgrest;
mod rows;
mod sqlite;
mod supabase;

use std::time::Duration;

use futures_util::future::BoxFuture;
use shared::secret::SecretNeed;

use crate::call::{Call, Done, Tool, ToolError};
use supabase::{KEY, URL};
use worker_model::ToolSpec;

const TIMEOUT: Duration = Duration::from_secs(60);

/// Asks the database of a job: the project whose secrets the skill has, or else a file.
pub(crate) enum SqlQuery {
    /// A SQLite file of the workspace.
    File,
    /// A project of Supabase.
    Project,
}

impl SqlQuery {
    /// The tool of a job that may send those secrets.
    pub(crate) fn new(secrets: &[SecretNeed]) -> Self {
        let has = |name: &str| secrets.iter().any(|need| need.name.as_str() == name);
        if has(URL) && has(KEY) {
            Self::Project
        } else {
            Self::File
        }
    }
}

impl Tool for SqlQuery {
    fn spec(&self) -> ToolSpec {
        match self {
            Self::File => sqlite::spec(),
            Self::Project => supabase::spec(),
        }
    }

    fn timeout(&self) -> Duration {
        TIMEOUT
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Done, ToolError>> {
        Box::pin(async move {
            match self {
                Self::File => sqlite::ask(&call).await,
                Self::Project => supabase::ask(&call).await,
            }
        })
    }
}
