//! The settings of a schedule as options.

use std::path::PathBuf;

use anyhow::ensure;
use clap::Args;
use serde_json::{Map, Value};
use shared::model_name::ModelName;

use super::ScheduleArgument;
use crate::complete;
use crate::json_file;

#[derive(Args)]
pub(crate) struct CreateScheduleOptions {
    /// The name of the schedule, unique in the tenant
    name: String,
    #[command(flatten)]
    job: JobOptions,
    #[command(flatten)]
    timing: TimingOptions,
    /// Create the schedule paused
    #[arg(long)]
    paused: bool,
}

#[derive(Args)]
pub(crate) struct UpdateScheduleOptions {
    #[command(flatten)]
    pub(super) one: ScheduleArgument,
    /// The new name
    #[arg(long)]
    name: Option<String>,
    /// A JSON file with the new job request, which replaces the current one. `-` reads standard input
    #[arg(long, value_name = "FILE")]
    job: Option<PathBuf>,
    #[command(flatten)]
    timing: TimingOptions,
}

/// The request of the jobs of a schedule.
#[derive(Args)]
struct JobOptions {
    /// The prompt of each job
    #[arg(required_unless_present = "job")]
    prompt: Option<String>,
    /// The skill of each job
    #[arg(short, long, conflicts_with = "agent", add = complete::skills())]
    skill: Option<String>,
    /// The agent of each job
    #[arg(short, long, add = complete::agents())]
    agent: Option<String>,
    /// The model and its fallbacks, separated by commas (repeatable) [default: the model of the agent, the skill or the
    /// service]
    #[arg(short, long, value_delimiter = ',', add = complete::models())]
    model: Vec<ModelName>,
    /// A JSON file with the job request, as for POST /v1/jobs, instead of these options. `-` reads standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["prompt", "skill", "agent", "model"])]
    job: Option<PathBuf>,
}

/// The timing of a schedule.
#[derive(Args)]
struct TimingOptions {
    /// A cron pattern with five fields, such as `30 9 * * 1-5`, or @daily
    #[arg(long, value_name = "PATTERN", conflicts_with = "every")]
    cron: Option<String>,
    /// The IANA time zone of the pattern [default: UTC]
    #[arg(long, value_name = "ZONE")]
    time_zone: Option<String>,
    /// The seconds between two runs, instead of a pattern
    #[arg(long, value_name = "SECONDS")]
    every: Option<u32>,
    /// The action if the job of an earlier run has not ended [default: skip]
    #[arg(long, value_parser = ["skip", "queue", "cancel_running"])]
    overlap: Option<String>,
    /// The missed run times to catch up on [default: one]
    #[arg(long, value_parser = ["none", "one", "all"])]
    catch_up: Option<String>,
    /// The maximum number of missed run times with --catch-up all [default: 10]
    #[arg(long, value_name = "NUMBER")]
    catch_up_limit: Option<u32>,
    /// The maximum random delay of a run in seconds [default: 0]
    #[arg(long, value_name = "SECONDS")]
    jitter: Option<u32>,
    /// The earliest run time, such as 2027-01-31T09:00:00Z
    #[arg(long, value_name = "TIME")]
    starts_at: Option<String>,
    /// The latest run time
    #[arg(long, value_name = "TIME")]
    ends_at: Option<String>,
}

impl CreateScheduleOptions {
    pub(super) fn body(&self) -> anyhow::Result<Value> {
        let mut body = self.timing.body();
        ensure!(
            self.timing.cron.is_some() || self.timing.every.is_some(),
            "no timing given: use --cron PATTERN or --every SECONDS"
        );
        body.insert("name".to_owned(), self.name.as_str().into());
        body.insert("job".to_owned(), self.job.body()?);
        body.insert("paused".to_owned(), self.paused.into());
        Ok(body.into())
    }
}

impl UpdateScheduleOptions {
    pub(super) fn body(&self) -> anyhow::Result<Value> {
        let mut body = self.timing.body();
        if let Some(name) = &self.name {
            body.insert("name".to_owned(), name.as_str().into());
        }
        if let Some(file) = &self.job {
            body.insert("job".to_owned(), json_file::read(file)?);
        }
        ensure!(
            !body.is_empty(),
            "no change given: use an option such as --cron or --job"
        );
        Ok(body.into())
    }
}

impl JobOptions {
    fn body(&self) -> anyhow::Result<Value> {
        if let Some(file) = &self.job {
            return json_file::read(file);
        }
        let text = |text: &Option<String>| text.clone().map(Value::from);
        let model = match self.model.as_slice() {
            [] => None,
            [only] => Some(only.to_string().into()),
            several => Some(several.iter().map(ToString::to_string).collect()),
        };
        let fields = [
            ("skill", text(&self.skill)),
            ("agent", text(&self.agent)),
            ("model", model),
            ("prompt", text(&self.prompt)),
        ];
        let given = fields.into_iter();
        let given = given.filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Ok(Value::Object(given.collect()))
    }
}

impl TimingOptions {
    /// The fields of the given options.
    fn body(&self) -> Map<String, Value> {
        let text = |text: &Option<String>| text.clone().map(Value::from);
        let fields = [
            ("cron", text(&self.cron)),
            ("time_zone", text(&self.time_zone)),
            ("interval_seconds", self.every.map(Value::from)),
            ("overlap", text(&self.overlap)),
            ("catch_up", text(&self.catch_up)),
            ("catch_up_limit", self.catch_up_limit.map(Value::from)),
            ("jitter_seconds", self.jitter.map(Value::from)),
            ("starts_at", text(&self.starts_at)),
            ("ends_at", text(&self.ends_at)),
        ];
        let given = fields.into_iter();
        given
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect()
    }
}
