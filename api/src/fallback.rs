//! Answers to requests that no route takes: unknown paths, malformed ids, and other methods.

use std::collections::BTreeMap;

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use shared::id::IdKind;
use utoipa::openapi::{OpenApi, PathItem};

use crate::problem::ApiError;

/// As much of a path as an error repeats.
const MAX_SHOWN_CHARS: usize = 64;

/// The methods of each path, as the header `Allow` lists them.
pub(crate) struct Methods(BTreeMap<String, String>);

impl Methods {
    /// Those of the documented paths.
    pub(crate) fn of(document: &OpenApi) -> Self {
        let paths = document.paths.paths.iter();
        Self(
            paths
                .map(|(path, item)| (path.clone(), list(item)))
                .collect(),
        )
    }

    /// The error for a path of that pattern with a method that it does not know.
    fn refuse(&self, pattern: &str) -> ApiError {
        // What is not in the document is there to be read.
        let allowed = self.0.get(pattern).map_or("GET, HEAD", String::as_str);
        ApiError::MethodNotAllowed {
            allowed: allowed.to_owned(),
        }
    }
}

/// The routes look at path and method at once, so all they say is that neither fits together.
pub(crate) async fn no_route(
    request: HttpRequest,
    methods: Data<Methods>,
) -> Result<HttpResponse, ApiError> {
    if let Some(pattern) = request.match_pattern() {
        return Err(methods.refuse(&pattern));
    }
    let path = request.path();
    let without_slash = path.trim_end_matches('/');
    let pattern = request.resource_map().match_pattern(without_slash);
    Err(match pattern {
        Some(pattern) if without_slash != path => {
            invalid_id(&pattern, without_slash).unwrap_or(ApiError::TrailingSlash)
        }
        _ => ApiError::NotFound("path"),
    })
}

/// What a route says that took the path, and whose handler found no id in it.
pub(crate) fn no_id(request: &HttpRequest) -> ApiError {
    let path = request.path();
    let methods = request.app_data::<Data<Methods>>();
    // `/v1/jobs/batch` has the form of `/v1/jobs/{job_id}`.
    if let Some(methods) = methods.filter(|methods| methods.0.contains_key(path)) {
        return methods.refuse(path);
    }
    let pattern = request.match_pattern();
    let error = pattern.and_then(|pattern| invalid_id(&pattern, path));
    error.unwrap_or(ApiError::NotFound("path"))
}

/// The error for the first segment that should be an id, such as `{job_id}`, and is none.
fn invalid_id(pattern: &str, path: &str) -> Option<ApiError> {
    let segments = pattern.split('/').zip(path.split('/'));
    let mut wrong = segments.filter_map(|(expected, found)| {
        let noun = expected.strip_prefix('{')?.strip_suffix("_id}")?;
        let kind = IdKind::ALL.into_iter().find(|kind| kind.noun() == noun)?;
        let reason = kind.parse(found).err()?;
        let text = found.chars().take(MAX_SHOWN_CHARS).collect();
        Some(ApiError::InvalidId { text, reason })
    });
    wrong.next()
}

/// HEAD is answered wherever GET is.
fn list(item: &PathItem) -> String {
    let methods = [
        ("GET, HEAD", &item.get),
        ("POST", &item.post),
        ("PUT", &item.put),
        ("PATCH", &item.patch),
        ("DELETE", &item.delete),
    ];
    let known = methods
        .into_iter()
        .filter(|(_, operation)| operation.is_some());
    let names: Vec<_> = known.map(|(name, _)| name).collect();
    names.join(", ")
}
