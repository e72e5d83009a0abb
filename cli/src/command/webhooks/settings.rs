//! The settings of a webhook as options.

use anyhow::ensure;
use clap::Args;
use serde_json::{Map, Value, json};

use super::WebhookArgument;
use crate::complete;

#[derive(Args)]
pub(crate) struct CreateWebhookOptions {
    /// The https URL to send events to
    #[arg(value_name = "URL")]
    target: String,
    #[command(flatten)]
    settings: SettingsOptions,
}

#[derive(Args)]
pub(crate) struct UpdateWebhookOptions {
    #[command(flatten)]
    pub(super) one: WebhookArgument,
    /// The new URL
    #[arg(long = "to", value_name = "URL")]
    target: Option<String>,
    #[command(flatten)]
    settings: SettingsOptions,
    /// Do not include the job in events
    #[arg(long, conflicts_with = "include_job")]
    exclude_job: bool,
}

#[derive(Args)]
struct SettingsOptions {
    #[command(flatten)]
    filter: FilterOptions,
    /// A description
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Include the job in each event
    #[arg(long)]
    include_job: bool,
}

/// The filter for events.
#[derive(Args)]
pub(super) struct FilterOptions {
    /// Event types, separated by commas, such as job.completed,job.failed [default: the ends of jobs and
    /// approval.requested]
    #[arg(long, value_name = "TYPES", value_delimiter = ',')]
    pub(super) events: Option<Vec<String>>,
    /// Only jobs of these skills
    #[arg(long = "skill", value_name = "SKILL", value_delimiter = ',', add = complete::skills())]
    pub(super) skills: Option<Vec<String>>,
    /// Only jobs of these agents
    #[arg(long = "agent", value_name = "AGENT", value_delimiter = ',', add = complete::agents())]
    pub(super) agents: Option<Vec<String>>,
}

impl CreateWebhookOptions {
    pub(super) fn body(&self) -> Value {
        let mut body = self.settings.body();
        body.insert("url".to_owned(), self.target.as_str().into());
        body.into()
    }
}

impl UpdateWebhookOptions {
    pub(super) fn body(&self) -> anyhow::Result<Value> {
        let mut body = self.settings.body();
        if let Some(url) = &self.target {
            body.insert("url".to_owned(), url.as_str().into());
        }
        if self.exclude_job {
            body.insert("include".to_owned(), Value::Null);
        }
        ensure!(
            !body.is_empty(),
            "no change given: use an option such as --to or --events"
        );
        Ok(body.into())
    }
}

impl SettingsOptions {
    /// The fields of the given options.
    fn body(&self) -> Map<String, Value> {
        let FilterOptions {
            events,
            skills,
            agents,
        } = &self.filter;
        let fields = [
            ("events", events.as_ref().map(|it| json!(it))),
            ("skills", skills.as_ref().map(|it| json!(it))),
            ("agents", agents.as_ref().map(|it| json!(it))),
            ("description", self.description.as_ref().map(|it| json!(it))),
            ("include", self.include_job.then(|| json!("job"))),
        ];
        let given = fields.into_iter();
        given
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect()
    }
}
