//! The commands, one module each.

mod agents;
mod approvals;
mod demo;
mod doctor;
mod job;
mod keys;
mod queue;
mod run;
mod secrets;
mod serve;
mod skills;

use serde::Serialize;

use crate::Exit;
use crate::args::{
    AgentsCommand, ApprovalsCommand, Cli, Command, KeysCommand, QueueCommand, SecretsCommand,
    SkillsCommand,
};
use crate::config::Config;

/// Runs the command that was asked for.
pub(crate) async fn run(cli: Cli, config: Config) -> anyhow::Result<Exit> {
    match cli.command {
        Command::Up(options) => serve::up(options, &config).await,
        Command::Api(options) => serve::api(options, &config).await,
        Command::Worker(options) => serve::worker(options, &config).await,
        Command::Migrate(options) => serve::migrate(&options).await,
        Command::Demo(options) => demo::demo(&options, &config).await,
        Command::Run(options) => run::run(&options, &config).await,
        Command::Watch(options) => job::watch(&options, &config).await,
        Command::Get(options) => job::get(&options, &config).await,
        Command::List(options) => job::list(&options, &config).await,
        Command::Cancel(options) => job::cancel(&options, &config).await,
        Command::Skills(skills) => match skills.command {
            None => skills::list(&skills.list, &config).await,
            Some(SkillsCommand::Check(options)) => skills::check(&options),
            Some(SkillsCommand::Push(options)) => skills::push(&options, &config).await,
            Some(SkillsCommand::Delete(options)) => skills::delete(&options, &config).await,
        },
        Command::Agents(agents) => match agents.command {
            AgentsCommand::List(options) => agents::list(&options, &config).await,
            AgentsCommand::Get(options) => agents::get(&options, &config).await,
            AgentsCommand::Put(options) => agents::put(&options, &config).await,
            AgentsCommand::Delete(options) => agents::delete(&options, &config).await,
        },
        Command::Approvals(approvals) => match approvals.command {
            ApprovalsCommand::List(options) => approvals::list(&options, &config).await,
            ApprovalsCommand::Approve(options) => approvals::resolve(&options, true, &config).await,
            ApprovalsCommand::Deny(options) => approvals::resolve(&options, false, &config).await,
        },
        Command::Queue(queue) => match queue.command {
            None => queue::show(&queue.show, &config).await,
            Some(QueueCommand::Pause(options)) => queue::turn(&options, "pause", &config).await,
            Some(QueueCommand::Resume(options)) => queue::turn(&options, "resume", &config).await,
        },
        Command::Keys(keys) => match keys.command {
            KeysCommand::Create(options) => keys::create(&options, &config).await,
            KeysCommand::List(options) => keys::list(&options, &config).await,
            KeysCommand::Revoke(options) => keys::revoke(&options, &config).await,
        },
        Command::Secrets(secrets) => match secrets.command {
            SecretsCommand::Set(options) => secrets::set(&options, &config).await,
            SecretsCommand::List(options) => secrets::list(&options, &config).await,
            SecretsCommand::Delete(options) => secrets::delete(&options, &config).await,
            SecretsCommand::Rotate(options) => secrets::rotate(&options).await,
        },
        Command::Doctor(options) => doctor::doctor(&options, &config).await,
    }
}

/// Prints a line to standard output. A reader that went away is no error of ours.
fn print(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stdout(), "{line}");
}

fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    print(&serde_json::to_string_pretty(value)?);
    Ok(())
}
