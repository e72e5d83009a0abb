//! The webhooks that come with job requests.

use std::collections::{BTreeSet, HashMap};

use shared::db;
use shared::db::job::NewJobRow;
use shared::db::webhook::OriginOfJobs;
use shared::id::JobId;
use shared::webhook::JobWebhook;
use url::Url;

use super::Submitter;
use crate::problem::{ApiError, FieldError};
use crate::v1::events;
use crate::v1::jobs::request::CreateJob;
use crate::v1::webhooks::{JobWebhookRequest, check_job_webhook};
use crate::webhook_target::RefusedUrls;

const POINTER: &str = "/webhook";

impl Submitter<'_> {
    /// Returns the URLs of the requests' webhooks that cannot be used. Each URL is checked once.
    pub(super) async fn check_webhook_urls(&self, requests: &[(JobId, CreateJob)]) -> RefusedUrls {
        let webhooks = requests.iter().filter_map(|(_, request)| request.webhook());
        let urls: BTreeSet<_> = webhooks.map(|webhook| webhook.url().to_owned()).collect();
        if urls.is_empty() {
            return RefusedUrls::new();
        }
        self.webhook_targets.check_all(urls).await
    }

    /// Returns the webhook of a request, and its errors.
    pub(super) fn check_webhook(
        &self,
        request: Option<&JobWebhookRequest>,
        refused: &RefusedUrls,
    ) -> (Option<JobWebhook>, Vec<FieldError>) {
        let Some(request) = request else {
            return (None, Vec::new());
        };
        let mut errors = Vec::new();
        let webhook = check_job_webhook(request, refused, POINTER, &mut errors);
        if !self.webhook_targets.has_master_key() {
            let detail =
                "this service cannot send webhooks: its operator must set SKILLET_MASTER_KEY";
            errors.push(FieldError::new(POINTER, detail));
        }
        (Some(webhook), errors)
    }

    /// Enables the tenant's feed if one of these jobs has a webhook.
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
        // In the same order in all transactions, so that concurrent transactions do not deadlock.
        webhooks.sort_by(|one, other| one.origin.cmp(&other.origin));
        db::webhook::insert_of_jobs(db, tenant, &webhooks).await?;
    }
    Ok(())
}
