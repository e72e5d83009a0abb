//! The MCP servers of an attempt, which start with the attempt and end with it.
//!
//! `program` runs a server in the job's sandbox, and `service` calls one by HTTP, both through rmcp. The messages of
//! a server are not trusted: `response_only_transport` passes only responses, `tool_import` selects the tools for the
//! model, and `schema` selects the schemas that are checked here.

mod connection;
mod limited_reader;
mod program;
mod response_only_transport;
mod result;
mod schema;
mod service;
mod size;
mod tool;
mod tool_import;

use std::time::Duration;

use futures_util::future::{join_all, try_join_all};
use shared::event::{EventData, LogLevel, LogLine};
use shared::job::{JobError, JobErrorCode};
use shared::mcp::McpServer;
use shared::schema::Schema;
use tokio::time::timeout;

use connection::ConnectedServer;
pub use tool::McpTool;
use tool_import::RemainingSpace;

use crate::context::ToolContext;

/// The timeout for a server to start and list its tools.
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// The maximum number of bytes of the message about a failed start in a job's error.
const MAX_ERROR_BYTES: usize = 4000;

/// The servers of an attempt. Dropping this ends all of them.
pub struct Servers {
    servers: Vec<ConnectedServer>,
}

impl Servers {
    /// Starts all servers of the profile and imports their tools, each with the schema of its arguments. If a server
    /// does not start, the job fails, and the error names the server.
    pub async fn start(
        declared: &[McpServer],
        context: &ToolContext<'_>,
    ) -> Result<(Self, Vec<(McpTool, Schema)>), JobError> {
        let started = try_join_all(declared.iter().map(|server| start(server, context))).await?;
        let mut room = RemainingSpace::default();
        let (mut servers, mut tools) = (Vec::new(), Vec::new());
        for (declared, (server, listed)) in declared.iter().zip(started) {
            let redactor = context.events.redactor();
            let (imports, warning) =
                tool_import::choose(declared, listed, redactor.as_deref(), &mut room);
            for import in imports {
                let connection = server.connection.clone();
                tools.push(McpTool::new(import, connection, declared.timeout()));
            }
            if let Some(message) = warning {
                let level = LogLevel::Warning;
                let line = EventData::Log(LogLine { level, message });
                context.events.append(line).await;
            }
            servers.push(server);
        }
        Ok((Self { servers }, tools))
    }

    /// Closes the connections and ends the programs.
    pub async fn close(self) {
        join_all(self.servers.into_iter().map(ConnectedServer::close)).await;
    }
}

async fn start(
    declared: &McpServer,
    context: &ToolContext<'_>,
) -> Result<(ConnectedServer, Vec<rmcp::model::Tool>), JobError> {
    let name = &declared.name;
    let starting = ConnectedServer::start(declared, context);
    let trouble = match timeout(START_TIMEOUT, starting).await {
        Ok(Ok(started)) => return Ok(started),
        Ok(Err(trouble)) => trouble,
        Err(_) => {
            let seconds = START_TIMEOUT.as_secs();
            format!("it did not list its tools within {seconds} s")
        }
    };
    let message = format!("the MCP server `{name}` did not start: {trouble}");
    // Redacted before it is cut, because half of a value would not be recognised.
    let mut message = context.events.redact(&message).into_owned();
    message.truncate(message.floor_char_boundary(MAX_ERROR_BYTES));
    Err(JobErrorCode::McpServerUnavailable.with(message))
}
