//! A tenant's share of the workers.

use actix_web::web::{Data, Json as JsonResponse, Path};
use actix_web::{get, patch};
use serde::{Deserialize, Deserializer};
use shared::db::tenant::{Tenant, TenantChange};
use shared::db::{self, DueNotifications, Notifier, Pool};
use shared::id::TenantId;
use shared::whole::Whole;
use utoipa::ToSchema;

use crate::auth::Admin;
use crate::body::Json;
use crate::number;
use crate::problem::{ApiError, FieldError, Problem};

const MOST_WEIGHT: i32 = 1000;
const MOST_RUNNING: i32 = 1_000_000;

/// Changes to a tenant. Fields that are not given stay.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateTenant {
    /// Its share of the workers' time while others have jobs, beside their weights: of two tenants, one with twice the
    /// weight gets twice the time.
    #[schema(value_type = Option<i32>, minimum = 1, maximum = 1000)]
    weight: Option<Whole>,
    /// How many of its jobs may run at once; null for any number. Those that run go on, even if they are more.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<i32>, minimum = 0, maximum = 1_000_000)]
    max_running: Option<Option<Whole>>,
}

/// Null is something other than nothing.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<Whole>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

impl UpdateTenant {
    fn parse(self) -> Result<TenantChange, Vec<FieldError>> {
        let mut errors = Vec::new();
        let weight = number::check(self.weight, 1..=MOST_WEIGHT, "/weight", &mut errors);
        let max_running = self
            .max_running
            .map(|cap| number::check(cap, 0..=MOST_RUNNING, "/max_running", &mut errors));
        if !errors.is_empty() {
            return Err(errors);
        }
        Ok(TenantChange {
            weight,
            max_running,
        })
    }
}

/// Changes a tenant's share of the workers. It holds from the next job on that a worker begins.
#[utoipa::path(tag = "admin", request_body(content = UpdateTenant, example = json!({"weight": 2, "max_running": 10})),
    params(("tenant_id" = TenantId, Path, description = "The tenant")),
    responses(
        (status = 200, description = "The tenant", body = Tenant),
        (status = "4XX", description = "The request is wrong", body = Problem, content_type = "application/problem+json"),
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
    // More of its jobs may run now.
    notifier.notify(DueNotifications::work());
    Ok(JsonResponse(tenant))
}

/// Returns a tenant.
#[utoipa::path(tag = "admin", params(("tenant_id" = TenantId, Path, description = "The tenant")), responses(
    (status = 200, description = "The tenant", body = Tenant),
    (status = "4XX", description = "The request is wrong", body = Problem, content_type = "application/problem+json"),
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
