//! `/v1/session`: browser sessions, with a cookie instead of an API key.

use std::time::Duration;

use actix_web::http::header::{AUTHORIZATION, SET_COOKIE};
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse, delete, post};
use serde::{Deserialize, Serialize};
use shared::db::browser_session::{CODE_LIFETIME, LIFETIME};
use shared::db::{self, Pool};
use shared::id::KeyId;
use shared::key::random_token;
use utoipa::ToSchema;

use crate::auth::{JobsOrAdmin, cookie_name, jobs_or_admin, session_cookie};
use crate::body::Json;
use crate::origin::Origins;
use crate::problem::{ApiError, FieldError, Problem};

/// The request to create a session, with an API key or a one-time code.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateSession {
    /// The API key, `sk_…`. Exactly one of `key` and `code`.
    #[schema(write_only, format = Password, min_length = 1)]
    key: Option<String>,
    /// A one-time code from `POST /v1/session/codes`.
    #[schema(write_only, format = Password, min_length = 1)]
    code: Option<String>,
}

impl CreateSession {
    async fn key(self, pool: &Pool) -> Result<KeyId, ApiError> {
        match (self.key, self.code) {
            (Some(key), None) => {
                let key = db::key::get_by_secret(pool, key.trim()).await?;
                let key = key.ok_or(ApiError::UnknownKey)?;
                Ok(jobs_or_admin(key)?.id)
            }
            (None, Some(code)) => {
                let key = db::browser_session::take_code(pool, code.trim()).await?;
                key.ok_or(ApiError::UnknownCode)
            }
            _ => {
                let error = FieldError::new("", "send exactly one of `key` and `code`");
                Err(ApiError::Invalid(vec![error]))
            }
        }
    }
}

/// A one-time code with which a browser can create a session.
#[derive(Serialize, ToSchema)]
pub(crate) struct SessionCode {
    /// The code. The console accepts it as `/console/#code=…`.
    code: String,
    /// The lifetime of the code in seconds.
    #[schema(example = 60)]
    expires_in: u64,
}

/// Creates a browser session.
///
/// The response sets a cookie with which pages of this service can call the API. The cookie is `HttpOnly` and
/// `SameSite=Strict`. The session ends 12 hours after its last use, 7 days after its creation, and when the API key
/// is revoked. A new session ends the session of the previous cookie. Requests with the cookie are refused unless
/// they come from a page of this service's own origin.
#[utoipa::path(tag = "session", security(()), request_body(content = CreateSession, example = json!({"key": "sk_…"})), responses(
    (status = 204, description = "The session has started",
        headers(("Set-Cookie" = String, description = "The cookie"))),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[post("/session")]
pub(crate) async fn create_session(
    body: Json<CreateSession>,
    pool: Data<Pool>,
    origins: Data<Origins>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let key = body.0.key(&pool).await?;
    let cookie = random_token();
    let mut transaction = pool.begin().await?;
    if let Some(previous) = session_cookie(&request, &origins) {
        db::browser_session::delete(&mut *transaction, &previous).await?;
    }
    db::browser_session::insert(&mut transaction, key, &cookie).await?;
    transaction.commit().await?;
    Ok(HttpResponse::NoContent()
        .insert_header((
            SET_COOKIE,
            set_cookie(&request, &origins, &cookie, LIFETIME),
        ))
        .finish())
}

/// Creates a one-time code for a browser session.
///
/// With the code, a browser that does not know the API key can create a session. The code is valid for 60 seconds and
/// for one `POST /v1/session`. `skillet open` uses a code to open the console. A session cannot create codes: send
/// the API key as `Authorization: Bearer sk_…`.
#[utoipa::path(tag = "session", responses(
    (status = 201, description = "The code", body = SessionCode),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[post("/session/codes")]
pub(crate) async fn create_session_code(
    JobsOrAdmin(key): JobsOrAdmin,
    pool: Data<Pool>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    // Otherwise a session could outlive its seven days by creating other sessions.
    if !request.headers().contains_key(AUTHORIZATION) {
        return Err(ApiError::Unauthorized);
    }
    let code = random_token();
    let mut connection = pool.acquire().await?;
    db::browser_session::insert_code(&mut connection, key.id, &code).await?;
    Ok(HttpResponse::Created().json(SessionCode {
        code,
        expires_in: CODE_LIFETIME.as_secs(),
    }))
}

/// Ends the session of the request's cookie.
#[utoipa::path(tag = "session", responses(
    (status = 204, description = "The session has ended"),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[delete("/session")]
pub(crate) async fn delete_session(
    _: JobsOrAdmin,
    pool: Data<Pool>,
    origins: Data<Origins>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    if let Some(cookie) = session_cookie(&request, &origins) {
        db::browser_session::delete(&**pool, &cookie).await?;
    }
    Ok(HttpResponse::NoContent()
        .insert_header((
            SET_COOKIE,
            set_cookie(&request, &origins, "", Duration::ZERO),
        ))
        .finish())
}

fn set_cookie(request: &HttpRequest, origins: &Origins, value: &str, age: Duration) -> String {
    let max_age = age.as_secs();
    let port = request.app_config().local_addr().port();
    let name = cookie_name(port, origins.is_secure());
    let secure = if origins.is_secure() { "; Secure" } else { "" };
    format!("{name}={value}; Path=/v1; Max-Age={max_age}; HttpOnly; SameSite=Strict{secure}")
}
