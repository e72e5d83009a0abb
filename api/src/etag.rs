//! Entity tags (RFC 9110, section 8.8.3).

use actix_web::http::header::{CACHE_CONTROL, ETAG, IF_NONE_MATCH, VARY};
use actix_web::{HttpRequest, HttpResponse};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::problem::ApiError;

/// Only a private cache may store the response, and it must revalidate it for each use.
pub(crate) const REVALIDATE: &str = "private, no-cache";
/// The number of hash bytes in an entity tag.
const TAG_BYTES: usize = 16;

/// Responds with JSON, or with 304 if the client has the current content.
pub(crate) fn json(request: &HttpRequest, body: &impl Serialize) -> Result<HttpResponse, ApiError> {
    let json = serde_json::to_vec(body).map_err(|error| ApiError::Internal(error.into()))?;
    // Weak, because the content is also sent compressed.
    let tag = format!("W/\"{}\"", hex::encode(&Sha256::digest(&json)[..TAG_BYTES]));
    let known = request.headers().get(IF_NONE_MATCH);
    let known = known.and_then(|tags| tags.to_str().ok());
    let is_known = known.is_some_and(|tags| any(tags, |it| is_same(it, &tag)));
    let mut answer = if is_known {
        HttpResponse::NotModified()
    } else {
        HttpResponse::Ok()
    };
    answer
        .insert_header((ETAG, tag))
        .insert_header((CACHE_CONTROL, REVALIDATE));
    Ok(if is_known {
        // `compress` adds this header only to responses with a body.
        answer.insert_header((VARY, "Accept-Encoding")).finish()
    } else {
        answer.content_type("application/json").body(json)
    })
}

/// Whether one of the tags of a header matches, or the header is `*`.
pub(crate) fn any(tags: &str, fits: impl Fn(&str) -> bool) -> bool {
    tags.trim() == "*" || tags.split(',').any(|tag| fits(tag.trim()))
}

/// Whether two tags match by weak comparison, as `If-None-Match` requires (RFC 9110, section 8.8.3.2). A proxy that
/// compresses the content marks its tag as weak.
pub(crate) fn is_same(tag: &str, other: &str) -> bool {
    tag.trim_start_matches("W/") == other.trim_start_matches("W/")
}
