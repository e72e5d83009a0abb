//! The tool `file.write`.

use futures_util::future::BoxFuture;
use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use shared::tool::ToolName;

use super::explain;
use crate::call::{Call, Done, Tool, ToolError, blocking};
use worker_model::ToolSpec;
use worker_workspace::Replaced;

/// Writes a file.
pub(crate) struct FileWrite;

#[derive(Deserialize, JsonSchema)]
#[serde(rename = "Arguments", deny_unknown_fields)]
struct WriteArguments {
    /// The file, relative to the workspace.
    path: String,
    /// The whole content.
    content: String,
}

impl Tool for FileWrite {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: ToolName::FileWrite.as_str().into(),
            description: "Writes a text file of the workspace, as a whole: what was in it is replaced, its mode stays. \
                          Directories that are missing are made. The result says how many bytes it has. It is for \
                          new files and for those that change all over."
                .to_owned(),
            input_schema: schema_for!(WriteArguments).into(),
        }
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Done, ToolError>> {
        Box::pin(async move {
            let WriteArguments { path, content } = call.arguments()?;
            let workspace = call.context.workspace.clone();
            let written = blocking(move || {
                let replaced = workspace
                    .replace_file(&path, content.as_bytes())
                    .map_err(|error| explain(&path, "written", &error))?;
                let what = match replaced {
                    Replaced::Created => "is written",
                    Replaced::Overwritten => "existed and was replaced",
                };
                let bytes = content.len();
                Ok(Done::text(format!("`{path}` {what}: {bytes} bytes")))
            });
            written.await?
        })
    }
}
