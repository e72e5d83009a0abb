//! Deliveries of a webhook, or of a job's own webhook.

use chrono::{DateTime, Utc};
use clap::Args;
use serde_json::{Value, json};
use shared::id::{DeliveryId, JobId, WebhookId};
use skillet_client::Client;

use super::{WebhookArgument, path};
use crate::args::parse_id;
use crate::complete;
use crate::output::{Cell, Column, OutputFormat, ResourceKind, parse_instant, text_of};
use crate::terminal::print;

pub(super) const DELIVERY: ResourceKind = ResourceKind {
    id: "id",
    columns: &[
        Column::new("ID", |it| Cell::text(&it["id"])),
        Column::new("CREATED", |it| Cell::time(&it["created_at"])),
        Column::new("STATUS", |it| Cell::status(&it["status"])),
        Column::new("ATTEMPTS", |it| Cell::text(&it["attempts"])),
        Column::new("NEXT", |it| Cell::time(&it["next_at"])),
        Column::new("TYPE", |it| Cell::text(&it["type"])),
        Column::new("JOB", |it| Cell::text(&it["job_id"])),
        Column::new("LAST", last),
    ],
};

/// The webhook or the job of the deliveries.
#[derive(Args)]
#[group(required = true, multiple = false)]
struct OwnerArgument {
    /// The id of the webhook
    #[arg(value_parser = parse_id::<WebhookId>, add = complete::webhooks())]
    webhook: Option<WebhookId>,
    /// The id of a job with its own webhook
    #[arg(long, value_parser = parse_id::<JobId>, add = complete::jobs())]
    job: Option<JobId>,
}

#[derive(Args)]
pub(crate) struct DeliveriesOptions {
    #[command(flatten)]
    owner: OwnerArgument,
    /// Only deliveries with this status
    #[arg(long, value_parser = ["pending", "delivered", "failed", "dead"])]
    status: Option<String>,
    /// The maximum number of deliveries [default: 20]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
}

#[derive(Args)]
pub(crate) struct RedeliverOptions {
    /// The id of the delivery
    #[arg(value_parser = parse_id::<DeliveryId>)]
    delivery: DeliveryId,
    /// The id of the webhook
    #[arg(long, value_parser = parse_id::<WebhookId>, add = complete::webhooks())]
    #[arg(required_unless_present = "job", conflicts_with = "job")]
    webhook: Option<WebhookId>,
    /// The id of the job, for a job with its own webhook
    #[arg(long, value_parser = parse_id::<JobId>, add = complete::jobs())]
    job: Option<JobId>,
}

#[derive(Args)]
pub(crate) struct RecoverOptions {
    #[command(flatten)]
    one: WebhookArgument,
    /// Only deliveries recorded at this time or later: an instant, or a time before now such as 12h or 7d
    #[arg(long, value_name = "TIME", value_parser = parse_instant)]
    since: DateTime<Utc>,
}

impl OwnerArgument {
    fn path(&self) -> String {
        match (self.webhook, self.job) {
            (Some(webhook), _) => format!("{}/deliveries", path(webhook)),
            (None, Some(job)) => format!("/v1/jobs/{job}/deliveries"),
            (None, None) => unreachable!("one of them is required"),
        }
    }
}

impl DeliveriesOptions {
    pub(super) async fn list(&self, client: &Client, output: OutputFormat) -> anyhow::Result<()> {
        let status = self.status.clone().map(|status| ("status", status));
        let query: Vec<_> = status.into_iter().collect();
        let limit = self.limit.unwrap_or(20) as usize;
        let found = client.list(&self.owner.path(), &query, Some(limit)).await?;
        output.list(&found, &DELIVERY)
    }
}

impl RedeliverOptions {
    pub(super) async fn redeliver(
        &self,
        client: &Client,
        output: OutputFormat,
    ) -> anyhow::Result<()> {
        let owner = OwnerArgument {
            webhook: self.webhook,
            job: self.job,
        };
        let path = format!("{}/{}/redeliver", owner.path(), self.delivery);
        client.post::<Value>(&path, &Value::Null).await?;
        output.done(&DELIVERY, "redelivered", &self.delivery.to_string())
    }
}

impl RecoverOptions {
    pub(super) async fn recover(
        &self,
        client: &Client,
        output: OutputFormat,
    ) -> anyhow::Result<()> {
        let path = format!("{}/recover", path(self.one.webhook));
        let done: Value = client.post(&path, &json!({"since": self.since})).await?;
        let count = text_of(&done["recovered"]);
        output.one(&count, &done, || {
            print(&format!("{count} deliveries queued again"))
        })
    }
}

/// The result of the last attempt.
fn last(delivery: &Value) -> Cell {
    let last = &delivery["last"];
    let error = text_of(&last["error"]);
    if error.is_empty() {
        return Cell::text(&last["status"]);
    }
    Cell::Text(error)
}
