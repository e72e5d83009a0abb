//! Responses to requests without a matching route: unknown paths, malformed ids, and unsupported methods.

use std::collections::BTreeMap;

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use shared::id::IdKind;
use utoipa::openapi::{OpenApi, PathItem};

use crate::problem::ApiError;

/// The maximum number of characters of an invalid id that an error repeats.
const MAX_SHOWN_CHARS: usize = 64;

/// The methods of each path, as the header `Allow` lists them.
pub(crate) struct Methods(BTreeMap<String, String>);

impl Methods {
    /// Collects the methods of the documented paths.
    pub(crate) fn of(document: &OpenApi) -> Self {
        let paths = document.paths.paths.iter();
        Self(
            paths
                .map(|(path, item)| (path.clone(), list(item)))
                .collect(),
        )
    }

    /// Returns the error for an unsupported method on a path with the given pattern.
    fn refuse(&self, pattern: &str) -> ApiError {
        // Paths that are not in the document are read-only.
        let allowed = self.0.get(pattern).map_or("GET, HEAD", String::as_str);
        ApiError::MethodNotAllowed {
            allowed: allowed.to_owned(),
        }
    }
}

/// Responds to a request without a matching route. Routes match path and method together, so this function determines
/// which of the two is wrong.
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

/// Returns the error for a path that matched a route, but contains an invalid id.
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

/// Returns the error for the first segment that must be an id, such as `{job_id}`, but is not one.
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

/// Lists the methods of a path. HEAD is supported wherever GET is.
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
