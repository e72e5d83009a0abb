//! Queries of a SQLite file, with the program `sqlite3` in the sandbox.

use std::time::Duration;

use futures_util::future::BoxFuture;
use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Deserializer, Map, Value};
use shared::tool::ToolName;

use super::{TIMEOUT, rows};
use crate::call::{Call, Done, Tool, ToolError};
use crate::command::{CommandLimits, FinishedCommand};
use crate::context::ToolContext;
use crate::{file, shell};
use worker_model::ToolSpec;

/// The maximum size of a result that is read. A larger result is only in its file.
const RESULT_BYTES: usize = 16 * 1024 * 1024;
/// The database of a job that names none.
const DEFAULT_PATH: &str = "memory.db";

/// Runs SQL on a file of the workspace.
pub(crate) struct SqlQuery;

#[derive(Deserialize, JsonSchema)]
#[serde(rename = "Arguments", deny_unknown_fields)]
struct SqliteArguments {
    /// One or more statements. The rows of the last that gives any are the result.
    sql: String,
    /// The database file, relative to the workspace. Default: the one that the job names.
    path: Option<String>,
}

impl Tool for SqlQuery {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: ToolName::SqlQuery.as_str().into(),
            description:
                "Runs SQL on a SQLite database of the workspace and returns the rows as JSON: rows, row_count, and a note \
                 if not all are shown. Unless the job allows changes, the file is opened for reading only. ATTACH, \
                 load_extension, dot-commands and functions that reach other files are refused. It stops at the first \
                 error."
                    .to_owned(),
            input_schema: schema_for!(SqliteArguments).into(),
        }
    }

    fn timeout(&self, _: &ToolContext<'_>) -> Duration {
        TIMEOUT
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Done, ToolError>> {
        Box::pin(async move { ask(&call).await })
    }
}

/// Runs a query. It can change data only if the job allows it. The mode is set when the file is
/// opened, so no SQL can change it.
async fn ask(call: &Call<'_>) -> Result<Done, ToolError> {
    let SqliteArguments { sql, path } = call.arguments()?;
    let parameters = &call.context.parameters;
    let path = path.unwrap_or_else(|| {
        let named = parameters.get("db_path").and_then(Value::as_str);
        named.unwrap_or(DEFAULT_PATH).to_owned()
    });
    if sql.trim_start().starts_with('.') {
        let text = "dot-commands are not SQL; ask sqlite_schema for the tables";
        return Err(ToolError::Reply(text.to_owned()));
    }
    let may_change = allows_changes(parameters);
    if !may_change {
        let found = call.context.workspace.open_file(&path);
        // The program would only report that it cannot open the file.
        found.map_err(|error| file::explain(&path, "queried", &error))?;
    }
    let script = script(&path, &sql, may_change);
    let limits = CommandLimits {
        timeout: call.timeout,
        output_bytes: RESULT_BYTES,
    };
    let finished = shell::run_with(&script, limits, call).await?;
    Ok(done(&finished, call).await)
}

/// Whether the job's own parameters allow changes to data.
fn allows_changes(parameters: &Map<String, Value>) -> bool {
    parameters.get("allow_mutation") == Some(&Value::Bool(true))
}

/// Returns the command. Names are quoted for the shell, and `./` prevents a name from being parsed as an option.
fn script(path: &str, sql: &str, may_change: bool) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    let mode = if may_change { "" } else { " -readonly" };
    let relative = path.trim_start_matches("/workspace/");
    let database = if relative.starts_with('/') {
        quoted(relative)
    } else {
        quoted(&format!("./{relative}"))
    };
    format!(
        "exec sqlite3 -batch -bail -safe{mode} -json {database} {}",
        quoted(sql)
    )
}

async fn done(finished: &FinishedCommand, call: &Call<'_>) -> Done {
    let stderr = finished.stderr.shown.text.trim();
    if finished.timed_out || finished.ended.exit_code != Some(0) {
        let text = match stderr {
            _ if finished.timed_out => "the query was stopped: it took too long".to_owned(),
            "" => "the query was stopped: it exceeded a limit".to_owned(),
            stderr => format!("the query failed: {stderr}"),
        };
        return Done {
            timed_out: finished.timed_out,
            exit_code: finished.ended.exit_code,
            ..Done::error(text)
        };
    }
    let whole = finished.stdout.whole.as_ref();
    let results = Deserializer::from_str(&finished.stdout.shown.text).into_iter();
    let results: Result<Vec<Vec<Box<RawValue>>>, _> = results.collect();
    let Ok(mut results) = results else {
        let place = whole.map_or("nowhere", |whole| &whole.path);
        return Done {
            truncated: true,
            ..Done::text(format!(
                "the result is too large to be shown; it is in the workspace file {place}. Ask for fewer columns or rows."
            ))
        };
    };
    let last = results.pop().unwrap_or_default();
    rows::done(&last, call).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_the_sql_and_the_path_are_they_are_words() {
        assert_eq!(
            script("a b.db", "select 'it''s'", false),
            r"exec sqlite3 -batch -bail -safe -readonly -json './a b.db' 'select '\''it'\'''\''s'\'''"
        );
        assert!(script("-x", "select 1", true).contains(" -safe -json './-x' "));
        assert!(script("/workspace/x", "select 1", true).contains("'./x'"));
    }

    #[test]
    fn only_the_job_can_allow_changes() {
        let of = |value: Value| {
            let mut parameters = Map::new();
            parameters.insert("allow_mutation".to_owned(), value);
            allows_changes(&parameters)
        };
        assert!(of(true.into()));
        for no in [Value::Null, "true".into(), 1.into(), false.into()] {
            assert!(!of(no));
        }
        assert!(!allows_changes(&Map::new()));
    }
}
