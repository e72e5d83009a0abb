//! `skillet queue`.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::client::Client;
use crate::exit::Exit;
use crate::noun::Verb;
use crate::output::OutputFormat;
use crate::terminal::print;

#[derive(Subcommand)]
pub(crate) enum QueueVerb {
    /// Show the number of jobs in each state
    #[command(alias = "get", alias = "list")]
    Show,
    /// Pause dispatch. Running jobs continue, new jobs wait
    Pause(QueuePart),
    /// Resume dispatch
    Resume(QueuePart),
}

#[derive(Args)]
pub(crate) struct QueuePart {
    /// Only for this skill
    #[arg(long)]
    skill: Option<String>,
}

impl Verb for QueueVerb {
    fn default() -> Self {
        Self::Show
    }

    async fn run(&self, client: &Client, output: OutputFormat) -> anyhow::Result<Exit> {
        let queue: Value = match self {
            Self::Show => client.get("/v1/queue", &[]).await?,
            Self::Pause(part) => client.post(&part.path("pause"), &json!({})).await?,
            Self::Resume(part) => client.post(&part.path("resume"), &json!({})).await?,
        };
        output.one("", &queue, || show(&queue))?;
        Ok(Exit::Done)
    }
}

impl QueuePart {
    fn path(&self, verb: &str) -> String {
        match &self.skill {
            Some(skill) => format!("/v1/skills/{skill}/{verb}"),
            None => format!("/v1/queue/{verb}"),
        }
    }
}

fn show(queue: &Value) -> anyhow::Result<()> {
    for state in ["ready", "scheduled", "blocked", "running", "waiting"] {
        print(&format!("{state:<10}{}", queue[state]))?;
    }
    if let Some(since) = queue["oldest"].as_str() {
        print(&format!("{:<10}since {since}", "oldest"))?;
    }
    if queue["paused"] == true {
        print("paused: no job starts")?;
    }
    for skill in queue["paused_skills"].as_array().into_iter().flatten() {
        let skill = skill.as_str().unwrap_or_default();
        print(&format!("paused: no job of the skill {skill} starts"))?;
    }
    Ok(())
}
