//! Authentication: the key of a request, checked before anything else.

use std::future::{Ready, ready};

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::http::header::AUTHORIZATION;
use actix_web::middleware::Next;
use actix_web::web::Data;
use actix_web::{Error, FromRequest, HttpMessage, HttpRequest};
use shared::db::key::Presented;
use shared::db::{self, Pool};
use shared::id::{KeyId, TenantId};
use shared::key::Scope;

use crate::problem::ApiError;

/// A caller whose key has the scope `jobs`.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// Whose things these are.
    pub(crate) tenant: TenantId,
    /// Which key it is.
    pub(crate) key: KeyId,
    /// The name of the key.
    pub(crate) name: String,
    /// Whether the tenant may use up only so much.
    pub(crate) has_budget: bool,
    /// Whether the tenant may hand in only so many jobs.
    pub(crate) has_submit_limit: bool,
    /// Whether the tenant has uploaded skills.
    pub(crate) has_skills: bool,
}

/// A caller whose key has the scope `admin`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Admin {
    /// The tenant of the key itself.
    pub(crate) tenant: TenantId,
}

/// Lets requests with a key of ours through, and leaves the key for [`Caller`] and [`Admin`].
pub(crate) async fn authenticate(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    match find_key(&request).await {
        Ok(key) => {
            request.extensions_mut().insert(key);
            Ok(next.call(request).await?.map_into_boxed_body())
        }
        Err(error) => {
            let (request, _) = request.into_parts();
            Ok(ServiceResponse::from_err(error, request))
        }
    }
}

async fn find_key(request: &ServiceRequest) -> Result<Presented, ApiError> {
    let header = request
        .headers()
        .get(AUTHORIZATION)
        .and_then(|value| value.to_str().ok());
    let secret = header.and_then(bearer).ok_or(ApiError::Unauthorized)?;
    let pool = request
        .app_data::<Data<Pool>>()
        .expect("the application has a pool");
    let key = db::key::get_by_secret(pool.get_ref(), secret).await?;
    key.ok_or(ApiError::UnknownKey)
}

/// The scheme's name is not case-sensitive (RFC 9110, section 11.1).
fn bearer(header: &str) -> Option<&str> {
    let (scheme, secret) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
}

fn key_with(request: &HttpRequest, scope: Scope, name: &'static str) -> Result<Caller, ApiError> {
    let extensions = request.extensions();
    let key = extensions.get::<Presented>();
    let key = key.ok_or(ApiError::Unauthorized)?;
    if key.scopes.contains(&scope) {
        Ok(Caller {
            tenant: key.tenant,
            key: key.id,
            name: key.name.clone(),
            has_budget: key.has_budget,
            has_submit_limit: key.has_submit_limit,
            has_skills: key.has_skills,
        })
    } else {
        Err(ApiError::Forbidden(name))
    }
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
