//! A connection to one MCP server, from the handshake to its end.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ClientConfig,
    ErrorCode, ErrorData, Implementation, JsonObject, PaginatedRequestParams, ProtocolVersion,
    Tool,
};
use rmcp::service::{ClientInitializeError, RunningService, ServiceError};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use rmcp::transport::{DynamicTransportError, Transport};
use rmcp::{ClientLifecycleMode, Peer, RoleClient, serve_client_with_lifecycle};
use shared::mcp::{McpAccess, McpServer};
use tokio::sync::watch;
use tokio::time::timeout;

use super::program::McpProgram;
use super::response_only_transport::ResponseOnlyTransport;
use super::service::{self, Unreached};
use super::tool_import::MAX_LISTED;
use crate::context::ToolContext;
use crate::exit_report;

/// The maximum number of pages of a tool list that are read.
const MAX_PAGES: usize = 16;
/// The timeout of closing a connection.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(2);

/// A running program or a connected service. Dropping this ends the program.
pub(super) struct ConnectedServer {
    pub(super) connection: Arc<McpConnection>,
    service: RunningService<RoleClient, ClientConfig>,
    _program: Option<McpProgram>,
}

/// The connection to a server, for calls.
pub(super) struct McpConnection {
    server: String,
    peer: Peer<RoleClient>,
    exit_report: Option<watch::Receiver<Option<String>>>,
}

/// The reason why a call has no result. The text is for the model.
pub(super) struct McpCallError {
    /// The error for the model.
    pub(super) text: String,
    /// Whether the call took too long.
    pub(super) timed_out: bool,
}

impl ConnectedServer {
    /// Starts a server and lists its tools. An error is a message for people.
    pub(super) async fn start(
        declared: &McpServer,
        context: &ToolContext<'_>,
    ) -> Result<(Self, Vec<Tool>), String> {
        // Nearly all servers support the handshake of the years before 2026. The others refuse it.
        let server = match Self::connect(declared, context, ClientLifecycleMode::Initialize).await {
            Err(Unopened::Refused(_)) => {
                let preferred_versions = vec![ProtocolVersion::LATEST];
                let lifecycle = ClientLifecycleMode::Discover { preferred_versions };
                Self::connect(declared, context, lifecycle).await
            }
            opened => opened,
        };
        let server = server.map_err(|unopened| match unopened {
            Unopened::Refused(words) | Unopened::Failed(words) => words,
        })?;
        match server.list().await {
            Ok(tools) => Ok((server, tools)),
            Err(error) => Err(server.connection.explain(error).await),
        }
    }

    async fn connect(
        declared: &McpServer,
        context: &ToolContext<'_>,
        lifecycle: ClientLifecycleMode,
    ) -> Result<Self, Unopened> {
        let (service, program) = match &declared.access {
            McpAccess::Program { command, env } => {
                let started = McpProgram::start(command, env, context).await;
                let (program, pipes) = started.map_err(Unopened::Failed)?;
                let exit_report = program.exit_report.clone();
                let service = shake_hands(pipes, lifecycle, Some(exit_report)).await?;
                (service, Some(program))
            }
            McpAccess::Service { url, headers } => {
                let opened = service::open(url, headers, context).map_err(Unopened::Failed)?;
                (shake_hands(opened, lifecycle, None).await?, None)
            }
        };
        let connection = McpConnection {
            server: declared.name.clone(),
            peer: service.peer().clone(),
            exit_report: program.as_ref().map(|program| program.exit_report.clone()),
        };
        Ok(Self {
            connection: Arc::new(connection),
            service,
            _program: program,
        })
    }

    /// Returns the tools of the server, up to the maximum.
    async fn list(&self) -> Result<Vec<Tool>, ServiceError> {
        let mut tools = Vec::new();
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let asked = PaginatedRequestParams::default().with_cursor(cursor);
            let page = match self.connection.peer.list_tools(Some(asked)).await {
                // The server has no tools.
                Err(ServiceError::McpError(error)) if error.code == ErrorCode::METHOD_NOT_FOUND => {
                    break;
                }
                page => page?,
            };
            tools.extend(page.tools);
            cursor = page.next_cursor;
            if cursor.is_none() || tools.len() > MAX_LISTED {
                break;
            }
        }
        Ok(tools)
    }

    /// Closes the connection. A service ends the session, and a program ends.
    pub(super) async fn close(mut self) {
        let _ = self.service.close_with_timeout(LEAVE_TIMEOUT).await;
    }
}

