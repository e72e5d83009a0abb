//! A tenant's share of the workers.

use actix_web::web::{Data, Json as JsonResponse, Path};
use actix_web::{get, patch};
use serde::{Deserialize, Deserializer};
use shared::db::tenant::{Tenant, TenantChange};
use shared::db::{self, DueNotifications, Notifier, Pool};
use shared::id::TenantId;
use shared::whole_number::WholeNumber;
use utoipa::ToSchema;

use crate::auth::Admin;
use crate::body::Json;
use crate::number;
use crate::problem::{ApiError, FieldError, Problem};

const MAX_WEIGHT: i32 = 1000;
const MAX_RUNNING: i32 = 1_000_000;

/// The request to change a tenant. Fields that are not given stay unchanged.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateTenant {
    /// The tenant's share of the workers' time while other tenants have jobs, relative to their weights. A tenant
    /// with twice the weight gets twice the time.
    #[schema(value_type = Option<i32>, minimum = 1, maximum = 1000)]
    weight: Option<WholeNumber>,
    /// The maximum number of jobs that run at once; null for no limit. Running jobs continue, even if they are more.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<i32>, minimum = 0, maximum = 1_000_000)]
    max_running: Option<Option<WholeNumber>>,
}

/// Distinguishes null from a missing field.
fn given<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<WholeNumber>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

impl UpdateTenant {
    fn parse(self) -> Result<TenantChange, Vec<FieldError>> {
        let mut errors = Vec::new();
        let weight = number::check(self.weight, 1..=MAX_WEIGHT, "/weight", &mut errors);
        let max_running = self
            .max_running
            .map(|cap| number::check(cap, 0..=MAX_RUNNING, "/max_running", &mut errors));
        if !errors.is_empty() {
            return Err(errors);
        }
        Ok(TenantChange {
            weight,
            max_running,
        })
    }
}

/// Changes a tenant's share of the workers.
///
/// The change applies from the next job that a worker starts.
#[utoipa::path(tag = "admin", request_body(content = UpdateTenant, example = json!({"weight": 2, "max_running": 10})),
    params(("tenant_id" = TenantId, Path, description = "The tenant")),
    responses(
        (status = 200, description = "The tenant", body = Tenant),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[patch("/tenants/{tenant_id}")]
pub(crate) async fn update_tenant(
    _: Admin,
    tenant: Path<TenantId>,
    body: Json<UpdateTenant>,
    pool: Data<Pool>,
    notifier: Data<Notifier>,
) -> Result<JsonResponse<Tenant>, ApiError> {
    let Json(body) = body;
    let change = body.parse().map_err(ApiError::Invalid)?;
    let tenant = db::tenant::update(&**pool, *tenant, change).await?;
    let tenant = tenant.ok_or(ApiError::NotFound("tenant"))?;
    // More jobs of the tenant may run now.
    notifier.notify(DueNotifications::work());
    Ok(JsonResponse(tenant))
}

/// Returns a tenant.
#[utoipa::path(tag = "admin", params(("tenant_id" = TenantId, Path, description = "The tenant")), responses(
    (status = 200, description = "The tenant", body = Tenant),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[get("/tenants/{tenant_id}")]
pub(crate) async fn get_tenant(
    _: Admin,
    tenant: Path<TenantId>,
    pool: Data<Pool>,
) -> Result<JsonResponse<Tenant>, ApiError> {
    let tenant = db::tenant::get(&**pool, *tenant).await?;
    tenant.map(JsonResponse).ok_or(ApiError::NotFound("tenant"))
}
