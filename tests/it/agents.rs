//! Agents over HTTP, and the jobs that run them.

mod job;
mod refused;
mod skills;
mod stored;

use reqwest::{Method, StatusCode};
use serde_json::Value;

use crate::support::Service;

/// Creates or replaces an agent. Returns the status and the response body.
pub(crate) async fn put(service: &Service, name: &str, body: &Value) -> (StatusCode, Value) {
    let request = service.request(Method::PUT, &format!("/v1/agents/{name}"));
    let response = request.json(body).send().await.unwrap();
    (response.status(), response.json().await.unwrap())
}