impl McpConnection {
    /// Calls a tool. A call that takes longer than the limit is cancelled.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: JsonObject,
        limit: Duration,
    ) -> Result<CallToolResult, McpCallError> {
        let server = &self.server;
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        // Dropping the call tells the server that the call is cancelled.
        let text = match timeout(limit, self.peer.call_tool_once(params)).await {
            Ok(Ok(CallToolResponse::Complete(result))) => return Ok(result),
            Ok(Ok(CallToolResponse::InputRequired(_))) => {
                format!("the MCP server `{server}` asked for user input, which is not supported")
            }
            Ok(Ok(_)) => {
                format!("the MCP server `{server}` sent a response that is not a result")
            }
            Ok(Err(error)) => self.explain(error).await,
            Err(_) => {
                let seconds = limit.as_secs();
                return Err(McpCallError {
                    text: format!(
                        "the MCP server `{server}` gave no result within {seconds} s; the call was cancelled"
                    ),
                    timed_out: true,
                });
            }
        };
        Err(McpCallError {
            text,
            timed_out: false,
        })
    }

    async fn explain(&self, error: ServiceError) -> String {
        let server = &self.server;
        match error {
            ServiceError::McpError(error) => {
                format!("the MCP server `{server}` refused: {}", refusal(&error))
            }
            ServiceError::TransportSend(error) if self.exit_report.is_none() => {
                format!(
                    "the request to the MCP server `{server}` failed: {}",
                    unreached(&error)
                )
            }
            ServiceError::UnexpectedResponse => {
                format!("the MCP server `{server}` sent an invalid response")
            }
            _ => {
                let how = gone(self.exit_report.clone()).await;
                format!(
                    "the MCP server `{server}` {how}. Its tools do not work any more in this job"
                )
            }
        }
    }
}

/// The reason why there is no connection. The text is for people.
enum Unopened {
    /// The server does not support this handshake.
    Refused(String),
    Failed(String),
}

async fn shake_hands<T: Transport<RoleClient> + 'static>(
    transport: T,
    lifecycle: ClientLifecycleMode,
    exit_report: Option<watch::Receiver<Option<String>>>,
) -> Result<RunningService<RoleClient, ClientConfig>, Unopened> {
    let this = Implementation::new("skillet", env!("CARGO_PKG_VERSION"));
    let config = ClientConfig::new(ClientCapabilities::default(), this);
    match serve_client_with_lifecycle(config, ResponseOnlyTransport::new(transport), lifecycle)
        .await
    {
        Ok(service) => Ok(service),
        Err(ClientInitializeError::JsonRpcError(error)) => {
            let words = format!("it refused the handshake: {}", refusal(&error));
            Err(Unopened::Refused(words))
        }
        Err(ClientInitializeError::TransportError { error, .. }) if exit_report.is_none() => {
            Err(Unopened::Failed(unreached(&error)))
        }
        Err(
            ClientInitializeError::TransportError { .. }
            | ClientInitializeError::ConnectionClosed(_),
        ) => Err(Unopened::Failed(format!("it {}", gone(exit_report).await))),
        Err(_) => Err(Unopened::Failed(
            "it sent an invalid response to the handshake".to_owned(),
        )),
    }
}

/// Describes the end of a server.
async fn gone(exit_report: Option<watch::Receiver<Option<String>>>) -> String {
    let written = match exit_report {
        Some(exit_report) => exit_report::read(exit_report).await,
        None => None,
    };
    written.unwrap_or_else(|| {
        "sent an invalid response, too much output, or too long a line".to_owned()
    })
}

fn refusal(error: &ErrorData) -> String {
    format!("{} (code {})", error.message, error.code.0)
}

fn unreached(error: &DynamicTransportError) -> String {
    match error.error.downcast_ref::<StreamableHttpError<Unreached>>() {
        Some(StreamableHttpError::Client(unreached)) => unreached.to_string(),
        Some(error) => error.to_string(),
        None => "the connection was lost".to_owned(),
    }
}
