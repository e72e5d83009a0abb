//! The tool `execute_bash`.

use std::time::Duration;

use futures_util::future::BoxFuture;
use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use shared::tool::ToolName;

use super::{ABOUT, TIMEOUT};
use crate::call::{Call, Done, Tool, ToolError};
use worker_model::ToolSpec;

/// Runs a command in the workspace, for skills.
pub(crate) struct ExecuteBash;

#[derive(Deserialize, JsonSchema)]
#[serde(rename = "Arguments", deny_unknown_fields)]
struct ExecuteBashArguments {
    /// The command, run by bash in the workspace.
    command: String,
}

impl Tool for ExecuteBash {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: ToolName::ExecuteBash.as_str().into(),
            description: format!(
                "Runs a command with bash in the workspace, for at most {} s. {ABOUT}",
                TIMEOUT.as_secs()
            ),
            input_schema: schema_for!(ExecuteBashArguments).into(),
        }
    }

    fn timeout(&self) -> Duration {
        TIMEOUT
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Done, ToolError>> {
        Box::pin(async move {
            let ExecuteBashArguments { command } = call.arguments()?;
            super::run(&command, call.timeout, &call).await
        })
    }
}
