//! The content of a delivery.

use shared::db::webhook_delivery::ClaimedDelivery;
use shared::db::{self, Pool};
use shared::webhook::{content, test_content};

/// Renders the body of a delivery, with the current job if the webhook includes it.
pub(super) async fn render(pool: &Pool, delivery: &ClaimedDelivery) -> db::Result<Vec<u8>> {
    let Some(event) = &delivery.event else {
        return Ok(test_content(delivery.id, delivery.at));
    };
    let job = if delivery.include_job {
        db::job::get(pool, delivery.tenant, event.job_id).await?
    } else {
        None
    };
    Ok(content(event, job.as_ref()))
}
