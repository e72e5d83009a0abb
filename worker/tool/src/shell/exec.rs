//! The tool `shell.exec`.

use std::time::Duration;

use futures_util::future::BoxFuture;
use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use shared::tool::ToolName;

use super::ABOUT;
use crate::call::{Call, Done, Tool, ToolError};
use crate::context::ToolContext;
use crate::file;
use worker_model::ToolSpec;

/// Runs a command in the workspace.
pub(crate) struct ShellExec;

#[derive(Deserialize, JsonSchema)]
#[serde(rename = "Arguments", deny_unknown_fields)]
struct ExecArguments {
    /// The command, run by bash.
    command: String,
    /// The directory to run it in, relative to the workspace, which is also the default.
    cwd: Option<String>,
    /// Seconds after which it is killed. More than the limit of commands means the limit, which is also the default.
    #[schemars(range(min = 1))]
    timeout: Option<u64>,
}

impl Tool for ShellExec {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: ToolName::ShellExec.as_str().into(),
            description: format!(
                "Runs a command with bash in a directory of the workspace. {ABOUT}"
            ),
            input_schema: schema_for!(ExecArguments).into(),
        }
    }

    fn timeout(&self, context: &ToolContext<'_>) -> Duration {
        context.command_timeout
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Done, ToolError>> {
        Box::pin(async move {
            let ExecArguments {
                command,
                cwd,
                timeout,
            } = call.arguments()?;
            let script = match cwd {
                None => command,
                Some(cwd) => {
                    let place = call.context.workspace.directory_at(&cwd);
                    let place = place
                        .map_err(|error| file::explain(&cwd, "the directory to run in", &error))?;
                    in_directory(&place, &command)
                }
            };
            let timeout = timeout.map_or(call.timeout, Duration::from_secs);
            super::run(&script, timeout.min(call.timeout), &call).await
        })
    }
}

/// Returns the command for that directory. Both are on one line, so that bash counts the command's own lines.
fn in_directory(place: &str, command: &str) -> String {
    let quoted = place.replace('\'', r"'\''");
    format!("cd -- './{quoted}' || exit 1; {command}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_directory_is_called_it_is_one_word_of_the_shell() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a b", "it's", "-", "$(id)", "a\nb", "\"", "\\", ".", "é;x"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
            let ran = std::process::Command::new("bash")
                .args(["-c", &in_directory(name, "pwd -P; exit 3")])
                .current_dir(&folder)
                .output()
                .unwrap();
            let place = folder.path().join(name).canonicalize().unwrap();
            assert_eq!(
                String::from_utf8_lossy(&ran.stdout),
                format!("{}\n", place.display()),
                "{name:?}"
            );
            assert_eq!(ran.status.code(), Some(3));
        }
    }
}
