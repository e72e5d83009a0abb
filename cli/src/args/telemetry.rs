//! Log format and metrics.

use std::net::SocketAddr;

use clap::{Args, ValueEnum};
use shared::telemetry;

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

impl From<LogFormat> for telemetry::LogFormat {
    fn from(format: LogFormat) -> Self {
        match format {
            LogFormat::Text => Self::Text,
            LogFormat::Json => Self::Json,
        }
    }
}

#[derive(Args, Clone)]
pub(crate) struct MetricsListen {
    /// The address for metrics without a key, such as 127.0.0.1:9420. The API also serves /metrics to admin keys
    #[arg(long, env = "SKILLET_METRICS_LISTEN", value_name = "ADDRESS")]
    pub(crate) metrics_listen: Option<SocketAddr>,
}
