//! Compression of JSON and of the script of `/docs/`. Streams and files are sent uncompressed.

use std::io::Write;

use actix_web::Error;
use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue, VARY,
};
use actix_web::middleware::Next;
use flate2::Compression;
use flate2::write::GzEncoder;

/// The minimum size of a compressed response. Smaller ones fit into one packet uncompressed.
const MIN_BYTES: u64 = 1024;
/// The maximum size of a compressed response. Compressing larger ones would delay other requests on the thread.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Compresses responses for clients that accept gzip.
pub(crate) async fn gzip(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let is_accepted = accepts_gzip(request.headers());
    let mut response = next.call(request).await?.map_into_boxed_body();
    if !is_compressible(response.headers()) || response.headers().contains_key(CONTENT_ENCODING) {
        return Ok(response);
    }
    let vary = HeaderValue::from_static("Accept-Encoding");
    response.headers_mut().append(VARY, vary);
    let is_worth_it = |size: u64| (MIN_BYTES..=MAX_BYTES).contains(&size);
    if !is_accepted
        || !matches!(response.response().body().size(), BodySize::Sized(size) if is_worth_it(size))
    {
        return Ok(response);
    }
    let mut is_compressed = false;
    let mut response = response.map_body(|_, body| match body.try_into_bytes() {
        Ok(bytes) => {
            is_compressed = true;
            BoxBody::new(compress(&bytes))
        }
        Err(body) => body,
    });
    if is_compressed {
        let coding = HeaderValue::from_static("gzip");
        response.headers_mut().insert(CONTENT_ENCODING, coding);
    }
    Ok(response)
}

fn compress(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 4), Compression::fast());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.expect("a vector takes all bytes")
}

fn is_compressible(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    content_type.is_some_and(|name| {
        [
            "application/json",
            "application/problem+json",
            "text/javascript",
        ]
        .iter()
        .any(|compressible| name.starts_with(compressible.as_bytes()))
    })
}

/// Whether the client accepts gzip: `Accept-Encoding` names it with a weight other than 0.
pub(crate) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let codings = headers.get_all(ACCEPT_ENCODING);
    let codings = codings.filter_map(|value| value.to_str().ok());
    codings.flat_map(|value| value.split(',')).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let weight = weight.trim().strip_prefix("q=").unwrap_or("1").trim();
        name.trim().eq_ignore_ascii_case("gzip") && weight.parse() != Ok(0.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_of_zero_refuses() {
        for (header, accepted) in [
            ("gzip", true),
            ("br, GZip;q=0.5", true),
            ("gzip;q=0", false),
            ("gzip; q=0.0", false),
            ("identity", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(header));
            assert_eq!(accepts_gzip(&headers), accepted, "{header}");
        }
    }
}
