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

/// A key to be made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateKey {
    /// Whose key it is; the tenant of the key that makes it if not given.
    tenant_id: Option<TenantId>,
    /// What its owner calls it: 1 to 100 characters, none of them a control character.
    #[schema(
        example = "ci",
        min_length = 1,
        max_length = 100,
        pattern = r"^[^\u0000-\u001f\u007f-\u009f]*[^\s\u0000-\u001f\u007f-\u009f][^\u0000-\u001f\u007f-\u009f]*$"
    )]
    name: String,
    /// What it may do; `jobs` if not given.
    #[schema(min_items = 1)]
    scopes: Option<Vec<Scope>>,
}

/// A key with its token, which is shown only once.
#[derive(Serialize, ToSchema)]
pub(crate) struct CreatedKey {
    #[serde(flatten)]
    key: ApiKey,
    /// The key itself, for the header `Authorization: Bearer …`. It cannot be read again.
    #[schema(example = "sk_…")]
    token: String,
}

/// Creates a key of a tenant.
#[utoipa::path(tag = "admin", request_body(content = CreateKey, example = json!({"name": "ci", "scopes": ["jobs"]})), responses(
    (status = 201, description = "The key", body = CreatedKey),
    (status = "4XX", description = "The request is wrong", body = Problem, content_type = "application/problem+json"),
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
            "name at least one of: jobs, admin",
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

/// Which keys to list.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListKeys {
    /// Only keys of this tenant.
    tenant_id: Option<TenantId>,
    /// Entries of a page, 1 to 100; 20 if not given.
    limit: Option<i64>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
}

/// Lists keys, the newest first, without their tokens.
#[utoipa::path(tag = "admin", params(ListKeys), responses(
    (status = 200, description = "A page of keys", body = ApiKeyPage),
    (status = "4XX", description = "The request is wrong", body = Problem, content_type = "application/problem+json"),
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

/// Revokes a key. Requests that bring it are refused from now on.
#[utoipa::path(tag = "admin", params(("key_id" = KeyId, Path, description = "The key")), responses(
    (status = 204, description = "It is revoked"),
    (status = "4XX", description = "The request is wrong", body = Problem, content_type = "application/problem+json"),
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
