//! The webhooks that requests bring along.

use std::collections::HashMap;

use shared::db;
use shared::db::job::NewJobRow;
use shared::db::webhook::OriginOfJobs;
use shared::webhook::JobWebhook;
use url::Url;

use super::Submitter;
use crate::problem::{ApiError, FieldError};
use crate::v1::events;
use crate::v1::webhooks::{JobWebhookRequest, check_job_webhook};

const POINTER: &str = "/webhook";

impl Submitter<'_> {
    /// The webhook of a request, with its errors.
    pub(super) async fn check_webhook(
        &self,
        request: Option<&JobWebhookRequest>,
    ) -> (Option<JobWebhook>, Vec<FieldError>) {
        let Some(request) = request else {
            return (None, Vec::new());
        };
        let mut errors = Vec::new();
        let webhook = check_job_webhook(request, self.webhook_targets, POINTER, &mut errors).await;
        if !self.webhook_targets.has_master_key() {
            let detail =
                "this service sends no webhooks: its operator has to set SKILLET_MASTER_KEY";
            errors.push(FieldError::new(POINTER, detail));
        }
        (Some(webhook), errors)
    }

    /// Has the milestones of the tenant's jobs recorded, if one of these jobs has a webhook.
    pub(super) async fn open_feed(&self, jobs: &[NewJobRow]) -> Result<(), ApiError> {
        if jobs.iter().any(|job| job.request.webhook.is_some()) {
            events::open(self.pool, self.caller.tenant).await?;
        }
        Ok(())
    }
}

/// Stores the webhooks of jobs that the same transaction inserts.
pub(super) async fn insert(db: &mut db::Connection, jobs: &[NewJobRow]) -> db::Result<()> {
    let mut tenants: HashMap<_, Vec<_>> = HashMap::new();
    for job in jobs {
        if let Some(webhook) = &job.request.webhook {
            let origin = Url::parse(&webhook.url).map(|url| url.origin().ascii_serialization());
            tenants.entry(job.tenant).or_default().push(OriginOfJobs {
                job: job.id,
                origin: origin.unwrap_or_default(),
                webhook,
            });
        }
    }
    for (tenant, mut webhooks) in tenants {
        // In one order, so that transactions that insert several do not wait for each other.
        webhooks.sort_by(|one, other| one.origin.cmp(&other.origin));
        db::webhook::insert_of_jobs(db, tenant, &webhooks).await?;
    }
    Ok(())
}
