//! Webhooks: milestones of jobs, posted to URLs of the tenant (Standard Webhooks 1.0).

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

/// The event type of a test delivery.
pub const TEST_EVENT: &str = "webhook.test";

/// The event types that a webhook can subscribe to, in the order of a job's life.
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

/// The event types of a webhook that names none.
pub const DEFAULT_EVENTS: [EventKind; 4] = [
    EventKind::ApprovalRequested,
    EventKind::JobCompleted,
    EventKind::JobFailed,
    EventKind::JobCancelled,
];

/// The status of a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum WebhookStatus {
    /// The webhook delivers events.
    Active,
    /// A client paused the webhook. Deliveries wait.
    Paused,
    /// The service disabled the webhook. `disabled_reason` has the cause. Deliveries become `dead` at once.
    Disabled,
}

/// The reason why the service disabled a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum DisabledReason {
    /// The receiver answered with 410.
    Gone,
    /// All attempts of the last five days failed.
    Failing,
}

/// Data that an event contains in addition to the milestone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WebhookInclude {
    /// The job, as `GET /v1/jobs/{job_id}` returns it.
    Job,
}

/// The status of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum DeliveryStatus {
    /// No attempt has ended yet.
    Pending,
    /// The receiver accepted the event.
    Delivered,
    /// The last attempt failed. Another attempt follows.
    Failed,
    /// There are no more attempts. The delivery can be redelivered.
    Dead,
}

/// The result of the last attempt of a delivery.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DeliveryAttempt {
    /// The time when the attempt ended.
    pub at: DateTime<Utc>,
    /// The HTTP status of the response. Null if there was no response.
    #[schema(required)]
    pub status: Option<i16>,
    /// The duration in milliseconds.
    pub ms: i32,
    /// The reason for the failure. It begins with `address_refused` if the address is not permitted; then no attempt
    /// follows.
    #[schema(required)]
    pub error: Option<String>,
    /// The beginning of the response body, at most 4 KiB.
    #[schema(required)]
    pub response: Option<String>,
}

/// A delivery of an event to a webhook.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Delivery {
    /// The identifier.
    pub id: DeliveryId,
    /// The webhook. Null for the webhook of a job.
    #[schema(required)]
    pub webhook_id: Option<WebhookId>,
    /// The `webhook-id` header. It is the same in all attempts and for all webhooks.
    #[schema(example = "evt_019aa0c45e8d70008000000000000000_7")]
    pub event_id: String,
    /// The job. Null for a test.
    #[schema(required)]
    pub job_id: Option<JobId>,
    /// The number of the event in the job's log. Null for a test.
    #[schema(required)]
    pub seq: Option<i64>,
    /// The type of the event.
    #[serde(rename = "type")]
    #[schema(example = "job.completed")]
    pub kind: String,
    /// The status.
    pub status: DeliveryStatus,
    /// The number of finished attempts.
    pub attempts: i16,
    /// The time when the next attempt is due. Null if no attempt follows.
    #[schema(required)]
    pub next_at: Option<DateTime<Utc>>,
    /// The last finished attempt. Null if there is none.
    #[schema(required)]
    pub last: Option<DeliveryAttempt>,
    /// The creation time.
    pub created_at: DateTime<Utc>,
}

/// The webhook of a single job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobWebhook {
    /// The URL that receives the events.
    pub url: String,
    /// The event types.
    pub events: Vec<String>,
}

/// The `webhook-id` header of an event. It is the same for all webhooks and attempts.
pub fn event_id(job: JobId, seq: i64) -> String {
    format!("evt_{}_{seq}", job.0.simple())
}

/// The `webhook-id` header of a test.
pub fn test_id(delivery: DeliveryId) -> String {
    format!("evt_test_{}", delivery.0.simple())
}
