//! The request body of a webhook delivery.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::json;

use super::TEST_EVENT;
use crate::feed::FeedEvent;
use crate::id::DeliveryId;
use crate::job::Job;

/// The size limit for events that contain the job. The specification asks for less than 20 KB.
const MAX_BYTES: usize = 20_000;

#[derive(Serialize)]
struct WebhookContent<'a> {
    r#type: &'a str,
    timestamp: DateTime<Utc>,
    data: WebhookContentData<'a>,
}

#[derive(Serialize)]
struct WebhookContentData<'a> {
    #[serde(flatten)]
    event: &'a FeedEvent,
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<&'a Job>,
    #[serde(skip_serializing_if = "Option::is_none")]
    job_omitted: Option<bool>,
}

/// Creates the body for a milestone. Leaves out the job if the body would be too large.
pub fn content(event: &FeedEvent, job: Option<&Job>) -> Vec<u8> {
    let with_job = render(event, job, None);
    if job.is_none() || with_job.len() < MAX_BYTES {
        return with_job;
    }
    render(event, None, Some(true))
}

fn render(event: &FeedEvent, job: Option<&Job>, job_omitted: Option<bool>) -> Vec<u8> {
    let content = WebhookContent {
        r#type: &event.kind,
        timestamp: event.at,
        data: WebhookContentData {
            event,
            job,
            job_omitted,
        },
    };
    serde_json::to_vec(&content).expect("its keys are strings")
}

/// Creates the body of a test.
pub fn test_content(delivery: DeliveryId, at: DateTime<Utc>) -> Vec<u8> {
    let data = json!({"delivery_id": delivery});
    let content = json!({"type": TEST_EVENT, "timestamp": at, "data": data});
    content.to_string().into_bytes()
}
