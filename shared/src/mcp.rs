//! MCP servers: programs and services that add tools to an agent (modelcontextprotocol.io).

mod check;
mod settings;
mod url;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::hook;
use crate::secret::{SecretName, placeholder};

pub use settings::{McpFault, McpServerSettings};

/// The maximum number of MCP servers of an agent.
pub const MAX_SERVERS: usize = 8;

/// The default timeout of a tool call.
const CALL_TIMEOUT: Duration = Duration::from_secs(60);

/// An MCP server with validated settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "McpServerSettings", into = "McpServerSettings")]
pub struct McpServer {
    /// The name, unique within the agent. The server's tools are named `mcp.<name>.<tool>`.
    pub name: String,
    /// The transport of the server.
    pub access: McpAccess,
    /// Patterns for the tools that the model can use. `None` means all tools.
    tools: Option<Vec<String>>,
    timeout_seconds: Option<u32>,
}

/// The transport of a server. Values of variables and headers can contain secret placeholders.
#[derive(Clone, Debug, PartialEq)]
pub enum McpAccess {
    /// A program in the job's sandbox.
    Program {
        /// The program and its arguments.
        command: Vec<String>,
        /// Environment variables, in addition to those of every command.
        env: BTreeMap<String, String>,
    },
    /// A service that speaks streamable HTTP.
    Service {
        /// The URL of the service. Redirects are not followed.
        url: String,
        /// Header fields of each request.
        headers: BTreeMap<String, String>,
    },
}

impl McpServer {
    /// Whether the model can use a tool, by its name on the server.
    pub fn exposes(&self, tool: &str) -> bool {
        let patterns = self.tools.as_ref();
        patterns.is_none_or(|patterns| {
            let mut patterns = patterns.iter();
            patterns.any(|pattern| hook::matches(pattern.as_bytes(), tool.as_bytes()))
        })
    }

    /// The timeout of a tool call.
    pub fn timeout(&self) -> Duration {
        let seconds = self.timeout_seconds.map(u64::from);
        seconds.map_or(CALL_TIMEOUT, Duration::from_secs)
    }

    /// The secrets that the server receives, each with the JSON Pointer of the setting that names it.
    pub fn secrets(&self) -> impl Iterator<Item = (String, SecretName)> {
        let (field, values) = match &self.access {
            McpAccess::Program { env, .. } => ("env", env),
            McpAccess::Service { headers, .. } => ("headers", headers),
        };
        values.iter().flat_map(move |(key, value)| {
            // Values with invalid placeholders were rejected when the settings were saved.
            let names = placeholder::names(value).unwrap_or_default().into_iter();
            names.map(move |name| (format!("/{field}/{}", check::escape(key)), name))
        })
    }
}
