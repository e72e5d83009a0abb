//! Log format and metrics.

use std::net::SocketAddr;

use clap::{Args, ValueEnum};
use shared::telemetry;

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum LogFormatValue {
    Text,
    Json,
}

impl From<LogFormatValue> for telemetry::LogFormat {
    fn from(format: LogFormatValue) -> Self {
        match format {
            LogFormatValue::Text => Self::Text,
            LogFormatValue::Json => Self::Json,
        }
    }
}

#[derive(Args, Clone)]
pub(crate) struct MetricsListen {
    /// The address that serves /metrics without authentication, such as 127.0.0.1:9420. A worker also serves /healthz
    /// and /readyz there. The API also serves /metrics on its own address to keys with the scope metrics or admin
    #[arg(long, env = "SKILLET_METRICS_LISTEN", value_name = "ADDRESS")]
    pub(crate) metrics_listen: Option<SocketAddr>,
}
