//! Authentication: the credential of a request, checked before anything else.

mod credential;
mod key_reader;

use std::future::{Ready, ready};

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::middleware::Next;
use actix_web::{Error, FromRequest, HttpMessage, HttpRequest};
use shared::db::key::Presented;
use shared::db::schedule_run::ClaimedRun;
use shared::id::{KeyId, TenantId};
use shared::key::Scope;
use uuid::Uuid;

use crate::problem::ApiError;
use credential::{Credential, find};
pub(crate) use credential::{cookie_name, session_cookie};
pub(crate) use key_reader::KeyReader;

/// The path of `POST /v1/session`, which needs no credential.
const SESSION_PATH: &str = "/v1/session";
const CROSS_ORIGIN_RESOURCE_POLICY: HeaderName =
    HeaderName::from_static("cross-origin-resource-policy");

/// A caller whose API key has the scope `jobs`.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// The tenant of the key.
    pub(crate) tenant: TenantId,
    /// The identifier of the key.
    pub(crate) key: KeyId,
    /// The name of the key.
    pub(crate) name: String,
    /// Whether the tenant has a budget.
    pub(crate) has_budget: bool,
    /// Whether the tenant has submission limits.
    pub(crate) has_submit_limit: bool,
    /// Whether the tenant has uploaded skills.
    pub(crate) has_skills: bool,
}

impl Caller {
    /// Creates the caller for a run of a schedule, which has no request.
    pub(crate) fn of_schedule(run: &ClaimedRun) -> Self {
        Self {
            tenant: run.tenant,
            // Nil, because no key was presented.
            key: KeyId(Uuid::nil()),
            name: "schedule".to_owned(),
            has_budget: run.has_budget,
            has_submit_limit: run.has_submit_limit,
            has_skills: run.has_skills,
        }
    }
}

/// A caller whose API key has the scope `admin`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Admin {
    /// The tenant of the key itself.
    pub(crate) tenant: TenantId,
}

/// A caller whose API key has the scope `metrics` or `admin`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MetricsReader;

/// A caller whose API key has the scope `jobs` or `admin`.
pub(crate) struct JobsOrAdmin(pub(crate) Presented);

/// Rejects requests without a valid credential, and stores the key for the extractors of this module.
pub(crate) async fn authenticate(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    // A request that creates a session has its key in the body. Methods other than POST and DELETE are rejected by the
    // router.
    let is_public = request.path() == SESSION_PATH && *request.method() != Method::DELETE;
    if is_public {
        return Ok(next.call(request).await?.map_into_boxed_body());
    }
    let (key, policy) = match find(&request).await {
        Ok(Credential::Key(key)) => (key, "same-origin"),
        // Pages of the tenant's own product may embed a file as an image.
        Ok(Credential::Token(key)) => (key, "cross-origin"),
        Err(error) => {
            let (request, _) = request.into_parts();
            return Ok(ServiceResponse::from_err(error, request));
        }
    };
    request.extensions_mut().insert(key);
    let mut response = next.call(request).await?.map_into_boxed_body();
    let policy = HeaderValue::from_static(policy);
    response
        .headers_mut()
        .insert(CROSS_ORIGIN_RESOURCE_POLICY, policy);
    Ok(response)
}

fn key_of(request: &HttpRequest) -> Result<Presented, ApiError> {
    let extensions = request.extensions();
    let key = extensions.get::<Presented>();
    key.cloned().ok_or(ApiError::Unauthorized)
}

fn key_with(request: &HttpRequest, scope: Scope, name: &'static str) -> Result<Caller, ApiError> {
    let key = key_of(request)?;
    if key.scopes.contains(&scope) {
        Ok(Caller {
            tenant: key.tenant,
            key: key.id,
            name: key.name,
            has_budget: key.has_budget,
            has_submit_limit: key.has_submit_limit,
            has_skills: key.has_skills,
        })
    } else {
        Err(ApiError::Forbidden(name))
    }
}

/// Returns the key, or an error if it has no scope other than `metrics`.
pub(crate) fn jobs_or_admin(key: Presented) -> Result<Presented, ApiError> {
    if key.scopes.iter().all(|scope| *scope == Scope::Metrics) {
        return Err(ApiError::Forbidden("jobs"));
    }
    Ok(key)
}

impl FromRequest for Caller {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(key_with(request, Scope::Jobs, "jobs"))
    }
}

impl FromRequest for Admin {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let key = key_with(request, Scope::Admin, "admin");
        ready(key.map(|key| Self { tenant: key.tenant }))
    }
}

impl FromRequest for MetricsReader {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let key = key_with(request, Scope::Metrics, "metrics");
        let key = key.or_else(|error| key_with(request, Scope::Admin, "admin").map_err(|_| error));
        ready(key.map(|_| Self))
    }
}

impl FromRequest for JobsOrAdmin {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(key_of(request).and_then(jobs_or_admin).map(Self))
    }
}
