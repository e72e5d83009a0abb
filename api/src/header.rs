//! Default headers of responses.

use actix_web::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, X_CONTENT_TYPE_OPTIONS};
use actix_web::middleware::DefaultHeaders;

/// The content security policy of responses that are not pages: browsers load and run nothing in them.
pub(crate) const NO_PAGE: &str = "default-src 'none'; frame-ancestors 'none'";
/// What the pages of `/docs/` need: what is served beside them, the styles that their scripts write, and the worker
/// that searches.
pub(crate) const DOCS: &str = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                               worker-src blob:; \
                               object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// Headers of each response that does not set its own. Responses may hold keys and private data of a tenant.
pub(crate) fn defaults(content_security_policy: &'static str) -> DefaultHeaders {
    DefaultHeaders::new()
        .add((CACHE_CONTROL, "no-store"))
        .add((X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .add((CONTENT_SECURITY_POLICY, content_security_policy))
}
