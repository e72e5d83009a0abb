//! Request headers for the creation of jobs.

use std::time::Duration;

use actix_web::HttpRequest;

use crate::problem::ApiError;

const MAX_KEY_CHARS: usize = 255;
const MAX_WAIT: Duration = Duration::from_secs(60);

/// Returns the `Idempotency-Key` of a request.
pub(super) fn key(request: &HttpRequest) -> Result<Option<String>, ApiError> {
    let Some(header) = request.headers().get("Idempotency-Key") else {
        return Ok(None);
    };
    let key = header.to_str().unwrap_or_default().trim();
    if key.is_empty() || key.len() > MAX_KEY_CHARS {
        let detail =
            format!("`Idempotency-Key` must have 1 to {MAX_KEY_CHARS} printable ASCII characters");
        return Err(ApiError::Malformed(detail));
    }
    Ok(Some(key.to_owned()))
}

/// Returns the time to wait for the end of the job, from `Prefer: wait=n` (RFC 7240, section 4.3).
pub(super) fn wait(request: &HttpRequest) -> Option<Duration> {
    let headers = request
        .headers()
        .get_all("Prefer")
        .filter_map(|header| header.to_str().ok());
    let preferences = headers.flat_map(|header| header.split([',', ';']));
    let seconds = preferences.filter_map(|preference| {
        let (name, value) = preference.split_once('=')?;
        name.trim()
            .eq_ignore_ascii_case("wait")
            .then(|| value.trim().trim_matches('"').parse::<u64>().ok())?
    });
    seconds
        .map(Duration::from_secs)
        .next()
        .map(|wait| wait.min(MAX_WAIT))
}
