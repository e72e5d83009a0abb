//! The commands, one module each.

mod agents;
mod approvals;
mod assets;
mod completions;
mod config;
mod conversations;
mod demo;
mod doctor;
mod eval;
mod help;
mod init;
mod jobs;
mod keys;
mod login;
mod man;
mod models;
mod open;
mod profiles;
mod queue;
mod run;
mod schedules;
mod secrets;
mod serve;
mod skills;
mod telegram;
mod tenants;
mod usage;
mod webhooks;
mod workers;

use std::path::PathBuf;

use clap::{CommandFactory, Parser, Subcommand};

use crate::args::{Api, Database, LogFormatValue, Remote, Up, WorkerOptions};
use crate::config::Config;
use crate::exit::Exit;
use crate::noun::{Alone, Noun};

pub(crate) use completions::VARIABLE as COMPLETION_VARIABLE;

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
    pub(crate) log_format: LogFormatValue,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run a job: show its progress, print its text and save its files
    Run(Box<run::Run>),
    /// List, show, follow, cancel, retry, download and delete jobs
    Jobs(Box<Noun<jobs::Jobs>>),
    /// List, approve and deny tool calls that need approval
    Approvals(Box<Noun<approvals::Approvals>>),
    /// List, upload, download and delete files
    Assets(Box<Noun<assets::Assets>>),
    /// List, show, create and delete conversations with agents
    Conversations(Box<Noun<conversations::Conversations>>),
    /// List, show, create, change, pause, run and delete job schedules
    Schedules(Box<Noun<schedules::Schedules>>),
    /// Manage webhooks and their deliveries; forward events to a local address
    Webhooks(Box<Noun<webhooks::Webhooks>>),
    /// List, check, upload and delete skills
    Skills(Box<Noun<skills::Skills>>),
    /// List, show, create and delete agents
    Agents(Box<Noun<agents::Agents>>),
    /// Set, list and delete secrets; rotate the master key
    Secrets(Box<Noun<secrets::Secrets>>),
    /// List models and their prices
    Models(Box<Noun<models::Models>>),
    /// Create, list and revoke API keys
    Keys(Box<Noun<keys::Keys>>),
    /// List, show, create, change and delete tenants
    Tenants(Box<Noun<tenants::Tenants>>),
    /// List workers
    Workers(Box<Noun<workers::Workers>>),
    /// Show, pause and resume the queue
    Queue(Box<Noun<queue::QueueVerb>>),
    /// Show the usage of jobs by day, skill, agent or model
    Usage(Box<Alone<usage::UsageOptions>>),
    /// Open the console in a browser and sign in
    Open(Box<open::OpenConsole>),
    /// Log in to a service and make it the default
    Login(login::Login),
    /// List, select and delete profiles of services
    Profiles(profiles::ProfilesOptions),
    /// Run the whole service in one process
    Up(Box<Up>),
    /// Run only the API
    Api(Box<Api>),
    /// Run only a worker
    Worker(Box<WorkerOptions>),
    /// Update the database schema
    Migrate(Database),
    /// Write a commented skillet.toml
    Init(init::Init),
    /// Check the configuration file
    Config(config::ConfigFile),
    /// Check the local service, or this machine if none runs: database, sandbox, skills, model providers
    Doctor(Box<doctor::Doctor>),
    /// Run example jobs that need no model key, and show their results
    Demo(Box<demo::Demo>),
    /// Run tasks with a model, check the results and write a report
    Eval(Box<eval::Eval>),
    /// Run a Telegram bot that submits jobs, sends their results and asks for approvals
    Telegram(Box<telegram::Telegram>),
    /// Print a shell completion script
    Completions(completions::Completions),
    /// Write the manual pages
    Man(man::Man),

    /// Earlier name of `jobs list`
    #[command(hide = true)]
    List(Box<Alone<jobs::ListJobsOptions>>),
    /// Earlier name of `jobs get`
    #[command(hide = true)]
    Get(Box<Alone<jobs::Get>>),
    /// Earlier name of `jobs watch`
    #[command(hide = true)]
    Watch(Box<Alone<jobs::JobArgument>>),
    /// Earlier name of `jobs cancel`
    #[command(hide = true)]
    Cancel(Box<Alone<jobs::JobArguments>>),
}

impl Command {
    /// Whether the command runs a service or a part of one.
    pub(crate) fn keeps_data(&self) -> bool {
        matches!(self, Self::Up(_) | Self::Api(_) | Self::Worker(_))
    }

