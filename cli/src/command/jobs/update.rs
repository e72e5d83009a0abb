//! `skillet jobs update`.

use anyhow::ensure;
use chrono::{DateTime, Utc};
use clap::Args;
use serde_json::{Map, Value, json};
use shared::job::Job;
use skillet_client::Client;

use super::{JobArgument, show};
use crate::args::parse_pair;
use crate::output::OutputFormat;

#[derive(Args)]
pub(crate) struct UpdateJobOptions {
    #[command(flatten)]
    one: JobArgument,
    /// The priority. Jobs with a higher priority start first
    #[arg(long, allow_negative_numbers = true)]
    priority: Option<i32>,
    /// The earliest start, such as 2026-01-31T12:00:00Z
    #[arg(long, value_name = "TIME")]
    run_at: Option<DateTime<Utc>>,
    /// New metadata, which replaces the existing metadata (repeatable)
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_pair)]
    metadata: Vec<(String, String)>,
}

impl UpdateJobOptions {
    pub(super) async fn run(&self, client: &Client, output: OutputFormat) -> anyhow::Result<()> {
        let mut body = Map::new();
        body.extend(self.priority.map(|it| ("priority".to_owned(), it.into())));
        body.extend(self.run_at.map(|it| ("run_at".to_owned(), json!(it))));
        if !self.metadata.is_empty() {
            let pairs = self.metadata.iter().cloned();
            let metadata: Map<_, _> = pairs.map(|(name, value)| (name, value.into())).collect();
            body.insert("metadata".to_owned(), metadata.into());
        }
        ensure!(
            !body.is_empty(),
            "no change given: use --priority, --run-at or --metadata"
        );
        let path = format!("/v1/jobs/{}", self.one.job);
        let job: Job = client.patch(&path, &Value::Object(body)).await?;
        output.one(&job.id.to_string(), &job, || show(&job))
    }
}
