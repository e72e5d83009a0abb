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

/// The most servers of one agent.
pub const MAX_SERVERS: usize = 8;

/// The default timeout of a call.
const CALL_TIMEOUT: Duration = Duration::from_secs(60);

/// A server that can be started, or asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "McpServerSettings", into = "McpServerSettings")]
pub struct McpServer {
    /// Its name, unique in an agent: its tools are called `mcp.<name>.<tool>`.
    pub name: String,
    /// Its address.
    pub access: McpAccess,
    /// Patterns of the tools that the model gets; `None` for all.
    tools: Option<Vec<String>>,
    timeout_seconds: Option<u32>,
}

/// The address of a server. Values of variables and headers may name secrets.
#[derive(Clone, Debug, PartialEq)]
pub enum McpAccess {
    /// A program in the job's sandbox, with its arguments.
    Program {
        /// Program and arguments.
        command: Vec<String>,
        /// Its variables, beside those that every command has.
        env: BTreeMap<String, String>,
    },
    /// A service, asked by streamable HTTP.
    Service {
        /// Its only address: redirects are not followed.
        url: String,
        /// Fields of each request.
        headers: BTreeMap<String, String>,
    },
}

impl McpServer {
    /// Whether the model gets the tool that the server calls so.
    pub fn exposes(&self, tool: &str) -> bool {
        let patterns = self.tools.as_ref();
        patterns.is_none_or(|patterns| {
            let mut patterns = patterns.iter();
            patterns.any(|pattern| hook::matches(pattern.as_bytes(), tool.as_bytes()))
        })
    }

    /// The timeout of a call.
    pub fn timeout(&self) -> Duration {
        let seconds = self.timeout_seconds.map(u64::from);
        seconds.map_or(CALL_TIMEOUT, Duration::from_secs)
    }

    /// The secrets that it is handed, each with the place in the settings that names it.
    pub fn secrets(&self) -> impl Iterator<Item = (String, SecretName)> {
        let (field, values) = match &self.access {
            McpAccess::Program { env, .. } => ("env", env),
            McpAccess::Service { headers, .. } => ("headers", headers),
        };
        values.iter().flat_map(move |(key, value)| {
            // What cannot be read was refused when it was put.
            let names = placeholder::names(value).unwrap_or_default().into_iter();
            names.map(move |name| (format!("/{field}/{}", check::escape(key)), name))
        })
    }
}
