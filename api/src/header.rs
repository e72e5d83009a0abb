//! Default headers of responses.

use actix_web::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use actix_web::middleware::DefaultHeaders;

const CROSS_ORIGIN_OPENER_POLICY: HeaderName =
    HeaderName::from_static("cross-origin-opener-policy");
/// The content security policy of responses that are not pages: browsers load and run nothing in them.
pub(crate) const NO_PAGE: &str = "default-src 'none'; frame-ancestors 'none'";
/// The content security policy of `/docs/`: local files, the inline styles that scripts write, and the search worker.
pub(crate) const DOCS: &str = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                               worker-src blob:; \
                               object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// The content security policy of `/console/`: files of this service, and no conversion of strings to scripts. File
/// previews are frames that are limited to this service.
pub(crate) const CONSOLE: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                                  img-src 'self' blob: data:; media-src 'self' blob:; connect-src 'self'; \
                                  frame-src 'self' blob:; form-action 'self'; base-uri 'none'; \
                                  frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// Returns the default headers of responses. Responses may contain keys and private data of a tenant, so they are not
/// cached.
pub(crate) fn defaults(content_security_policy: &'static str) -> DefaultHeaders {
    DefaultHeaders::new()
        .add((CACHE_CONTROL, "no-store"))
        .add((X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .add((CONTENT_SECURITY_POLICY, content_security_policy))
}

/// Returns the headers of the console, in addition to [`defaults`].
pub(crate) fn console() -> DefaultHeaders {
    defaults(CONSOLE)
        .add((REFERRER_POLICY, "no-referrer"))
        .add((CROSS_ORIGIN_OPENER_POLICY, "same-origin"))
}
