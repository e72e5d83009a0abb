//! `/v1/schedules`

mod preview;
mod request;
mod run;
mod store;
mod view;

pub(crate) use preview::preview_schedule;
pub(crate) use run::{list_schedule_runs, run_schedule};
pub(crate) use store::{create_schedule, update_schedule};

use actix_web::web::{Data, Json, Path};
use actix_web::{HttpResponse, delete, get};
use serde::Deserialize;
use shared::db::schedule::StoredSchedule;
use shared::db::{self, Pool};
use shared::id::{ScheduleId, TenantId};
use utoipa::IntoParams;

use crate::auth::Caller;
use crate::cursor::{self, Page};
use crate::problem::{ApiError, Problem};
use crate::query::Query;
use view::ScheduleView;

type SchedulePage = Page<ScheduleView>;

/// Query parameters for a list of schedules.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListSchedules {
    /// The number of entries per page, 1 to 100; 20 by default.
    limit: Option<i64>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// Lists schedules, the newest first.
#[utoipa::path(tag = "schedules", params(ListSchedules), responses(
    (status = 200, description = "A page of schedules", body = SchedulePage),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[get("/schedules")]
pub(crate) async fn list_schedules(
    caller: Caller,
    pool: Data<Pool>,
    query: Query<ListSchedules>,
) -> Result<Json<SchedulePage>, ApiError> {
    let ListSchedules { limit, cursor } = query.into_inner();
    let limit = cursor::limit(limit)?;
    let before = cursor::parse(cursor.as_deref())?;
    let found = db::schedule::list(&**pool, caller.tenant, before, limit + 1).await?;
    let now = db::now(&**pool).await?;
    let page = Page::of(found, limit, |it| it.id.to_string());
    let views = page.data.into_iter();
    Ok(Json(Page {
        data: views.map(|stored| ScheduleView::of(stored, now)).collect(),
        next_cursor: page.next_cursor,
    }))
}

/// Returns a schedule, with its next five times.
#[utoipa::path(tag = "schedules",
    params(("schedule_id" = ScheduleId, Path, description = "The schedule")),
    responses(
        (status = 200, description = "The schedule", body = ScheduleView),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[get("/schedules/{schedule_id}")]
pub(crate) async fn get_schedule(
    caller: Caller,
    pool: Data<Pool>,
    schedule: Path<ScheduleId>,
) -> Result<Json<ScheduleView>, ApiError> {
    let stored = find(&pool, caller.tenant, *schedule).await?;
    let now = db::now(&**pool).await?;
    Ok(Json(ScheduleView::of(stored, now)))
}

/// Deletes a schedule and its history.
///
/// Jobs that the schedule created are kept and continue.
#[utoipa::path(tag = "schedules",
    params(("schedule_id" = ScheduleId, Path, description = "The schedule")),
    responses(
        (status = 204, description = "Deleted"),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[delete("/schedules/{schedule_id}")]
pub(crate) async fn delete_schedule(
    caller: Caller,
    pool: Data<Pool>,
    schedule: Path<ScheduleId>,
) -> Result<HttpResponse, ApiError> {
    if db::schedule::delete(&**pool, caller.tenant, *schedule).await? {
        Ok(HttpResponse::NoContent().finish())
    } else {
        Err(ApiError::NotFound("schedule"))
    }
}

async fn find(pool: &Pool, tenant: TenantId, id: ScheduleId) -> Result<StoredSchedule, ApiError> {
    let stored = db::schedule::get(pool, tenant, id).await?;
    stored.ok_or(ApiError::NotFound("schedule"))
}
