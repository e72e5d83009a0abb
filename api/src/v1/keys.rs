//! `/v1/keys`

use actix_web::web::{Data, Json as JsonResponse, Path};
use actix_web::{HttpResponse, delete, get, post};
use serde::{Deserialize, Serialize};
use shared::db::{self, Pool};
use shared::id::{KeyId, TenantId};
use shared::key::{ApiKey, Scope, SecretKey};
use utoipa::{IntoParams, ToSchema};

use crate::auth::Admin;
use crate::body::Json;
use crate::cursor::{self, Page};
use crate::name;
use crate::problem::{ApiError, FieldError, Problem};
use crate::query::Query;

type ApiKeyPage = Page<ApiKey>;

/// The request to create an API key.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateKey {
    /// The tenant that owns the key. The default is the tenant of the key that makes the request.
    tenant_id: Option<TenantId>,
    /// A name for the key: 1 to 100 characters, without control characters.
    #[schema(
        example = "ci",
        min_length = 1,
        max_length = 100,
        pattern = r"^[^\u0000-\u001f\u007f-\u009f]*[^\s\u0000-\u001f\u007f-\u009f][^\u0000-\u001f\u007f-\u009f]*$"
    )]
    name: String,
    /// The scopes of the key; `jobs` by default.
    #[schema(min_items = 1)]
    scopes: Option<Vec<Scope>>,
}

/// An API key with its token, which is shown only once.
#[derive(Serialize, ToSchema)]
pub(crate) struct CreatedKey {
    #[serde(flatten)]
    key: ApiKey,
    /// The key itself, for the header `Authorization: Bearer …`. It cannot be read again.
    #[schema(example = "sk_…")]
    token: String,
}

/// Creates an API key for a tenant.
#[utoipa::path(tag = "admin", request_body(content = CreateKey, example = json!({"name": "ci", "scopes": ["jobs"]})), responses(
    (status = 201, description = "The key", body = CreatedKey),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[post("/keys")]
pub(crate) async fn create_key(
    admin: Admin,
    body: Json<CreateKey>,
    pool: Data<Pool>,
) -> Result<HttpResponse, ApiError> {
    let Json(CreateKey {
        tenant_id,
        name,
        scopes,
    }) = body;
    let scopes = scopes.unwrap_or_else(|| vec![Scope::Jobs]);
    let mut errors = Vec::new();
    let name = name::parse(&name).unwrap_or_else(|error| {
        errors.push(error);
        String::new()
    });
    if scopes.is_empty() {
        errors.push(FieldError::new(
            "/scopes",
            "name at least one of: jobs, admin, metrics",
        ));
    }
    let tenant_id = tenant_id.unwrap_or(admin.tenant);
    if db::tenant::get(&**pool, tenant_id).await?.is_none() {
        errors.push(FieldError::new("/tenant_id", "there is no such tenant"));
    }
    if !errors.is_empty() {
        return Err(ApiError::Invalid(errors));
    }
    let secret = SecretKey::generate();
    let key = db::key::insert(&**pool, tenant_id, &name, &scopes, &secret).await?;
    Ok(HttpResponse::Created().json(CreatedKey {
        key,
        token: secret.reveal().to_owned(),
    }))
}

/// Query parameters for a list of API keys.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListKeys {
    /// Only keys of this tenant.
    tenant_id: Option<TenantId>,
    /// The number of entries per page, 1 to 100; 20 by default.
    limit: Option<i64>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// Lists API keys, the newest first, without their tokens.
#[utoipa::path(tag = "admin", params(ListKeys), responses(
    (status = 200, description = "A page of keys", body = ApiKeyPage),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[get("/keys")]
pub(crate) async fn list_keys(
    _: Admin,
    pool: Data<Pool>,
    query: Query<ListKeys>,
) -> Result<JsonResponse<ApiKeyPage>, ApiError> {
    let ListKeys {
        tenant_id,
        limit,
        cursor,
    } = query.into_inner();
    let limit = cursor::limit(limit)?;
    let before = cursor::parse(cursor.as_deref())?;
    let keys = db::key::list(&**pool, tenant_id, before, limit + 1).await?;
    Ok(JsonResponse(Page::of(keys, limit, |key| {
        key.id.to_string()
    })))
}

/// Revokes an API key.
///
/// Requests with the key are refused from now on.
#[utoipa::path(tag = "admin", params(("key_id" = KeyId, Path, description = "The key")), responses(
    (status = 204, description = "Revoked"),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[delete("/keys/{key_id}")]
pub(crate) async fn revoke_key(
    _: Admin,
    pool: Data<Pool>,
    key: Path<KeyId>,
) -> Result<HttpResponse, ApiError> {
    if db::key::revoke(&**pool, *key).await? {
        Ok(HttpResponse::NoContent().finish())
    } else {
        Err(ApiError::NotFound("key"))
    }
}
