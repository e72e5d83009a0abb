//! `/v1/workers`

use actix_web::get;
use actix_web::web::{Data, Json};
use shared::db::worker::Worker;
use shared::db::{self, Pool};

use crate::auth::Admin;
use crate::cursor::Page;
use crate::problem::{ApiError, Problem};

type WorkerPage = Page<Worker>;

/// Lists the workers that are there.
#[utoipa::path(tag = "admin", responses(
    (status = 200, description = "All workers, on one page", body = WorkerPage),
    (status = "4XX", description = "The request is wrong", body = Problem, content_type = "application/problem+json"),
))]
#[get("/workers")]
pub(crate) async fn list_workers(_: Admin, pool: Data<Pool>) -> Result<Json<WorkerPage>, ApiError> {
    Ok(Json(Page {
        data: db::worker::list(&**pool).await?,
        next_cursor: None,
    }))
}
