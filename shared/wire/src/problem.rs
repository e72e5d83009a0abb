//! Errors of the API: problem details (RFC 9457).

use serde::{Deserialize, Serialize};

/// Problem details (RFC 9457).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Problem {
    /// The URL of the page that explains the code, relative to the service.
    #[cfg_attr(
        feature = "openapi",
        schema(example = "/docs/errors/invalid_request", format = "uri-reference")
    )]
    pub r#type: String,
    /// The reason phrase of the HTTP status.
    pub title: String,
    /// The HTTP status code.
    pub status: u16,
    /// The error code, for programs. It is part of the API contract.
    #[cfg_attr(feature = "openapi", schema(example = "invalid_request"))]
    pub code: String,
    /// An explanation, for people.
    pub detail: String,
    /// The errors of single fields.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldError>,
    /// The identifier of the request in the operator's log and in the header `X-Request-Id`.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub request_id: Option<String>,
    /// Whether the same request may succeed later.
    pub retryable: bool,
}

/// The error of one field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FieldError {
    /// The field: a JSON Pointer (RFC 6901) into the body.
    #[cfg_attr(feature = "openapi", schema(example = "/prompt"))]
    pub pointer: String,
    /// The problem, and how to correct it.
    pub detail: String,
}

impl FieldError {
    /// Creates an error for the field at `pointer`.
    pub fn new(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            pointer: pointer.into(),
            detail: detail.into(),
        }
    }
}
