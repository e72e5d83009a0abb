//! Runs of a schedule: manual runs, and the history.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Json, Path};
use actix_web::{HttpRequest, HttpResponse, get, post};
use chrono::{DateTime, Datelike, Utc};
use serde::Deserialize;
use shared::asset::AssetStore;
use shared::db::{self, DueNotifications, Notifier, Pool};
use shared::id::ScheduleId;
use shared::job::Job;
use shared::provider::Providers;
use shared::schedule::ScheduleRun;
use shared::skill::Catalog;
use utoipa::IntoParams;

use super::find;
use crate::auth::Caller;
use crate::cursor::{self, Page};
use crate::job_writer::JobWriter;
use crate::problem::{ApiError, Problem};
use crate::query::Query;
use crate::scheduler::read_request;
use crate::v1::jobs::{self, JobResponse, Key, Submitted, Submitter, YEARS};
use crate::webhook_target::WebhookTargets;

type ScheduleRunPage = Page<ScheduleRun>;

/// Creates a job of a schedule now.
///
/// This also works while the schedule is paused, and whatever its `overlap` is. The times of the schedule do not
/// change.
#[utoipa::path(tag = "schedules",
    params(
        ("schedule_id" = ScheduleId, Path, description = "The schedule"),
        ("Idempotency-Key" = Option<String>, Header, description = "Identifies the request, so that it can be retried safely"),
    ),
    responses(
        (status = 202, description = "The job, with `schedule_id`", body = Job,
            headers(("Location" = String, description = "The job's path"))),
        (status = 200, description = "The job that an earlier request with this key created", body = Job),
        (status = 429, description = "As for `POST /v1/jobs`", body = Problem, content_type = "application/problem+json",
            headers(("Retry-After" = u64, description = "Seconds to wait before the next attempt"))),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[post("/schedules/{schedule_id}/run")]
#[expect(
    clippy::too_many_arguments,
    reason = "a handler's signature is its list of dependencies"
)]
pub(crate) async fn run_schedule(
    caller: Caller,
    schedule: Path<ScheduleId>,
    pool: Data<Pool>,
    writer: Data<JobWriter>,
    assets: Data<AssetStore>,
    catalog: Data<Catalog>,
    providers: Data<Providers>,
    webhook_targets: Data<WebhookTargets>,
    notifier: Data<Notifier>,
    http: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let stored = find(&pool, caller.tenant, *schedule).await?;
    let key = Key::of(&http, &("run", stored.id))?;
    let request = read_request(&stored.settings.job)?;
    let submitter = Submitter {
        caller: &caller,
        pool: &pool,
        writer: &writer,
        assets: &assets,
        catalog: &catalog,
        providers: &providers,
        webhook_targets: &webhook_targets,
    };
    match submitter.run_now(stored.id, request, key).await? {
        Submitted::New(mut created, rate) => {
            notifier.notify(DueNotifications::work());
            let answer = JobResponse::new(StatusCode::ACCEPTED).rate(rate);
            Ok(answer.job(&created.swap_remove(0)))
        }
        Submitted::Replayed(created) => {
            let job = jobs::find(&pool, caller.tenant, created[0]).await?;
            Ok(JobResponse::new(StatusCode::OK).replayed().job(&job))
        }
    }
}

/// Query parameters for the runs of a schedule.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListScheduleRuns {
    /// The number of entries per page, 1 to 100; 20 by default.
    limit: Option<i64>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// Lists the runs of a schedule, the newest first.
///
/// The list has the runs that created a job, that wait, that were skipped and that failed. Runs are kept as long as
/// jobs are.
#[utoipa::path(tag = "schedules",
    params(("schedule_id" = ScheduleId, Path, description = "The schedule"), ListScheduleRuns),
    responses(
        (status = 200, description = "A page of runs", body = ScheduleRunPage),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[get("/schedules/{schedule_id}/runs")]
pub(crate) async fn list_schedule_runs(
    caller: Caller,
    schedule: Path<ScheduleId>,
    pool: Data<Pool>,
    query: Query<ListScheduleRuns>,
) -> Result<Json<ScheduleRunPage>, ApiError> {
    let ListScheduleRuns { limit, cursor } = query.into_inner();
    let limit = cursor::limit(limit)?;
    let before: Option<DateTime<Utc>> = cursor::parse(cursor.as_deref())?;
    if before.is_some_and(|at| !YEARS.contains(&at.year())) {
        return Err(cursor::invalid());
    }
    let schedule = find(&pool, caller.tenant, *schedule).await?.id;
    let runs = db::schedule_run::list(&**pool, caller.tenant, schedule, before, limit + 1).await?;
    Ok(Json(Page::of(runs, limit, |run| {
        run.scheduled_for.to_rfc3339()
    })))
}
