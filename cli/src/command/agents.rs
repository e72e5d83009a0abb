//! `skillet agents`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Subcommand};
use serde_json::Value;
use shared::hook::MCP_PREFIX;
use skillet_client::Client;

use crate::complete;
use crate::exit::Exit;
use crate::json_file;
use crate::noun::Verb;
use crate::output::{Cell, Column, OutputFormat, ResourceKind};
use crate::terminal::print;

const KIND: ResourceKind = ResourceKind {
    id: "name",
    columns: &[
        Column::new("NAME", |agent| Cell::text(&agent["name"])),
        Column::new("VERSION", version),
        Column::new("MODEL", |agent| Cell::text(&agent["model"])),
        Column::new("TOOLS", tools),
    ],
};

#[derive(Subcommand)]
pub(crate) enum Agents {
    /// List agents
    List,
    /// Show an agent
    Get(AgentArgument),
    /// Create an agent, or a new version of it, from a file
    Apply(Apply),
    /// Create an agent, or a new version of it
    #[command(hide = true)]
    Put(PutAgentOptions),
    /// Delete an agent. Deleting `default` restores the built-in agent
    Delete(AgentArgument),
}

#[derive(Args)]
pub(crate) struct AgentArgument {
    /// The name of the agent
    #[arg(add = complete::agents())]
    name: String,
}

#[derive(Args)]
pub(crate) struct Apply {
    /// A JSON file with the fields of the agent, such as `soul`, `model` and `tools`. `-` reads standard input
    #[arg(short, long, value_name = "FILE")]
    file: PathBuf,
    /// The name of the agent [default: the field `name` of the file]
    #[arg(add = complete::agents())]
    name: Option<String>,
}

#[derive(Args)]
pub(crate) struct PutAgentOptions {
    name: String,
    file: PathBuf,
}

impl Verb for Agents {
    fn default() -> Self {
        Self::List
    }

    async fn run(&self, client: &Client, output: OutputFormat) -> anyhow::Result<Exit> {
        match self {
            Self::List => output.list(&client.list("/v1/agents", &[], None).await?, &KIND)?,
            Self::Get(AgentArgument { name }) => {
                let agent: Value = client.get(&path(name), &[]).await?;
                output.fields(&KIND, &agent)?;
            }
            Self::Apply(Apply { file, name }) => {
                apply(client, output, name.as_deref(), file).await?;
            }
            Self::Put(PutAgentOptions { name, file }) => {
                apply(client, output, Some(name), file).await?;
            }
            Self::Delete(AgentArgument { name }) => {
                client.delete(&path(name)).await?;
                output.done(&KIND, "deleted", name)?;
            }
        }
        Ok(Exit::Done)
    }
}

async fn apply(
    client: &Client,
    output: OutputFormat,
    name: Option<&str>,
    file: &Path,
) -> anyhow::Result<()> {
    let mut settings = json_file::read(file)?;
    let named = settings
        .as_object_mut()
        .and_then(|it| it.shift_remove("name"));
    let named = named.as_ref().and_then(Value::as_str);
    let name = name.or(named).with_context(|| {
        let file = file.display();
        format!("no agent name: use `skillet agents apply NAME -f {file}`, or add `\"name\"` to the file")
    })?;
    let agent = client.put(&path(name), &settings).await?;
    output.one(name, &agent, || {
        print(&format!("{name} version {}", agent["version"]))
    })
}

fn version(agent: &Value) -> Cell {
    Cell::Text(match agent["version"].as_i64() {
        None | Some(0) => "built in".to_owned(),
        Some(version) => version.to_string(),
    })
}

fn tools(agent: &Value) -> Cell {
    let list = |name: &str| agent[name].as_array().into_iter().flatten();
    let tools = list("tools").filter_map(Value::as_str).map(str::to_owned);
    let servers = list("mcp_servers").filter_map(|server| server["name"].as_str());
    let servers = servers.map(|name| format!("{MCP_PREFIX}{name}.*"));
    let tools: Vec<_> = tools.chain(servers).collect();
    Cell::Text(tools.join(" "))
}

fn path(name: &str) -> String {
    format!("/v1/agents/{name}")
}
