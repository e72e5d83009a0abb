//! Options of the processes of a service.

use std::net::SocketAddr;
use std::path::PathBuf;

use api::origin::{Origins, WebOrigin};
use clap::Args;
use ipnet::IpNet;
use shared::db::{DatabaseSettings, Pooling};
use shared::model_name::ModelName;
use shared::provider::{ContextWindow, PriceSetting};
use worker::sandbox::{MemoryFloor, Mode};

use super::{MasterKeyOptions, MetricsListen, Slots};

/// The data directory.
#[derive(Args, Clone)]
pub(crate) struct DataDir {
    /// The data directory [default: $XDG_DATA_HOME/skillet, or /var/lib/skillet for root]
    #[arg(long, env = "SKILLET_DATA_DIR", value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
}

#[derive(Args, Clone)]
pub(crate) struct Database {
    /// The URL of the database
    #[arg(long, env = "DATABASE_URL", value_name = "URL", hide_env_values = true)]
    pub(crate) database_url: String,
    #[command(flatten)]
    pub(crate) pooler: PoolerOptions,
}

/// Options for a connection pooler between a process and its database.
#[derive(Args, Clone)]
pub(crate) struct PoolerOptions {
    /// The mode of the connection pooler at the database URL: `session` (also without a pooler), `transaction` if the
    /// pooler supports prepared statements (PgBouncer 1.21 or newer), else `transaction-unnamed`
    #[arg(
        long = "database-pooling",
        env = "SKILLET_DATABASE_POOLING",
        default_value = "session",
        value_name = "MODE"
    )]
    pub(crate) database_pooling: Pooling,
    /// The URL of the database that bypasses the pooler, for notifications and migrations
    #[arg(
        long = "database-direct-url",
        env = "SKILLET_DATABASE_DIRECT_URL",
        value_name = "URL",
        hide_env_values = true
    )]
    pub(crate) database_direct_url: Option<String>,
    /// Poll for new work and events 4 times a second instead of listening for notifications. Always on with a pooler in
    /// transaction mode and no --database-direct-url
    #[arg(long = "database-poll", env = "SKILLET_DATABASE_POLL")]
    pub(crate) database_poll: bool,
}

impl Database {
    /// The connection settings of the database.
    pub(crate) fn settings(&self) -> DatabaseSettings {
        self.pooler.settings(&self.database_url)
    }
}

impl PoolerOptions {
    /// The connection settings of the database at this URL.
    pub(crate) fn settings(&self, url: &str) -> DatabaseSettings {
        DatabaseSettings {
            url: url.to_owned(),
            pooling: self.database_pooling,
            direct_url: self.database_direct_url.clone(),
            polls: self.database_poll,
        }
    }
}

/// Settings shared by the API and the workers.
#[derive(Args, Clone)]
pub(crate) struct ServiceOptions {
    #[command(flatten)]
    pub(crate) home: DataDir,
    /// The file store: a folder, or s3://bucket/prefix [default: assets in the data directory]
    #[arg(long, env = "SKILLET_ASSETS", value_name = "PLACE")]
    pub(crate) assets: Option<String>,
    /// Redirect downloads by clients with an API key to a URL of the bucket that is valid for 5 minutes
    #[arg(long = "presigned-downloads", env = "SKILLET_PRESIGNED_DOWNLOADS")]
    pub(crate) presigned_downloads: bool,
    /// A folder with additional skills for all tenants
    #[arg(long, env = "SKILLET_SKILLS_DIR", value_name = "DIR")]
    pub(crate) skills_dir: Option<PathBuf>,
    /// The default model of jobs, such as anthropic/claude-sonnet-4-5
    #[arg(long, env = "SKILLET_MODEL", value_name = "MODEL")]
    pub(crate) default_model: Option<ModelName>,
    /// The context window of a model in tokens, such as ollama/qwen3=40960 or ollama/=32768 (repeatable)
    #[arg(
        long = "context-window",
        env = "SKILLET_CONTEXT_WINDOWS",
        value_name = "MODEL=TOKENS",
        value_delimiter = ','
    )]
    pub(crate) context_windows: Vec<ContextWindow>,
    /// The price of a model in dollars per million tokens (input, output, cache read, cache write), such as
    /// anthropic/claude-sonnet-4-5=3:15:0.3:3.75 or ollama/*=0:0 (repeatable)
    #[arg(
        long = "price",
        env = "SKILLET_PRICES",
        value_name = "MODEL=PRICES",
        value_delimiter = ','
    )]
    pub(crate) prices: Vec<PriceSetting>,
    /// A private network that webhooks may post to, also over plain HTTP, such as 10.0.0.0/8 (repeatable)
    #[arg(
        long = "webhook-allow",
        env = "SKILLET_WEBHOOK_ALLOW",
        value_name = "CIDR",
        value_delimiter = ','
    )]
    pub(crate) webhook_allow: Vec<IpNet>,
    #[command(flatten)]
    pub(crate) master_key: MasterKeyOptions,
}

