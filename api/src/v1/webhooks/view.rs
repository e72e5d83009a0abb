//! A webhook as clients see it.

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
    /// The webhook's identifier.
    id: WebhookId,
    /// Where it posts.
    url: String,
    /// What its owner notes about it.
    description: String,
    /// The types of its events.
    events: Vec<String>,
    /// Only jobs of one of these skills or agents; of all jobs if both are empty.
    skills: Vec<String>,
    /// See `skills`.
    agents: Vec<String>,
    /// What an event contains beside the milestone.
    #[schema(required)]
    include: Option<WebhookInclude>,
    /// Whether it delivers.
    status: WebhookStatus,
    /// Why the service disabled it.
    #[schema(required)]
    disabled_reason: Option<DisabledReason>,
    /// When the service disabled it; null if it has not. Events since then are recorded and not delivered.
    #[schema(required)]
    disabled_at: Option<DateTime<Utc>>,
    /// The first failed attempt since the last success; null if there is none.
    #[schema(required)]
    failing_since: Option<DateTime<Utc>>,
    /// The last attempt that the receiver accepted.
    #[schema(required)]
    last_success_at: Option<DateTime<Utc>>,
    /// When it was created.
    created_at: DateTime<Utc>,
    /// When its settings or its status changed last.
    updated_at: DateTime<Utc>,
}

/// A webhook with its secret, which is shown only once.
#[derive(Serialize, ToSchema)]
pub(crate) struct CreatedWebhook {
    #[serde(flatten)]
    pub(super) webhook: WebhookView,
    /// The secret that signs its deliveries. It cannot be read again.
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
