//! `skillet schedules`.

mod settings;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use shared::id::ScheduleId;

use crate::args::parse_id;
use crate::complete;
use crate::exit::Exit;
use crate::noun::Verb;
use crate::output::{Cell, Column, OutputFormat, ResourceKind, text_of};
use crate::terminal::print;
use settings::{CreateScheduleOptions, UpdateScheduleOptions};
use skillet_client::Client;

const KIND: ResourceKind = ResourceKind {
    id: "id",
    columns: &[
        Column::new("ID", |it| Cell::text(&it["id"])),
        Column::new("NEXT", next),
        Column::new("WHEN", when),
        Column::new("NAME", |it| Cell::text(&it["name"])),
    ],
};

const RUN: ResourceKind = ResourceKind {
    id: "job_id",
    columns: &[
        Column::new("TIME", |it| Cell::time(&it["scheduled_for"])),
        Column::new("STATUS", |it| Cell::text(&it["status"])),
        Column::new("JOB", |it| Cell::text(&it["job_id"])),
        Column::new("JOB STATUS", |it| Cell::text(&it["job_status"])),
        Column::new("REASON", reason),
    ],
};

#[derive(Subcommand)]
pub(crate) enum Schedules {
    /// List schedules, newest first
    List(ListSchedulesOptions),
    /// Show a schedule and its next run times
    Get(ScheduleArgument),
    /// Create a schedule
    Create(Box<CreateScheduleOptions>),
    /// Change a schedule
    Update(Box<UpdateScheduleOptions>),
    /// Delete schedules. Their jobs are kept
    Delete(ScheduleArguments),
    /// Pause schedules
    Pause(ScheduleArguments),
    /// Resume schedules
    Resume(ScheduleArguments),
    /// Run a schedule now, and print the id of the job
    Run(ScheduleArgument),
    /// List the runs of a schedule, newest first
    Runs(RunsOptions),
}

#[derive(Args, Default)]
pub(crate) struct ListSchedulesOptions {
    /// The maximum number of schedules [default: 20]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
}

#[derive(Args)]
pub(crate) struct ScheduleArgument {
    /// The id of the schedule
    #[arg(value_parser = parse_id::<ScheduleId>, add = complete::schedules())]
    schedule: ScheduleId,
}

#[derive(Args)]
pub(crate) struct ScheduleArguments {
    /// The ids of the schedules
    #[arg(required = true, value_name = "SCHEDULE", value_parser = parse_id::<ScheduleId>)]
    #[arg(add = complete::schedules())]
    schedules: Vec<ScheduleId>,
}

#[derive(Args)]
pub(crate) struct RunsOptions {
    #[command(flatten)]
    one: ScheduleArgument,
    /// The maximum number of runs [default: 20]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
}

impl Verb for Schedules {
    fn default() -> Self {
        Self::List(ListSchedulesOptions::default())
    }

    async fn run(&self, client: &Client, output: OutputFormat) -> anyhow::Result<Exit> {
        match self {
            Self::List(ListSchedulesOptions { limit }) => {
                let limit = limit.unwrap_or(20) as usize;
                output.list(
                    &client.list("/v1/schedules", &[], Some(limit)).await?,
                    &KIND,
                )?;
            }
            Self::Get(ScheduleArgument { schedule }) => {
                let schedule: Value = client.get(&path(*schedule), &[]).await?;
                output.fields(&KIND, &schedule)?;
            }
            Self::Create(options) => {
                let created: Value = client.post("/v1/schedules", &options.body()?).await?;
                let id = text_of(&created["id"]);
                output.one(&id, &created, || print(&id))?;
            }
            Self::Update(options) => {
                let path = path(options.one.schedule);
                let updated: Value = client.patch(&path, &options.body()?).await?;
                output.fields(&KIND, &updated)?;
            }
            Self::Delete(ScheduleArguments { schedules }) => {
                for id in schedules {
                    client.delete(&path(*id)).await?;
                    output.done(&KIND, "deleted", &id.to_string())?;
                }
            }
            Self::Pause(ScheduleArguments { schedules }) => {
                set_paused(client, output, schedules, true).await?;
            }
            Self::Resume(ScheduleArguments { schedules }) => {
                set_paused(client, output, schedules, false).await?;
            }
            Self::Run(ScheduleArgument { schedule }) => {
                let path = format!("{}/run", path(*schedule));
                let job: Value = client.post(&path, &Value::Null).await?;
                let id = text_of(&job["id"]);
                output.one(&id, &job, || print(&id))?;
            }
            Self::Runs(RunsOptions { one, limit }) => {
                let path = format!("{}/runs", path(one.schedule));
                let limit = limit.unwrap_or(20) as usize;
                output.list(&client.list(&path, &[], Some(limit)).await?, &RUN)?;
            }
        }
        Ok(Exit::Done)
    }
}

async fn set_paused(
    client: &Client,
    output: OutputFormat,
    schedules: &[ScheduleId],
    paused: bool,
) -> anyhow::Result<()> {
    let done = if paused { "paused" } else { "resumed" };
    for id in schedules {
        client
            .patch::<Value>(&path(*id), &json!({"paused": paused}))
            .await?;
        output.done(&KIND, done, &id.to_string())?;
    }
    Ok(())
}

fn path(id: ScheduleId) -> String {
    format!("/v1/schedules/{id}")
}

fn next(schedule: &Value) -> Cell {
    match &schedule["next_times"][0] {
        Value::Null if schedule["paused"] == true => Cell::Text("paused".to_owned()),
        Value::Null => Cell::Text("ended".to_owned()),
        next => Cell::time(next),
    }
}

fn when(schedule: &Value) -> Cell {
    Cell::Text(match schedule["interval_seconds"].as_i64() {
        Some(seconds) => format!("every {seconds} s"),
        None => format!(
            "{} {}",
            text_of(&schedule["cron"]),
            text_of(&schedule["time_zone"])
        ),
    })
}

/// The reason why a run has no job.
fn reason(run: &Value) -> Cell {
    let error = &run["error"];
    let first = &error["errors"][0];
    Cell::Text(
        match (first["pointer"].as_str(), error["detail"].as_str()) {
            (Some(pointer), _) => format!("{pointer} {}", text_of(&first["detail"])),
            (None, Some(detail)) => detail.to_owned(),
            (None, None) => text_of(&run["reason"]),
        },
    )
}