/// Settings of the sandbox.
#[derive(Args, Clone)]
pub(crate) struct SandboxOptions {
    /// The sandbox mode: `required` needs namespaces, `allow-landlocked` falls back to Landlock, `off` is for
    /// development only
    #[arg(
        long = "sandbox",
        env = "SKILLET_SANDBOX",
        default_value = "required",
        value_name = "MODE"
    )]
    pub(crate) sandbox: Mode,
    /// A directory that commands may read, in addition to /usr (repeatable)
    #[arg(
        long = "sandbox-read",
        env = "SKILLET_SANDBOX_READ",
        value_name = "DIR",
        value_delimiter = ','
    )]
    pub(crate) sandbox_read: Vec<PathBuf>,
    /// The minimum available memory of the machine: a size such as 512MiB, or a percentage. Below it, commands are
    /// killed, the largest first
    #[arg(
        long = "sandbox-memory-floor",
        env = "SKILLET_SANDBOX_MEMORY_FLOOR",
        default_value = "5%",
        value_name = "SIZE"
    )]
    pub(crate) memory_floor: MemoryFloor,
}

#[derive(Args, Clone)]
pub(crate) struct Listen {
    /// The address to listen on. Port 0 selects a free port
    #[arg(
        long,
        env = "SKILLET_LISTEN",
        default_value = "127.0.0.1:8420",
        value_name = "ADDRESS"
    )]
    pub(crate) listen: SocketAddr,
    /// An origin whose web pages may call the API, such as https://app.example.com (repeatable)
    #[arg(
        long = "cors-origin",
        env = "SKILLET_CORS_ORIGINS",
        value_name = "ORIGIN",
        value_delimiter = ','
    )]
    pub(crate) cors_origins: Vec<WebOrigin>,
    /// The URL of this service in browsers, if it is behind a proxy, such as https://skillet.example.com
    #[arg(long, env = "SKILLET_PUBLIC_URL", value_name = "URL")]
    pub(crate) public_url: Option<WebOrigin>,
}

impl Listen {
    /// The origins of web pages that may call the API.
    pub(crate) fn origins(&self) -> Origins {
        Origins {
            own: self.public_url.clone(),
            allowed: self.cors_origins.clone(),
        }
    }
}

/// Settings of a service in one process.
#[derive(Args, Clone)]
pub(crate) struct EmbeddedOptions {
    /// The URL of the database [default: a private database in the data directory]
    #[arg(long, env = "DATABASE_URL", value_name = "URL", hide_env_values = true)]
    pub(crate) database_url: Option<String>,
    #[command(flatten)]
    pub(crate) pooler: PoolerOptions,
    #[command(flatten)]
    pub(crate) common: ServiceOptions,
    #[command(flatten)]
    pub(crate) sandbox: SandboxOptions,
}

#[derive(Args, Clone)]
pub(crate) struct Up {
    #[command(flatten)]
    pub(crate) listen: Listen,
    #[command(flatten)]
    pub(crate) own: EmbeddedOptions,
    #[command(flatten)]
    pub(crate) slots: Slots,
    #[command(flatten)]
    pub(crate) metrics: MetricsListen,
}

#[derive(Args)]
pub(crate) struct Api {
    #[command(flatten)]
    pub(crate) listen: Listen,
    #[command(flatten)]
    pub(crate) metrics: MetricsListen,
    #[command(flatten)]
    pub(crate) database: Database,
    #[command(flatten)]
    pub(crate) common: ServiceOptions,
}

#[derive(Args)]
pub(crate) struct WorkerOptions {
    #[command(flatten)]
    pub(crate) database: Database,
    #[command(flatten)]
    pub(crate) common: ServiceOptions,
    #[command(flatten)]
    pub(crate) slots: Slots,
    #[command(flatten)]
    pub(crate) sandbox: SandboxOptions,
    #[command(flatten)]
    pub(crate) metrics: MetricsListen,
}
