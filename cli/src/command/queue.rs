//! `skillet queue`.

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use skillet_client::Client;

use crate::exit::Exit;
use crate::noun::Verb;
use crate::output::{Cell, Column, OutputFormat, ResourceKind};
use crate::terminal::print;

const PERIOD: ResourceKind = ResourceKind {
    id: "at",
    columns: &[
        Column::new("AT", |period| Cell::time(&period["at"])),
        Column::new("READY", |period| Cell::text(&period["ready"])),
        Column::new("RUNNING", |period| Cell::text(&period["running"])),
        Column::new("WAITING", |period| Cell::text(&period["waiting"])),
        Column::new("OLDEST S", |period| Cell::text(&period["oldest_seconds"])),
        Column::new("COMPLETED", |period| Cell::text(&period["completed"])),
        Column::new("FAILED", |period| Cell::text(&period["failed"])),
        Column::new("CANCELLED", |period| Cell::text(&period["cancelled"])),
    ],
};

#[derive(Subcommand)]
pub(crate) enum QueueVerb {
    /// Show the number of jobs in each state
    #[command(alias = "get", alias = "list")]
    Show,
    /// Pause the queue. Running jobs continue, new jobs wait
    Pause(QueuePart),
    /// Resume the queue
    Resume(QueuePart),
    /// Show the depth of the queue and the number of ended jobs over time
    History(HistoryOptions),
}

#[derive(Args)]
pub(crate) struct QueuePart {
    /// Only for this skill
    #[arg(long)]
    skill: Option<String>,
}

#[derive(Args)]
pub(crate) struct HistoryOptions {
    /// The number of minutes to show
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=43_200))]
    minutes: u32,
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
            Self::History(options) => return options.show(client, output).await,
        };
        output.one("", &queue, || show(&queue))?;
        Ok(Exit::Done)
    }
}

impl HistoryOptions {
    async fn show(&self, client: &Client, output: OutputFormat) -> anyhow::Result<Exit> {
        let query = [("minutes", self.minutes.to_string())];
        let history: Value = client.get("/v1/queue/history", &query).await?;
        let periods = history["data"].as_array().map(Vec::as_slice);
        output.list(periods.unwrap_or_default(), &PERIOD)?;
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
