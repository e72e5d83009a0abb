//! Logging, metrics and traces.

pub mod metrics;
pub mod trace;

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

/// The format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Plain text for people.
    Text,
    /// One JSON object per line.
    Json,
}

/// Sends log lines to standard error. `filter` has the syntax of `RUST_LOG`, e.g. `info,sqlx=warn`.
pub fn init(format: LogFormat, filter: &str) -> anyhow::Result<()> {
    // The HTTP library logs malformed client requests as errors.
    let filter = EnvFilter::try_new(format!("actix_http::h1::dispatcher=off,{filter}"))?;
    // The MCP library logs the output of servers, which can contain secrets.
    let filter = filter.add_directive("rmcp=off".parse()?);
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    let set = match format {
        LogFormat::Text => lines.with_target(false).try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
    set.map_err(|error| anyhow::anyhow!(error))
}
