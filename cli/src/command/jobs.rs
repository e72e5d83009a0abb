//! `skillet jobs`.

mod download;
mod list;
mod logs;
mod show;
mod update;

use clap::{Args, Subcommand};
use serde_json::json;
use shared::id::JobId;
use shared::job::Job;
use skillet_client::Client;

use crate::args::parse_id;
use crate::complete;
use crate::exit::Exit;
use crate::follow;
use crate::noun::Verb;
use crate::output::{Cell, Column, OutputFormat, ResourceKind};
use crate::terminal::{print, print_json};

pub(crate) use list::ListJobsOptions;
pub(crate) use logs::Logs;
pub(crate) use show::{show, summary};

const KIND: ResourceKind = ResourceKind {
    id: "id",
    columns: &[
        Column::new("ID", |job| Cell::text(&job["id"])),
        Column::new("STATUS", |job| Cell::status(&job["status"])),
        Column::new("CREATED", |job| Cell::time(&job["created_at"])),
        Column::new("RUNS", list::runs),
        Column::new("DURATION", list::duration),
        Column::new("COST", list::cost),
        Column::new("MODEL", |job| Cell::text(&job["model"])),
        Column::new("TITLE", |job| Cell::text(&job["title"])),
    ],
};

#[derive(Subcommand)]
pub(crate) enum Jobs {
    /// List jobs, newest first
    List(ListJobsOptions),
    /// Show a job with its state and result, and the reason why it waits
    Get(Get),
    /// Print the log of a job
    Logs(Logs),
    /// Follow a job and answer its approvals, then show it
    Watch(JobArgument),
    /// Cancel jobs
    Cancel(JobArguments),
    /// Run an ended job again as a new job
    Retry(JobArgument),
    /// Download the files of a job
    Download(download::DownloadOutputsOptions),
    /// Change the metadata of a job, or the priority or start time of a queued job
    Update(update::UpdateJobOptions),
    /// Delete ended jobs with their files
    Delete(JobArguments),
}

#[derive(Args)]
pub(crate) struct JobArgument {
    /// The id of the job
    #[arg(value_parser = parse_id::<JobId>, add = complete::jobs())]
    pub(crate) job: JobId,
}

#[derive(Args)]
pub(crate) struct Get {
    #[command(flatten)]
    one: JobArgument,
    /// Print the request of the job as JSON
    #[arg(long)]
    request: bool,
}

#[derive(Args)]
pub(crate) struct JobArguments {
    /// The ids of the jobs
    #[arg(required = true, value_name = "JOB", value_parser = parse_id::<JobId>, add = complete::jobs())]
    jobs: Vec<JobId>,
}

impl Verb for Jobs {
    fn default() -> Self {
        Self::List(ListJobsOptions::default())
    }

    async fn run(&self, client: &Client, output: OutputFormat) -> anyhow::Result<Exit> {
        match self {
            Self::List(options) => output.list(&options.fetch(client).await?, &KIND)?,
            Self::Get(options) => options.run(client, output).await?,
            Self::Logs(options) => return options.run(client, output).await,
            Self::Watch(JobArgument { job }) => return watch(client, output, *job).await,
            Self::Cancel(JobArguments { jobs }) => {
                for job in jobs {
                    let job = client.cancel(*job).await?;
                    output.one(&job.id.to_string(), &job, || {
                        print(&format!("{} {}", job.status.as_str(), job.id))
                    })?;
                }
            }
            Self::Retry(JobArgument { job }) => {
                let path = format!("/v1/jobs/{job}/retry");
                let job: Job = client.post(&path, &json!({})).await?;
                output.one(&job.id.to_string(), &job, || print(&job.id.to_string()))?;
            }
            Self::Download(options) => options.run(client, output).await?,
            Self::Update(options) => options.run(client, output).await?,
            Self::Delete(JobArguments { jobs }) => {
                for job in jobs {
                    client.delete(&format!("/v1/jobs/{job}")).await?;
                    output.done(&KIND, "deleted", &job.to_string())?;
                }
            }
        }
        Ok(Exit::Done)
    }
}

impl Get {
    async fn run(&self, client: &Client, output: OutputFormat) -> anyhow::Result<()> {
        let id = self.one.job;
        if self.request {
            let request: serde_json::Value =
                client.get(&format!("/v1/jobs/{id}/request"), &[]).await?;
            return print_json(&request);
        }
        let job = client.job(id).await?;
        output.one(&id.to_string(), &job, || show(&job))
    }
}

/// `skillet jobs watch`. Ctrl-C does not cancel the job.
async fn watch(client: &Client, output: OutputFormat, job: JobId) -> anyhow::Result<Exit> {
    let job = client.job(job).await?;
    if output.json {
        logs::print_events(client, job.id).await?;
    } else {
        follow::watch(client, &job).await?;
    }
    let job = client.job(job.id).await?;
    if !output.json {
        output.one(&job.id.to_string(), &job, || show(&job))?;
    }
    Ok(Exit::of(&job))
}
