//! Responses to submitted jobs, with their headers.

use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::LOCATION;
use actix_web::{HttpResponse, HttpResponseBuilder};
use serde::Serialize;
use shared::job::Job;
use shared::submit_limit::RateState;

/// Builds the response to submitted jobs.
pub(crate) struct JobResponse(HttpResponseBuilder);

impl JobResponse {
    pub(crate) fn new(status: StatusCode) -> Self {
        Self(HttpResponse::build(status))
    }

    /// Says that the key of the request was used before, and that nothing new was made.
    pub(crate) fn replayed(mut self) -> Self {
        self.0.insert_header(("Idempotent-Replayed", "true"));
        self
    }

    /// Says how long the answer waited for the end at most (RFC 7240, section 3).
    pub(crate) fn waited(mut self, patience: Duration) -> Self {
        let applied = format!("wait={}", patience.as_secs());
        self.0.insert_header(("Preference-Applied", applied));
        self
    }

    /// Says what the tenant may still submit (draft-ietf-httpapi-ratelimit-headers-10).
    pub(crate) fn rate(mut self, state: Option<RateState>) -> Self {
        if let Some(state) = state {
            self.0.insert_header(("RateLimit-Policy", state.policy()));
            self.0.insert_header(("RateLimit", state.limit()));
        }
        self
    }

    /// The answer with a job.
    pub(crate) fn job(mut self, job: &Job) -> HttpResponse {
        self.0
            .insert_header((LOCATION, format!("/v1/jobs/{}", job.id)))
            .json(job)
    }

    /// The answer with something else.
    pub(crate) fn json(mut self, body: &impl Serialize) -> HttpResponse {
        self.0.json(body)
    }
}
