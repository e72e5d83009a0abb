//! `/v1/tenants`

mod budget;
mod share;
mod submit_limits;

pub(crate) use budget::{get_tenant_budget, put_tenant_budget};
pub(crate) use share::{get_tenant, update_tenant};
pub(crate) use submit_limits::{get_submission_limits, put_submission_limits};

use actix_web::web::{Data, Json as JsonResponse, Path};
use actix_web::{HttpResponse, delete, get, post};
use serde::Deserialize;
use shared::db::tenant::{Tenant, TenantDeletion};
use shared::db::{self, Pool};
use shared::id::TenantId;
use utoipa::{IntoParams, ToSchema};

use crate::auth::Admin;
use crate::body::Json;
use crate::cursor::{self, Page};
use crate::name;
use crate::problem::{ApiError, ErrorCode, Problem};
use crate::query::Query;

type TenantPage = Page<Tenant>;

/// The request to create a tenant.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateTenant {
    /// A name, unique within the service: 1 to 100 characters, without control characters.
    #[schema(
        example = "acme",
        min_length = 1,
        max_length = 100,
        pattern = r"^[^\u0000-\u001f\u007f-\u009f]*[^\s\u0000-\u001f\u007f-\u009f][^\u0000-\u001f\u007f-\u009f]*$"
    )]
    name: String,
}

/// Creates a tenant.
///
/// The tenant cannot use the API until it has an API key.
#[utoipa::path(tag = "admin", request_body(content = CreateTenant, example = json!({"name": "acme"})), responses(
    (status = 201, description = "The tenant", body = Tenant),
    (status = 409, description = "The name is taken", body = Problem, content_type = "application/problem+json"),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[post("/tenants")]
pub(crate) async fn create_tenant(
    _: Admin,
    body: Json<CreateTenant>,
    pool: Data<Pool>,
) -> Result<HttpResponse, ApiError> {
    let Json(CreateTenant { name }) = body;
    let name = name::parse(&name).map_err(|error| ApiError::Invalid(vec![error]))?;
    let tenant = db::tenant::insert(&**pool, &name)
        .await?
        .ok_or_else(|| ApiError::Conflict {
            code: ErrorCode::TenantNameTaken,
            detail: format!("a tenant named `{name}` already exists; choose another name"),
        })?;
    Ok(HttpResponse::Created().json(tenant))
}

/// Query parameters for a list of tenants.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListTenants {
    /// The number of entries per page, 1 to 100; 20 by default.
    limit: Option<i64>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// Lists tenants by name.
#[utoipa::path(tag = "admin", params(ListTenants), responses(
    (status = 200, description = "A page of tenants", body = TenantPage),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[get("/tenants")]
pub(crate) async fn list_tenants(
    _: Admin,
    pool: Data<Pool>,
    query: Query<ListTenants>,
) -> Result<JsonResponse<TenantPage>, ApiError> {
    let limit = cursor::limit(query.limit)?;
    let after = cursor::text(query.cursor.as_deref())?;
    let tenants = db::tenant::list(&**pool, after.as_deref(), limit + 1).await?;
    Ok(JsonResponse(Page::of(tenants, limit, |tenant| {
        tenant.name.clone()
    })))
}

/// Deletes a tenant, with its API keys, agents, conversations and secrets.
///
/// A tenant that has jobs, files or uploaded skills cannot be deleted.
#[utoipa::path(tag = "admin", params(("tenant_id" = TenantId, Path, description = "The tenant")), responses(
    (status = 204, description = "Deleted"),
    (status = 409, description = "The tenant has jobs, files or uploaded skills, or is the tenant of your own key", body = Problem,
        content_type = "application/problem+json"),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[delete("/tenants/{tenant_id}")]
pub(crate) async fn delete_tenant(
    admin: Admin,
    tenant: Path<TenantId>,
    pool: Data<Pool>,
) -> Result<HttpResponse, ApiError> {
    if *tenant == admin.tenant {
        return Err(in_use("this is the tenant of your own key"));
    }
    let mut transaction = pool.begin().await?;
    let deleted = db::tenant::delete(&mut transaction, *tenant).await?;
    transaction.commit().await?;
    match deleted {
        TenantDeletion::Gone => Ok(HttpResponse::NoContent().finish()),
        TenantDeletion::InUse => Err(in_use(
            "this tenant has jobs, files or uploaded skills; delete them first",
        )),
        TenantDeletion::Absent => Err(ApiError::NotFound("tenant")),
    }
}

fn in_use(detail: &str) -> ApiError {
    ApiError::Conflict {
        code: ErrorCode::TenantInUse,
        detail: detail.to_owned(),
    }
}
