//! Headers of all answers.

use actix_web::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, X_CONTENT_TYPE_OPTIONS};
use actix_web::middleware::DefaultHeaders;

/// What browsers are told of answers that are no pages: nothing in them is to be shown or run.
pub(crate) const NO_PAGE: &str = "default-src 'none'; frame-ancestors 'none'";
/// What the pages of `/docs/` need: what is served beside them, and the styles that their scripts write.
pub(crate) const DOCS: &str = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                               object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// Headers of each answer that does not say otherwise. Answers may hold keys and what is a tenant's alone.
pub(crate) fn defaults(content_security_policy: &'static str) -> DefaultHeaders {
    DefaultHeaders::new()
        .add((CACHE_CONTROL, "no-store"))
        .add((X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .add((CONTENT_SECURITY_POLICY, content_security_policy))
}
