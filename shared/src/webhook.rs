//! Webhooks: milestones of jobs that are posted to addresses of the tenant (Standard Webhooks 1.0).

mod content;
mod retry;
mod secret;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use content::{content, test_content};
pub use retry::{Failure, MAX_ATTEMPTS};
pub use secret::{InvalidWebhookSecret, WebhookSecret};

use crate::event::EventKind;
use crate::id::{DeliveryId, JobId, WebhookId};

/// The type of the event that a test sends.
pub const TEST_EVENT: &str = "webhook.test";

/// The types of events that a webhook can have, in the order of a job's life.
pub const EVENTS: [EventKind; 9] = [
    EventKind::JobStarted,
    EventKind::JobWaiting,
    EventKind::ApprovalRequested,
    EventKind::ApprovalResolved,
    EventKind::AssetCreated,
    EventKind::JobRetrying,
    EventKind::JobCompleted,
    EventKind::JobFailed,
    EventKind::JobCancelled,
];

/// The types of a webhook that names none.
pub const DEFAULT_EVENTS: [EventKind; 4] = [
    EventKind::ApprovalRequested,
    EventKind::JobCompleted,
    EventKind::JobFailed,
    EventKind::JobCancelled,
];

/// Whether a webhook delivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum WebhookStatus {
    /// It delivers.
    Active,
    /// A client paused it. Deliveries wait.
    Paused,
    /// The service disabled it; `disabled_reason` says why. Deliveries are dead at once.
    Disabled,
}

/// Why the service disabled a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum DisabledReason {
    /// The receiver answered with 410.
    Gone,
    /// All attempts of five days failed.
    Failing,
}

/// What an event contains beside the milestone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WebhookInclude {
    /// The job, as `GET /v1/jobs/{job_id}` returns it.
    Job,
}

/// The state of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum DeliveryStatus {
    /// No attempt has ended yet.
    Pending,
    /// The receiver accepted it.
    Delivered,
    /// The last attempt failed; there will be another.
    Failed,
    /// It is given up. It can be redelivered.
    Dead,
}

/// The result of the last attempt of a delivery.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DeliveryAttempt {
    /// When it ended.
    pub at: DateTime<Utc>,
    /// The status of the answer; null if there was none.
    #[schema(required)]
    pub status: Option<i16>,
    /// How long it took, in milliseconds.
    pub ms: i32,
    /// Why it failed. `address_refused` at the beginning: the address is not permitted, and no attempt follows.
    #[schema(required)]
    pub error: Option<String>,
    /// The beginning of the answer's body, at most 4 KiB.
    #[schema(required)]
    pub response: Option<String>,
}

/// A delivery of an event to a webhook.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Delivery {
    /// The identifier.
    pub id: DeliveryId,
    /// The webhook; null for the webhook of a job.
    #[schema(required)]
    pub webhook_id: Option<WebhookId>,
    /// The header `webhook-id`: the same in all attempts, and for all webhooks.
    #[schema(example = "evt_019aa0c45e8d70008000000000000000_7")]
    pub event_id: String,
    /// The job; null for a test.
    #[schema(required)]
    pub job_id: Option<JobId>,
    /// The place of the event in the job's log; null for a test.
    #[schema(required)]
    pub seq: Option<i64>,
    /// The type of the event.
    #[serde(rename = "type")]
    #[schema(example = "job.completed")]
    pub kind: String,
    /// The state.
    pub status: DeliveryStatus,
    /// The attempts that have ended.
    pub attempts: i16,
    /// When the next attempt is due; null if there is none.
    #[schema(required)]
    pub next_at: Option<DateTime<Utc>>,
    /// The last attempt; null if none has ended.
    #[schema(required)]
    pub last: Option<DeliveryAttempt>,
    /// When it was recorded.
    pub created_at: DateTime<Utc>,
}

/// The webhook that a job brings along.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobWebhook {
    /// Where to post.
    pub url: String,
    /// The types of events.
    pub events: Vec<String>,
}

/// The header `webhook-id` of an event: the same wherever it is delivered.
pub fn event_id(job: JobId, seq: i64) -> String {
    format!("evt_{}_{seq}", job.0.simple())
}

/// The header `webhook-id` of a test.
pub fn test_id(delivery: DeliveryId) -> String {
    format!("evt_test_{}", delivery.0.simple())
}
