//! Tools of MCP servers. The model sees them like built-in tools. Their results are not trusted.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use shared::schema::Schema;

use super::connection::{McpCallError, McpConnection};
use super::result;
use super::tool_import::ToolImport;
use crate::call::{Call, Done, Tool, ToolError};
use crate::context::ToolContext;
use worker_model::ToolSpec;

/// A tool of a server. Its own claim to be read-only is ignored, so it is called alone.
pub struct McpTool {
    /// The server's name for the tool.
    name: String,
    spec: ToolSpec,
    timeout: Duration,
    connection: Arc<McpConnection>,
}

impl McpTool {
    /// Creates the tool, and returns the schema of its arguments with it.
    pub(super) fn new(
        import: ToolImport,
        connection: Arc<McpConnection>,
        timeout: Duration,
    ) -> (Self, Schema) {
        let tool = Self {
            name: import.name,
            spec: import.spec,
            timeout,
            connection,
        };
        (tool, import.schema)
    }
}

impl Tool for McpTool {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    fn timeout(&self, _: &ToolContext<'_>) -> Duration {
        self.timeout
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Done, ToolError>> {
        Box::pin(async move {
            // The schema is one of an object.
            let arguments = call.input.as_object().cloned().unwrap_or_default();
            let calling = self.connection.call(&self.name, arguments, call.timeout);
            match calling.await {
                Ok(result) => Ok(result::done(result, &call).await),
                Err(McpCallError { text, timed_out }) => Ok(Done {
                    timed_out,
                    ..Done::error(text)
                }),
            }
        })
    }
}
