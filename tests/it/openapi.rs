//! The OpenAPI document, and the service's conformance to it.

mod check;
mod client;
mod docs;
mod document;
mod request;
mod response;

use reqwest::Method;
use serde_json::Value;

use crate::support::Service;

/// Returns the document that the service serves.
async fn document(service: &Service) -> Value {
    let request = service.anonymous(Method::GET, "/openapi.json");
    request.send().await.unwrap().json().await.unwrap()
}
