//! Errors of the API: problem details (RFC 9457).

use serde::{Deserialize, Serialize};

/// Problem details (RFC 9457).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Problem {
    /// The address of the page that explains the code, relative to the service.
    #[cfg_attr(
        feature = "openapi",
        schema(example = "/docs/errors/invalid_request", format = "uri-reference")
    )]
    pub r#type: String,
    /// The status in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// For programs; part of the contract.
    #[cfg_attr(feature = "openapi", schema(example = "invalid_request"))]
    pub code: String,
    /// For people.
    pub detail: String,
    /// What is wrong with which field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldError>,
    /// The id of the request in the operator's log; also the header `X-Request-Id`.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub request_id: Option<String>,
    /// Whether the same request may succeed later.
    pub retryable: bool,
}

/// What is wrong with one field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FieldError {
    /// Which: a JSON Pointer (RFC 6901) into the body.
    #[cfg_attr(feature = "openapi", schema(example = "/prompt"))]
    pub pointer: String,
    /// What is wrong, and what would be right.
    pub detail: String,
}

impl FieldError {
    /// An error of the field at `pointer`.
    pub fn new(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            pointer: pointer.into(),
            detail: detail.into(),
        }
    }
}
