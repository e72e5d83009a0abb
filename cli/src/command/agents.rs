//! `skillet agents`.

use std::io::Read;
use std::path::Path;

use anyhow::Context;
use serde_json::Value;
use shared::hook::MCP_PREFIX;

use super::{print, print_json};
use crate::Exit;
use crate::args::{ListAll, OneAgent, PutAgent};
use crate::client::Client;
use crate::config::Config;
use crate::session::Session;

/// `skillet agents list`
pub(super) async fn list(options: &ListAll, config: &Config) -> anyhow::Result<Exit> {
    let list = async |client: &Client| {
        let agents = client.list("/v1/agents").await?;
        if options.json {
            print_json(&agents)?;
            return Ok(Exit::Done);
        }
        agents.iter().for_each(|agent| print(&line(agent)));
        Ok(Exit::Done)
    };
    Session::with(&options.remote, config, list).await
}

fn line(agent: &Value) -> String {
    let list = |name: &str| agent[name].as_array().into_iter().flatten();
    let tools = list("tools").filter_map(Value::as_str).map(str::to_owned);
    let servers = list("mcp_servers").filter_map(|server| server["name"].as_str());
    let servers = servers.map(|name| format!("{MCP_PREFIX}{name}.*"));
    let tools: Vec<_> = tools.chain(servers).collect();
    let text = |name: &str| agent[name].as_str().unwrap_or_default();
    let version = match agent["version"].as_i64() {
        None | Some(0) => "built in".to_owned(),
        Some(version) => format!("version {version}"),
    };
    format!("{:20} {version:12} {}", text("name"), tools.join(" "))
}

/// `skillet agents get`
pub(super) async fn get(options: &OneAgent, config: &Config) -> anyhow::Result<Exit> {
    let get = async |client: &Client| {
        let agent: Value = client.get(&path(&options.name), &[]).await?;
        print_json(&agent)?;
        Ok(Exit::Done)
    };
    Session::with(&options.remote, config, get).await
}

/// `skillet agents put`
pub(super) async fn put(options: &PutAgent, config: &Config) -> anyhow::Result<Exit> {
    let settings = read(&options.file)?;
    let put = async |client: &Client| {
        let agent = client.put(&path(&options.name), &settings).await?;
        print(&format!("version {}", agent["version"]));
        Ok(Exit::Done)
    };
    Session::with(&options.remote, config, put).await
}

fn read(file: &Path) -> anyhow::Result<Value> {
    let mut text = String::new();
    let read = match file.to_str() {
        Some("-") => std::io::stdin().read_to_string(&mut text),
        _ => std::fs::File::open(file).and_then(|mut file| file.read_to_string(&mut text)),
    };
    read.with_context(|| format!("cannot read {}", file.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is not JSON", file.display()))
}

/// `skillet agents delete`
pub(super) async fn delete(options: &OneAgent, config: &Config) -> anyhow::Result<Exit> {
    let delete = async |client: &Client| {
        client.delete(&path(&options.name)).await?;
        print("deleted");
        Ok(Exit::Done)
    };
    Session::with(&options.remote, config, delete).await
}

fn path(name: &str) -> String {
    format!("/v1/agents/{name}")
}
