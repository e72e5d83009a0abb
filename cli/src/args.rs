//! The command line.

mod agents;
mod approvals;
mod job;
mod keys;
mod queue;
mod remote;
mod secrets;
mod skills;
mod slots;
mod telemetry;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use api::origin::{Origin, Origins};
use clap::{Args, CommandFactory, Parser, Subcommand};
use serde_json::Value;
use shared::id::{ConversationId, InvalidId};
use shared::model_name::ModelName;
use shared::provider::{ContextWindow, ModelPrice};
use worker::sandbox::{MemoryFloor, Mode};

pub(crate) use agents::{Agents, AgentsCommand, OneAgent, PutAgent};
pub(crate) use approvals::{Approvals, ApprovalsCommand, ListApprovals, OneApproval};
pub(crate) use job::{List, OneJob, Watch};
pub(crate) use keys::{CreateKey, Keys, KeysCommand, RevokeKey};
pub(crate) use queue::{PausedPart, Queue, QueueCommand};
pub(crate) use remote::Remote;
pub(crate) use secrets::{MasterKey, OneSecret, Rotate, Secrets, SecretsCommand};
pub(crate) use skills::{CheckSkill, DeleteSkill, PushSkill, Skills, SkillsCommand};
pub(crate) use slots::{KeepFor, Slots};
pub(crate) use telemetry::{LogFormat, MetricsListen};

/// A self-hosted job API for agent skills.
#[derive(Parser)]
#[command(name = "skillet", version)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// The configuration file [default: skillet.toml in the current directory, if it exists]
    #[arg(long, global = true, env = "SKILLET_CONFIG", value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The log filter, in the syntax of RUST_LOG
    #[arg(
        long,
        global = true,
        env = "SKILLET_LOG",
        default_value = "warn",
        value_name = "FILTER"
    )]
    pub(crate) log: String,
    /// The format of log lines
    #[arg(
        long,
        global = true,
        env = "SKILLET_LOG_FORMAT",
        default_value = "text"
    )]
    pub(crate) log_format: LogFormat,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run the whole service in one process
    Up(Up),
    /// Run only the API
    Api(Api),
    /// Run only a worker
    Worker(Worker),
    /// Update the schema of the database
    Migrate(Database),
    /// Run small jobs that need no key, and show their results
    Demo(Demo),
    /// Run a job: follow it, print its text and save its files
    Run(Run),
    /// Follow a job
    Watch(Watch),
    /// Show a job
    Get(OneJob),
    /// List jobs, newest first
    List(List),
    /// Cancel a job
    Cancel(OneJob),
    /// List skills and their missing programs; check, upload and delete your own
    Skills(Skills),
    /// List, show, define and delete agents
    Agents(Agents),
    /// List, approve and deny tool calls that wait for a person
    Approvals(Approvals),
    /// Show, pause and resume the queue
    Queue(Queue),
    /// Create, list and revoke API keys
    Keys(Keys),
    /// Set, list and delete secrets; rotate the master key
    Secrets(Secrets),
    /// Check the local service, or else this machine: database, sandbox, skills, model providers
    Doctor(Doctor),
}

/// The data directory.
#[derive(Args, Clone)]
pub(crate) struct DataDir {
    /// The data directory [default: $XDG_DATA_HOME/skillet, for root /var/lib/skillet]
    #[arg(long, env = "SKILLET_DATA_DIR", value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
}

#[derive(Args, Clone)]
pub(crate) struct Database {
    /// The URL of the database
    #[arg(long, env = "DATABASE_URL", value_name = "URL", hide_env_values = true)]
    pub(crate) database_url: String,
}

/// Settings shared by the API and the workers.
#[derive(Args, Clone)]
pub(crate) struct ServiceOptions {
    #[command(flatten)]
    pub(crate) home: DataDir,
    /// The file store: a folder, or s3://bucket/prefix [default: assets in the data directory]
    #[arg(long, env = "SKILLET_ASSETS", value_name = "PLACE")]
    pub(crate) assets: Option<String>,
    /// A folder with more skills, for all tenants
    #[arg(long, env = "SKILLET_SKILLS_DIR", value_name = "DIR")]
    pub(crate) skills_dir: Option<PathBuf>,
    /// The model of jobs that name none, such as anthropic/claude-sonnet-4-5
    #[arg(long, env = "SKILLET_MODEL", value_name = "MODEL")]
    pub(crate) default_model: Option<ModelName>,
    /// The context window of models in tokens, such as ollama/qwen3=40960 or ollama/=32768
    #[arg(
        long = "context-window",
        env = "SKILLET_CONTEXT_WINDOWS",
        value_name = "MODEL=TOKENS",
        value_delimiter = ','
    )]
    pub(crate) context_windows: Vec<ContextWindow>,
    /// The price of models in dollars per million tokens: input, output, cache read, cache write. Such as
    /// anthropic/claude-sonnet-4-5=3:15:0.3:3.75 or ollama/*=0:0
    #[arg(
        long = "price",
        env = "SKILLET_PRICES",
        value_name = "MODEL=PRICES",
        value_delimiter = ','
    )]
    pub(crate) prices: Vec<ModelPrice>,
    #[command(flatten)]
    pub(crate) master_key: MasterKey,
}

