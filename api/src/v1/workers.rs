//! `/v1/workers`

use actix_web::get;
use actix_web::web::{Data, Json};
use serde::Deserialize;
use shared::db::worker::Worker;
use shared::db::{self, Pool};
use utoipa::IntoParams;

use crate::auth::Admin;
use crate::cursor::{self, Page};
use crate::problem::{ApiError, Problem};
use crate::query::Query;

type WorkerPage = Page<Worker>;

/// Query parameters for a list of workers.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListWorkers {
    /// The number of entries per page, 1 to 100; 20 by default.
    limit: Option<i64>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// Lists the live workers in the order of their start.
#[utoipa::path(tag = "admin", params(ListWorkers), responses(
    (status = 200, description = "A page of workers", body = WorkerPage),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[get("/workers")]
pub(crate) async fn list_workers(
    _: Admin,
    pool: Data<Pool>,
    query: Query<ListWorkers>,
) -> Result<Json<WorkerPage>, ApiError> {
    let ListWorkers { limit, cursor } = query.into_inner();
    let limit = cursor::limit(limit)?;
    let after = cursor::text(cursor.as_deref())?;
    let mut workers = db::worker::list(&**pool).await?;
    workers.sort_by_key(|worker| worker.id);
    let key = |worker: &Worker| worker.id.to_string();
    Ok(Json(Page::of_all(workers, after.as_deref(), limit, key)))
}
