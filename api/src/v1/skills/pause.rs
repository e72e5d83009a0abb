//! Pausing and resuming of skills.

use actix_web::post;
use actix_web::web::{Data, Json, Path};
use shared::db::{self, Pool};
use shared::skill::{Catalog, is_name};

use crate::auth::Admin;
use crate::problem::{ApiError, Problem};
use crate::v1::queue::{self, Queue};

/// Pauses a skill for all tenants.
///
/// No jobs start that run the service's skill, or an uploaded skill with the same name. Running jobs continue. New
/// jobs are accepted and wait.
#[utoipa::path(tag = "admin", params(("name" = String, Path, description = "The skill")), responses(
    (status = 200, description = "The queue", body = Queue),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[post("/skills/{name}/pause")]
pub(crate) async fn pause_skill(
    _: Admin,
    pool: Data<Pool>,
    catalog: Data<Catalog>,
    name: Path<String>,
) -> Result<Json<Queue>, ApiError> {
    check(&pool, &catalog, &name).await?;
    db::queue::pause_skill(&**pool, &name).await?;
    queue::find(&pool).await.map(Json)
}

/// Resumes a skill for all tenants.
#[utoipa::path(tag = "admin", params(("name" = String, Path, description = "The skill")), responses(
    (status = 200, description = "The queue", body = Queue),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[post("/skills/{name}/resume")]
pub(crate) async fn resume_skill(
    _: Admin,
    pool: Data<Pool>,
    catalog: Data<Catalog>,
    name: Path<String>,
) -> Result<Json<Queue>, ApiError> {
    check(&pool, &catalog, &name).await?;
    db::queue::resume_skill(&**pool, &name).await?;
    queue::find(&pool).await.map(Json)
}

/// Returns an error if neither the service nor any tenant has a skill with this name.
async fn check(pool: &Pool, catalog: &Catalog, name: &str) -> Result<(), ApiError> {
    let is_known = is_name(name)
        && (catalog.get(name).is_some() || db::skill::exists_for_any_tenant(pool, name).await?);
    is_known.then_some(()).ok_or(ApiError::NotFound("skill"))
}
