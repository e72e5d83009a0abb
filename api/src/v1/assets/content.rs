//! `GET /v1/assets/{id}/content`.

use actix_web::body::SizedStream;
use actix_web::http::StatusCode;
use actix_web::http::header::{
    ACCEPT_RANGES, AUTHORIZATION, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_RANGE,
    CONTENT_SECURITY_POLICY, ETAG, HeaderValue, IF_MATCH, IF_NONE_MATCH, IF_RANGE, LOCATION, RANGE,
};
use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder, get};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use shared::asset::{Asset, AssetStore, BlobRange, DownloadHeaders};
use shared::db::{self, Pool};
use shared::id::AssetId;

use crate::auth::Caller;
use crate::etag;
use crate::form::FileContent;
use crate::head;
use crate::problem::{ApiError, Problem};

/// Downloads a file, or a range of it.
#[utoipa::path(tag = "assets",
    params(
        ("asset_id" = AssetId, Path, description = "The asset"),
        ("Range" = Option<String>, Header, description = "One range of bytes (RFC 9110, section 14)"),
        ("If-Range" = Option<String>, Header, description = "The ETag that the content must have; otherwise the range is ignored"),
        ("If-None-Match" = Option<String>, Header, description = "ETags that the client has cached"),
        ("If-Match" = Option<String>, Header, description = "The ETags that are accepted; content with another ETag is not sent"),
    ),
    responses(
        (status = 200, description = "The content, of the asset's `content_type`",
            content((inline(FileContent) = "application/octet-stream"), (inline(FileContent) = "*/*")),
            headers(("ETag" = String, description = "SHA-256 of the content, in quotes"))),
        (status = 206, description = "The range, of the asset's `content_type`",
            content((inline(FileContent) = "application/octet-stream"), (inline(FileContent) = "*/*"))),
        (status = 304, description = "The content is unchanged: `If-None-Match` has its ETag"),
        (status = 307, description = "The content is at the URL in `Location`, which works without credentials for 5 minutes. Only if the service runs with `--presigned-downloads`"),
        (status = 410, description = "The content has been lost (`content_lost`)", body = Problem, content_type = "application/problem+json"),
        (status = 412, description = "`If-Match` does not have the ETag of the content", body = Problem, content_type = "application/problem+json"),
        (status = 416, description = "The range begins after the end of the content", body = Problem, content_type = "application/problem+json"),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[get("/assets/{asset_id}/content")]
pub(crate) async fn get_asset_content(
    caller: Caller,
    pool: Data<Pool>,
    assets: Data<AssetStore>,
    asset: Path<AssetId>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let asset = db::asset::get(&**pool, caller.tenant, *asset)
        .await?
        .ok_or(ApiError::NotFound("asset"))?;
    let etag = format!("\"{}\"", asset.sha256);
    let header = |name| {
        request
            .headers()
            .get(name)
            .and_then(|value: &HeaderValue| value.to_str().ok())
    };
    if header(IF_MATCH).is_some_and(|tags| !etag::any(tags, |tag| tag == etag)) {
        return Err(ApiError::PreconditionFailed { etag });
    }
    if header(IF_NONE_MATCH).is_some_and(|tags| etag::any(tags, |tag| etag::is_same(tag, &etag))) {
        return Ok(HttpResponse::NotModified()
            .insert_header((ETAG, etag))
            .insert_header((CACHE_CONTROL, etag::REVALIDATE))
            .finish());
    }
    if let Some(url) = presign(&assets, &asset, &request).await? {
        return Ok(HttpResponse::TemporaryRedirect()
            .insert_header((LOCATION, url))
            .insert_header((CACHE_CONTROL, "no-store"))
            .finish());
    }
    let size = asset.size.unsigned_abs();
    // A range of different content would not match the part that the client already has.
    let fits = header(IF_RANGE).is_none_or(|tag| tag == etag);
    let range = header(RANGE)
        .filter(|_| fits)
        .map_or(ByteRange::None, |range| parse_range(range, size));
    let (status, slice) = match range {
        ByteRange::None => (StatusCode::OK, None),
        ByteRange::Slice(slice) => (StatusCode::PARTIAL_CONTENT, Some(slice)),
        ByteRange::BeyondEnd => return Err(ApiError::RangeNotSatisfiable { size }),
    };
    let mut response = HttpResponse::build(status);
    describe(&mut response, &asset, etag);
    if let Some(slice) = &slice {
        response.insert_header((
            CONTENT_RANGE,
            format!("bytes {}-{}/{size}", slice.start, slice.end - 1),
        ));
    }
    let length = slice.as_ref().map_or(size, |slice| slice.end - slice.start);
    let content = assets.read(&asset.sha256, slice).await;
    let content = content.map_err(|error| {
        if error.is_not_found() {
            tracing::error!(asset = %asset.id, sha256 = asset.sha256, "a file is missing from the asset store");
            ApiError::ContentLost
        } else {
            error.into()
        }
    })?;
    Ok(response.body(SizedStream::new(length, content)))
}

/// Returns the URL of the content in the bucket, if the service presigns downloads.
///
/// Browser pages are not redirected, because their content security policies allow this origin only. Requests with
/// `If-Range` are not redirected either, because the bucket has a different ETag for the content. Neither are HEAD
/// requests, because a presigned URL is for GET only.
async fn presign(
    assets: &AssetStore,
    asset: &Asset,
    request: &HttpRequest,
) -> Result<Option<String>, ApiError> {
    let headers = request.headers();
    if !headers.contains_key(AUTHORIZATION) || headers.contains_key(IF_RANGE) || head::is(request) {
        return Ok(None);
    }
    let headers = DownloadHeaders {
        disposition: &disposition(asset),
        content_type: &asset.content_type,
    };
    Ok(assets.presign(&asset.sha256, &headers).await?)
}

fn disposition(asset: &Asset) -> String {
    let placement = if is_safe_inline(&asset.content_type) {
        "inline"
    } else {
        "attachment"
    };
    let name = utf8_percent_encode(&asset.name, NON_ALPHANUMERIC);
    format!("{placement}; filename*=UTF-8''{name}")
}

fn describe(response: &mut HttpResponseBuilder, asset: &Asset, etag: String) {
    response
        .content_type(asset.content_type.as_str())
        .insert_header((ETAG, etag))
        .insert_header((ACCEPT_RANGES, "bytes"))
        // Browsers must revalidate, so that a cached file is not shown after a logout or after a token has expired.
        .insert_header((CACHE_CONTROL, etag::REVALIDATE))
        // A file that a model made is shown without scripts and in an opaque origin, whatever its type is.
        .insert_header((
            CONTENT_SECURITY_POLICY,
            "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox",
        ))
        .insert_header((CONTENT_DISPOSITION, disposition(asset)));
}

/// Whether a browser shows files of this type without running any code.
fn is_safe_inline(content_type: &str) -> bool {
    let (top, _) = content_type.split_once('/').unwrap_or_default();
    match content_type {
        "application/pdf" | "text/plain" | "application/json" => true,
        "image/svg+xml" => false,
        _ => matches!(top, "image" | "audio" | "video"),
    }
}

enum ByteRange {
    /// No range, or a range that is not supported: the response is the whole content.
    None,
    Slice(BlobRange),
    BeyondEnd,
}

/// Parses a range of bytes. Several ranges or another unit result in the whole content (RFC 9110, section 14.2).
fn parse_range(header: &str, size: u64) -> ByteRange {
    let Some((first, last)) = header
        .strip_prefix("bytes=")
        .and_then(|range| range.trim().split_once('-'))
    else {
        return ByteRange::None;
    };
    let number = |text: &str| text.trim().parse::<u64>();
    let slice = match (
        first.trim().is_empty(),
        number(first),
        last.trim().is_empty(),
        number(last),
    ) {
        (false, Ok(first), true, _) => first..size,
        (false, Ok(first), false, Ok(last)) if first <= last => {
            first..last.saturating_add(1).min(size)
        }
        (true, _, false, Ok(suffix)) => size.saturating_sub(suffix)..size,
        _ => return ByteRange::None,
    };
    if slice.start < slice.end {
        ByteRange::Slice(slice)
    } else {
        ByteRange::BeyondEnd
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_the_rfc_says() {
        let cases = [
            ("bytes=0-4", Some((0, 5))),
            ("bytes=5-", Some((5, 10))),
            ("bytes=-3", Some((7, 10))),
            ("bytes=-30", Some((0, 10))),
            ("bytes=8-99", Some((8, 10))),
        ];
        for (header, expected) in cases {
            let ByteRange::Slice(slice) = parse_range(header, 10) else {
                panic!("{header}")
            };
            assert_eq!(Some((slice.start, slice.end)), expected, "{header}");
        }
        for header in ["bytes=10-", "bytes=-0", "bytes=12-20"] {
            assert!(
                matches!(parse_range(header, 10), ByteRange::BeyondEnd),
                "{header}"
            );
        }
        for header in [
            "bytes=4-2",
            "bytes=a-b",
            "lines=1-2",
            "bytes=0-1,3-4",
            "bytes=-",
            "bytes=",
        ] {
            assert!(
                matches!(parse_range(header, 10), ByteRange::None),
                "{header}"
            );
        }
    }
}
