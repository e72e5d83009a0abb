//! `skillet jobs list`.

use chrono::{DateTime, Utc};
use clap::Args;
use serde_json::Value;
use shared::id::ConversationId;
use shared::job::Status;
use skillet_client::Client;

use crate::args::{parse_id, parse_pair};
use crate::complete;
use crate::output::{Cell, dollars, parse_instant, seconds, text_of};

/// The default number of listed jobs.
const DEFAULT_LIMIT: u32 = 20;

#[derive(Args, Default)]
pub(crate) struct ListJobsOptions {
    /// Only jobs with this status (repeatable)
    #[arg(long, value_delimiter = ',', value_parser = parse_status)]
    status: Vec<Status>,
    /// Only jobs of this skill
    #[arg(long, add = complete::skills())]
    skill: Option<String>,
    /// Only jobs of this agent
    #[arg(long, add = complete::agents())]
    agent: Option<String>,
    /// Only jobs of this conversation
    #[arg(long, value_name = "ID", value_parser = parse_id::<ConversationId>, add = complete::conversations())]
    conversation: Option<ConversationId>,
    /// Only jobs with this external id
    #[arg(long, value_name = "TEXT")]
    external_id: Option<String>,
    /// Only jobs with this value in their metadata (repeatable, at most three)
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_pair)]
    metadata: Vec<(String, String)>,
    /// Only jobs created since this time: an instant, or a time before now such as 30m, 12h or 7d
    #[arg(long, value_name = "TIME", value_parser = parse_instant)]
    since: Option<DateTime<Utc>>,
    /// Only jobs created before this time: an instant, or a time before now such as 30m, 12h or 7d
    #[arg(long, value_name = "TIME", value_parser = parse_instant)]
    before: Option<DateTime<Utc>>,
    /// The maximum number of jobs [default: 20]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
}

impl ListJobsOptions {
    pub(super) async fn fetch(&self, client: &Client) -> anyhow::Result<Vec<Value>> {
        let metadata: Vec<_> = self
            .metadata
            .iter()
            .map(|(name, value)| (format!("metadata.{name}"), value.clone()))
            .collect();
        let statuses: Vec<_> = self.status.iter().map(|status| status.as_str()).collect();
        let mut query: Vec<(&str, String)> = Vec::new();
        let optional = [
            ("status", (!statuses.is_empty()).then(|| statuses.join(","))),
            ("skill", self.skill.clone()),
            ("agent", self.agent.clone()),
            (
                "conversation_id",
                self.conversation.map(|id| id.to_string()),
            ),
            ("external_id", self.external_id.clone()),
            ("created_after", self.since.map(|at| at.to_rfc3339())),
            ("created_before", self.before.map(|at| at.to_rfc3339())),
        ];
        query.extend(
            optional
                .into_iter()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        query.extend(
            metadata
                .iter()
                .map(|(name, value)| (name.as_str(), value.clone())),
        );
        let limit = self.limit.unwrap_or(DEFAULT_LIMIT);
        Ok(client
            .list("/v1/jobs", &query, Some(limit as usize))
            .await?)
    }
}

fn parse_status(text: &str) -> Result<Status, String> {
    serde_json::from_value(text.into()).map_err(|_| {
        "must be one of: queued, running, waiting, completed, failed, cancelled".to_owned()
    })
}

pub(super) fn duration(job: &Value) -> Cell {
    let milliseconds = job["duration_ms"].as_i64();
    Cell::Text(milliseconds.map(seconds).unwrap_or_default())
}

pub(super) fn cost(job: &Value) -> Cell {
    let cost = job["usage"]["cost_usd"].as_f64();
    Cell::Text(cost.map(dollars).unwrap_or_default())
}

/// The skill or the agent of a job.
pub(super) fn runs(job: &Value) -> Cell {
    let name = if job["skill"].is_null() {
        &job["agent"]
    } else {
        &job["skill"]
    };
    Cell::Text(text_of(name))
}
