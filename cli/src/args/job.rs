//! Arguments of the commands for existing jobs.

use clap::Args;
use shared::id::JobId;
use shared::job::Status;

use super::{Remote, parse_id};

#[derive(Args)]
pub(crate) struct Watch {
    /// The id of the job (see `skillet list`)
    #[arg(value_parser = parse_id::<JobId>)]
    pub(crate) job: JobId,
    /// Print the events as JSON, one per line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

#[derive(Args)]
pub(crate) struct OneJob {
    /// The id of the job (see `skillet list`)
    #[arg(value_parser = parse_id::<JobId>)]
    pub(crate) job: JobId,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

#[derive(Args)]
pub(crate) struct List {
    /// Only jobs with this status
    #[arg(long, value_parser = parse_status)]
    pub(crate) status: Option<Status>,
    /// Only jobs of this skill
    #[arg(long)]
    pub(crate) skill: Option<String>,
    /// Only jobs of this agent
    #[arg(long)]
    pub(crate) agent: Option<String>,
    /// The number of jobs
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) limit: u32,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

fn parse_status(text: &str) -> Result<Status, String> {
    serde_json::from_value(text.into()).map_err(|_| {
        "must be one of: queued, running, waiting, completed, failed, cancelled".to_owned()
    })
}
