//! A webhook, as the API returns it.

use chrono::{DateTime, Utc};
use serde::Serialize;
use shared::db::webhook::StoredWebhook;
use shared::id::WebhookId;
use shared::webhook::{DisabledReason, WebhookInclude, WebhookStatus};
use utoipa::ToSchema;

/// A webhook.
#[derive(Serialize, ToSchema)]
#[schema(as = Webhook)]
pub(crate) struct WebhookView {
    /// The identifier of the webhook.
    id: WebhookId,
    /// The URL to which events are posted.
    url: String,
    /// A note.
    description: String,
    /// The event types.
    events: Vec<String>,
    /// Only events of jobs of these skills, or of `agents`. If both lists are empty, events of all jobs.
    skills: Vec<String>,
    /// Only events of jobs of these agents, or of `skills`.
    agents: Vec<String>,
    /// The additional content of events; null for none.
    #[schema(required)]
    include: Option<WebhookInclude>,
    /// The status of the webhook.
    status: WebhookStatus,
    /// The reason why the service disabled the webhook; null if it has not.
    #[schema(required)]
    disabled_reason: Option<DisabledReason>,
    /// When the service disabled the webhook; null if it has not. Later events are recorded, but not delivered.
    #[schema(required)]
    disabled_at: Option<DateTime<Utc>>,
    /// When the first attempt failed since the last success; null if none has failed.
    #[schema(required)]
    failing_since: Option<DateTime<Utc>>,
    /// When the receiver last accepted an attempt; null if it never has.
    #[schema(required)]
    last_success_at: Option<DateTime<Utc>>,
    /// When the webhook was created.
    created_at: DateTime<Utc>,
    /// When the settings or the status last changed.
    updated_at: DateTime<Utc>,
}

/// A webhook with its secret, which is shown only once.
#[derive(Serialize, ToSchema)]
pub(crate) struct CreatedWebhook {
    #[serde(flatten)]
    pub(super) webhook: WebhookView,
    /// The secret that signs the deliveries. It cannot be read again.
    #[schema(example = "whsec_…")]
    pub(super) secret: String,
}

impl From<StoredWebhook> for WebhookView {
    fn from(stored: StoredWebhook) -> Self {
        let settings = stored.settings;
        Self {
            id: stored.id,
            url: settings.url,
            description: settings.description,
            events: settings.events,
            skills: settings.skills,
            agents: settings.agents,
            include: settings.include_job.then_some(WebhookInclude::Job),
            status: stored.status,
            disabled_reason: stored.disabled_reason,
            disabled_at: stored.disabled_at,
            failing_since: stored.failing_since,
            last_success_at: stored.last_success_at,
            created_at: stored.created_at,
            updated_at: stored.updated_at,
        }
    }
}
