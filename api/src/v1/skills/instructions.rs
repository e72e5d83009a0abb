//! `GET /v1/skills/{name}/instructions`.

use actix_web::web::{Data, Path};
use actix_web::{HttpResponse, get};
use shared::db::Pool;
use shared::skill::Catalog;

use super::find;
use crate::auth::Caller;
use crate::problem::{ApiError, Problem};

/// Returns the instructions of a skill for the model: its `SKILL.md` without the front matter.
#[utoipa::path(tag = "skills", params(("name" = String, Path, description = "The skill")), responses(
    (status = 200, description = "The instructions", body = String, content_type = "text/markdown"),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[get("/skills/{name}/instructions")]
pub(crate) async fn get_skill_instructions(
    caller: Caller,
    pool: Data<Pool>,
    catalog: Data<Catalog>,
    name: Path<String>,
) -> Result<HttpResponse, ApiError> {
    let found = find(&pool, &catalog, &caller, &name).await?;
    let found = found.ok_or(ApiError::NotFound("skill"))?;
    Ok(HttpResponse::Ok()
        .content_type("text/markdown; charset=utf-8")
        .body(found.skill().instructions.clone()))
}