/// Settings of the sandbox.
#[derive(Args, Clone)]
pub(crate) struct Sandbox {
    /// The sandbox: `required` needs namespaces, `allow-landlocked` falls back to Landlock, `off` is for
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
    /// The available memory below which commands are ended, the largest first: a size such as 512MiB, or a
    /// percentage
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
    /// The origin of web pages that may call the API, e.g. https://app.example.com; can be given again
    #[arg(
        long = "cors-origin",
        env = "SKILLET_CORS_ORIGINS",
        value_name = "ORIGIN",
        value_delimiter = ','
    )]
    pub(crate) cors_origins: Vec<Origin>,
    /// Where browsers reach this service, if a proxy stands before it, e.g. https://skillet.example.com
    #[arg(long, env = "SKILLET_PUBLIC_URL", value_name = "URL")]
    pub(crate) public_url: Option<Origin>,
}

impl Listen {
    /// The origins of browsers' pages.
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
    pub(crate) common: ServiceOptions,
    #[command(flatten)]
    pub(crate) sandbox: Sandbox,
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
pub(crate) struct Worker {
    #[command(flatten)]
    pub(crate) database: Database,
    #[command(flatten)]
    pub(crate) common: ServiceOptions,
    #[command(flatten)]
    pub(crate) slots: Slots,
    #[command(flatten)]
    pub(crate) sandbox: Sandbox,
    #[command(flatten)]
    pub(crate) metrics: MetricsListen,
}

#[derive(Args)]
pub(crate) struct Run {
    /// The skill (see `skillet skills`). Not with --agent
    #[arg(value_name = "SKILL")]
    pub(crate) skill_or_prompt: String,
    /// The task. `-` reads it from standard input
    #[arg(required_unless_present = "agent", conflicts_with = "agent")]
    pub(crate) prompt: Option<String>,
    /// The agent to run instead of a skill (see `skillet agents list`)
    #[arg(short, long)]
    pub(crate) agent: Option<String>,
    /// The conversation to continue, with --agent
    #[arg(short, long, value_name = "ID", value_parser = parse_id::<ConversationId>)]
    pub(crate) conversation: Option<ConversationId>,
    /// An input: a file or a URL (repeatable)
    #[arg(short, long = "input", value_name = "FILE")]
    pub(crate) inputs: Vec<String>,
    /// The directory for the job's files
    #[arg(short, long = "output", default_value = ".", value_name = "DIR")]
    pub(crate) output_dir: PathBuf,
    /// Overwrite existing files
    #[arg(long)]
    pub(crate) force: bool,
    /// The model, such as openai/gpt-5 or script/bash
    #[arg(short, long)]
    pub(crate) model: Option<ModelName>,
    /// A parameter of the skill. The value is JSON, or else text (repeatable)
    #[arg(short, long = "param", value_name = "NAME=VALUE", value_parser = parse_parameter)]
    pub(crate) parameters: Vec<(String, Value)>,
    /// The time limit of the job in seconds
    #[arg(long, value_name = "SECONDS")]
    pub(crate) timeout: Option<u32>,
    /// Print the job as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

#[derive(Args)]
pub(crate) struct Demo {
    /// The directory for the jobs' files
    #[arg(short, long = "output", default_value = "skillet-demo")]
    pub(crate) output_dir: PathBuf,
    /// Run a job for each skill that needs no account, and write an HTML page of the results
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

#[derive(Args)]
pub(crate) struct ListAll {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

#[derive(Args)]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) home: DataDir,
    #[command(flatten)]
    pub(crate) sandbox: Sandbox,
    /// A folder with more skills, for all tenants
    #[arg(long, env = "SKILLET_SKILLS_DIR", value_name = "DIR")]
    pub(crate) skills_dir: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Parses an id of one kind.
fn parse_id<T: FromStr<Err = InvalidId>>(text: &str) -> Result<T, InvalidId> {
    text.parse()
}

fn parse_parameter(text: &str) -> Result<(String, Value), &'static str> {
    let (name, value) = text.split_once('=').ok_or("must be NAME=VALUE")?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
    Ok((name.to_owned(), value))
}

/// The definition of the command line.
pub fn command() -> clap::Command {
    let mut command = Cli::command();
    command.build();
    with_plain_usage(command)
}

/// Makes errors show the usage of the command itself. clap would add each option that was given, also by a variable.
fn with_plain_usage(mut command: clap::Command) -> clap::Command {
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").to_owned();
    command
        .override_usage(usage)
        .mut_subcommands(with_plain_usage)
}
