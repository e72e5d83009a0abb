//! `skillet queue`.

use serde_json::Value;

use super::{print, print_json};
use crate::Exit;
use crate::args::{ListAll, PausedPart};
use crate::client::Client;
use crate::config::Config;
use crate::session::Session;

/// `skillet queue`
pub(super) async fn show(options: &ListAll, config: &Config) -> anyhow::Result<Exit> {
    let show = async |client: &Client| {
        let queue: Value = client.get("/v1/queue", &[]).await?;
        print_queue(&queue, options.json)?;
        Ok(Exit::Done)
    };
    Session::with(&options.remote, config, show).await
}

fn print_queue(queue: &Value, json: bool) -> anyhow::Result<()> {
    if json {
        return print_json(queue);
    }
    for state in ["ready", "scheduled", "blocked", "running", "waiting"] {
        print(&format!("{state:<10}{}", queue[state]));
    }
    if let Some(since) = queue["oldest"].as_str() {
        print(&format!("{:<10}since {since}", "oldest"));
    }
    if queue["paused"] == true {
        print("paused: no job starts");
    }
    for skill in queue["paused_skills"].as_array().into_iter().flatten() {
        let skill = skill.as_str().unwrap_or_default();
        print(&format!("paused: no job of the skill {skill} starts"));
    }
    Ok(())
}

/// `skillet queue pause` and `skillet queue resume`
pub(super) async fn turn(
    options: &PausedPart,
    verb: &str,
    config: &Config,
) -> anyhow::Result<Exit> {
    let path = match &options.skill {
        Some(skill) => format!("/v1/skills/{skill}/{verb}"),
        None => format!("/v1/queue/{verb}"),
    };
    let turn = async |client: &Client| {
        let queue: Value = client.post(&path, &Value::Null).await?;
        print_queue(&queue, options.json)?;
        Ok(Exit::Done)
    };
    Session::with(&options.remote, config, turn).await
}
