//! The credentials of a request: an API key, a short-lived token, or a browser session.

use actix_web::HttpRequest;
use actix_web::dev::ServiceRequest;
use actix_web::http::Method;
use actix_web::http::header::{AUTHORIZATION, COOKIE, HOST, HeaderName, HeaderValue, ORIGIN};
use actix_web::web::Data;
use shared::db::key::Presented;
use shared::db::{self, Pool};
use shared::id::{AssetId, JobId};

use super::key_reader::KeyReader;
use crate::origin::Origins;
use crate::problem::ApiError;
use crate::query;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// The prefix of the name of a session cookie. Cookies ignore ports, so the port is part of the name.
const COOKIE_NAME: &str = "skillet_session_";

/// A valid credential.
pub(super) enum Credential {
    /// An API key, or a browser session of a key.
    Key(Presented),
    /// A short-lived token for one job, with the key that created the token.
    Token(Presented),
}

/// Finds the credential of a request and checks it.
pub(super) async fn find(request: &ServiceRequest) -> Result<Credential, ApiError> {
    let pool = request
        .app_data::<Data<Pool>>()
        .expect("the application has a pool");
    let header = request.headers().get(AUTHORIZATION);
    if let Some(header) = header {
        let secret = header.to_str().ok().and_then(bearer);
        let secret = secret.ok_or(ApiError::Unauthorized)?;
        let reader = request.app_data::<Data<KeyReader>>();
        let reader = reader.expect("the application has a reader of keys");
        let key = reader.find(secret).await?;
        return key.map(Credential::Key).ok_or(ApiError::UnknownKey);
    }
    let mut pairs = query::pairs(request.query_string()).into_iter();
    if let Some((_, token)) = pairs.find(|(name, _)| name == query::TOKEN) {
        return by_token(request, pool, &token).await.map(Credential::Token);
    }
    let origins = request.app_data::<Data<Origins>>();
    let origins = origins.expect("the application has origins").clone();
    let Some(cookie) = session_cookie(request.request(), &origins) else {
        return Err(ApiError::Unauthorized);
    };
    refuse_cross_site(request, &origins)?;
    let key = db::browser_session::get_key(pool.get_ref(), &cookie).await?;
    key.map(Credential::Key).ok_or(ApiError::Unauthorized)
}

/// Returns the secret of a bearer credential. The scheme name is case-insensitive (RFC 9110, section 11.1).
fn bearer(header: &str) -> Option<&str> {
    let (scheme, secret) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
}

async fn by_token(
    request: &ServiceRequest,
    pool: &Pool,
    token: &str,
) -> Result<Presented, ApiError> {
    let found = db::job_token::get(pool, token).await?;
    let found = found.ok_or(ApiError::UnknownToken)?;
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let is_allowed = is_read
        && match Readable::of(request.path()) {
            Some(Readable::Job(job)) => job == found.job,
            Some(Readable::Asset(asset)) => {
                db::job_token::is_asset_of(pool, found.job, asset).await?
            }
            None => false,
        };
    is_allowed
        .then_some(found.key)
        .ok_or(ApiError::TokenRestricted)
}

/// A resource that a token may read.
#[derive(Debug, PartialEq, Eq)]
enum Readable {
    Job(JobId),
    Asset(AssetId),
}

impl Readable {
    fn of(path: &str) -> Option<Self> {
        let segments: Vec<_> = path.strip_prefix("/v1/")?.split('/').collect();
        match segments[..] {
            ["jobs", job] | ["jobs", job, "events" | "stream"] => job.parse().ok().map(Self::Job),
            ["assets", asset, "content"] => asset.parse().ok().map(Self::Asset),
            _ => None,
        }
    }
}

/// The name of the session cookie of this service.
pub(crate) fn cookie_name(port: u16, is_secure: bool) -> String {
    let prefix = if is_secure { "__Secure-" } else { "" };
    format!("{prefix}{COOKIE_NAME}{port}")
}

/// The session cookie of a request.
pub(crate) fn session_cookie(request: &HttpRequest, origins: &Origins) -> Option<String> {
    let port = request.app_config().local_addr().port();
    let name = cookie_name(port, origins.is_secure());
    let cookies = request.headers().get_all(COOKIE);
    let cookies = cookies.filter_map(|cookies| cookies.to_str().ok());
    let mut pairs = cookies.flat_map(|cookies| cookies.split(';'));
    pairs.find_map(|pair| {
        let (found, value) = pair.trim().split_once('=')?;
        (found == name).then(|| value.to_owned())
    })
}

/// Rejects requests with a session cookie from pages of another origin. `SameSite=Strict` is not enough: browsers send
/// such cookies with requests from other ports of the same host. Over plain HTTP to a host name, browsers do not send
/// `Sec-Fetch-Site`. In that case `Origin` is checked, which browsers send with methods that change something.
fn refuse_cross_site(request: &ServiceRequest, origins: &Origins) -> Result<(), ApiError> {
    let header = |name: HeaderName| {
        let value = request.headers().get(name);
        value.and_then(|value: &HeaderValue| value.to_str().ok())
    };
    let is_safe = matches!(*request.method(), Method::GET | Method::HEAD);
    let is_allowed = match (header(SEC_FETCH_SITE), header(ORIGIN)) {
        (Some("same-origin"), _) => true,
        // The user entered the URL.
        (Some("none"), _) => is_safe,
        (Some(_), _) => false,
        (None, Some(origin)) => {
            let host = header(HOST).unwrap_or_default();
            origins.is_own(origin, host)
        }
        (None, None) => is_safe,
    };
    is_allowed.then_some(()).ok_or(ApiError::CrossSite)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_reads_a_job_and_the_content_of_files() {
        let (job, asset) = (JobId::new(), AssetId::new());
        for (path, readable) in [
            (format!("/v1/jobs/{job}"), Some(Readable::Job(job))),
            (format!("/v1/jobs/{job}/stream"), Some(Readable::Job(job))),
            (format!("/v1/jobs/{job}/events"), Some(Readable::Job(job))),
            (
                format!("/v1/assets/{asset}/content"),
                Some(Readable::Asset(asset)),
            ),
            (format!("/v1/jobs/{job}/request"), None),
            (format!("/v1/jobs/{job}/tokens"), None),
            (format!("/v1/assets/{asset}"), None),
            ("/v1/jobs".to_owned(), None),
            (format!("/v1/jobs/{asset}"), None),
        ] {
            assert_eq!(Readable::of(&path), readable, "{path}");
        }
    }
}
