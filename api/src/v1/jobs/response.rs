//! Responses to submitted jobs, with their headers.

use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::LOCATION;
use actix_web::{HttpResponse, HttpResponseBuilder};
use serde::Serialize;
use shared::job::Job;
use shared::submit_limit::RateState;

/// A builder for the response to submitted jobs.
pub(crate) struct JobResponse(HttpResponseBuilder);

impl JobResponse {
    pub(crate) fn new(status: StatusCode) -> Self {
        Self(HttpResponse::build(status))
    }

    /// Marks the response as a repetition: the key of the request was used before, and no job was created.
    pub(crate) fn replayed(mut self) -> Self {
        self.0.insert_header(("Idempotent-Replayed", "true"));
        self
    }

    /// Adds the maximum time for which the response waited for the end of the job (RFC 7240, section 3).
    pub(crate) fn waited(mut self, patience: Duration) -> Self {
        let applied = format!("wait={}", patience.as_secs());
        self.0.insert_header(("Preference-Applied", applied));
        self
    }

    /// Adds the state of the tenant's submit rate (draft-ietf-httpapi-ratelimit-headers-10).
    pub(crate) fn rate(mut self, state: Option<RateState>) -> Self {
        if let Some(state) = state {
            self.0.insert_header(("RateLimit-Policy", state.policy()));
            self.0.insert_header(("RateLimit", state.limit()));
        }
        self
    }

    /// Returns the response with a job.
    pub(crate) fn job(mut self, job: &Job) -> HttpResponse {
        self.0
            .insert_header((LOCATION, format!("/v1/jobs/{}", job.id)))
            .json(job)
    }

    /// Returns the response with another body.
    pub(crate) fn json(mut self, body: &impl Serialize) -> HttpResponse {
        self.0.json(body)
    }
}