    /// The service options of a command that uses a service.
    pub(crate) fn remote(&self) -> Option<&Remote> {
        match self {
            Self::Run(run) => Some(&run.options.remote),
            Self::Demo(demo) => Some(&demo.remote),
            Self::Eval(eval) => Some(&eval.options.remote),
            Self::Telegram(telegram) => Some(&telegram.remote),
            Self::Jobs(noun) => noun.remote(),
            Self::Approvals(noun) => noun.remote(),
            Self::Assets(noun) => noun.remote(),
            Self::Conversations(noun) => noun.remote(),
            Self::Schedules(noun) => noun.remote(),
            Self::Webhooks(noun) => noun.remote(),
            Self::Skills(noun) => noun.remote(),
            Self::Agents(noun) => noun.remote(),
            Self::Secrets(noun) => noun.remote(),
            Self::Models(noun) => noun.remote(),
            Self::Keys(noun) => noun.remote(),
            Self::Tenants(noun) => noun.remote(),
            Self::Workers(noun) => noun.remote(),
            Self::Queue(noun) => noun.remote(),
            Self::Usage(alone) => Some(&alone.options.remote),
            Self::Open(open) => Some(&open.remote),
            Self::List(alone) => Some(&alone.options.remote),
            Self::Get(alone) => Some(&alone.options.remote),
            Self::Watch(alone) => Some(&alone.options.remote),
            Self::Cancel(alone) => Some(&alone.options.remote),
            Self::Login(_) | Self::Profiles(_) | Self::Up(_) | Self::Api(_) | Self::Worker(_) => {
                None
            }
            Self::Migrate(_) | Self::Init(_) | Self::Config(_) | Self::Doctor(_) => None,
            Self::Completions(_) | Self::Man(_) => None,
        }
    }

    /// Whether the command neither selects nor starts a service.
    pub(crate) fn is_independent(&self) -> bool {
        matches!(
            self,
            Self::Login(_)
                | Self::Profiles(_)
                | Self::Init(_)
                | Self::Config(_)
                | Self::Completions(_)
                | Self::Man(_)
        )
    }
}

/// Runs the selected command.
pub(crate) async fn run(cli: Cli, config: Config) -> anyhow::Result<Exit> {
    match cli.command {
        Command::Run(options) => run::run(&options, &config).await,
        Command::Jobs(noun) => noun.run(&config).await,
        Command::Approvals(noun) => noun.run(&config).await,
        Command::Assets(noun) => noun.run(&config).await,
        Command::Conversations(noun) => noun.run(&config).await,
        Command::Schedules(noun) => noun.run(&config).await,
        Command::Webhooks(noun) => noun.run(&config).await,
        Command::Skills(noun) => noun.run(&config).await,
        Command::Agents(noun) => noun.run(&config).await,
        Command::Secrets(noun) => noun.run(&config).await,
        Command::Models(noun) => noun.run(&config).await,
        Command::Keys(noun) => noun.run(&config).await,
        Command::Tenants(noun) => noun.run(&config).await,
        Command::Usage(alone) => alone.run(usage::UsageVerb::Show, &config).await,
        Command::Workers(noun) => noun.run(&config).await,
        Command::Queue(noun) => noun.run(&config).await,
        Command::Open(options) => open::open(&options).await,
        Command::Login(options) => login::login(&options).await,
        Command::Profiles(options) => profiles::profiles(&options),
        Command::Up(options) => serve::up(*options, &config).await,
        Command::Api(options) => serve::api(*options, &config).await,
        Command::Worker(options) => serve::worker(*options, &config).await,
        Command::Migrate(options) => serve::migrate(&options).await,
        Command::Init(options) => init::init(&options, &definition()),
        Command::Config(options) => config::check(&options, cli.config.as_deref(), &definition()),
        Command::Doctor(options) => doctor::doctor(&options, &config).await,
        Command::Demo(options) => demo::demo(&options, &config).await,
        Command::Eval(options) => eval::eval(&options, &config).await,
        Command::Telegram(options) => telegram::telegram(*options).await,
        Command::Completions(options) => completions::completions(&options),
        Command::Man(options) => man::man(&options, definition()),
        Command::List(alone) => alone.run(jobs::Jobs::List, &config).await,
        Command::Get(alone) => alone.run(jobs::Jobs::Get, &config).await,
        Command::Watch(alone) => alone.run(jobs::Jobs::Watch, &config).await,
        Command::Cancel(alone) => alone.run(jobs::Jobs::Cancel, &config).await,
    }
}

/// The definition of the command line.
pub fn definition() -> clap::Command {
    let mut command = Cli::command().mut_subcommands(help::with_client_options);
    command = help::with_groups(command);
    command.build();
    help::with_plain_usage(command)
}
