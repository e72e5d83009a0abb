//! Creation and change of schedules.

use actix_web::http::header::LOCATION;
use actix_web::web::{Data, Json as JsonResponse, Path};
use actix_web::{HttpResponse, patch, post};
use shared::asset::AssetStore;
use shared::db::schedule::{MAX_SCHEDULES, SchedulePut, StoredSchedule};
use shared::db::{self, Pool};
use shared::id::ScheduleId;
use shared::provider::Providers;
use shared::skill::Catalog;

use super::find;
use super::request::{CreateSchedule, UpdateSchedule, check_timing, to_stored};
use super::view::ScheduleView;
use crate::auth::Caller;
use crate::body::Json;
use crate::job_writer::JobWriter;
use crate::problem::{ApiError, ErrorCode, Problem};
use crate::v1::jobs::Submitter;
use crate::webhook_target::WebhookTargets;

/// Creates a schedule.
///
/// A schedule creates jobs at times of a calendar, or at a fixed interval. The job is validated as for
/// `POST /v1/jobs`. The pointers of its errors begin with `/job`. A tenant has at most 1,000 schedules.
#[utoipa::path(tag = "schedules", request_body(content = CreateSchedule, example = json!({
        "name": "morning report",
        "cron": "30 9 * * 1-5",
        "time_zone": "Europe/Berlin",
        "job": {"skill": "shell", "model": "script/bash", "prompt": "```bash\ndate\n```"},
    })),
    responses(
        (status = 201, description = "The schedule", body = ScheduleView,
            headers(("Location" = String, description = "The schedule's path"))),
        (status = 409, description = "The name is taken, or the tenant has the maximum number of schedules", body = Problem,
            content_type = "application/problem+json"),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[post("/schedules")]
#[expect(
    clippy::too_many_arguments,
    reason = "a handler's signature is its list of dependencies"
)]
pub(crate) async fn create_schedule(
    caller: Caller,
    body: Json<CreateSchedule>,
    pool: Data<Pool>,
    writer: Data<JobWriter>,
    assets: Data<AssetStore>,
    catalog: Data<Catalog>,
    providers: Data<Providers>,
    webhook_targets: Data<WebhookTargets>,
) -> Result<HttpResponse, ApiError> {
    let Json(body) = body;
    let submitter = Submitter {
        caller: &caller,
        pool: &pool,
        writer: &writer,
        assets: &assets,
        catalog: &catalog,
        providers: &providers,
        webhook_targets: &webhook_targets,
    };
    let job_errors = submitter.validate(&body.job).await?;
    let job = to_stored(&body.job)?;
    let now = db::now(&**pool).await?;
    let mut errors = Vec::new();
    let settings = body.parse(job, &mut errors);
    let timing = check_timing(&settings, now, now, &mut errors);
    errors.extend(job_errors);
    let Some(timing) = timing.filter(|_| errors.is_empty()) else {
        return Err(ApiError::Invalid(errors));
    };
    let mut transaction = pool.begin().await?;
    let name = settings.name.clone();
    let put = db::schedule::insert(&mut transaction, caller.tenant, settings, &timing).await?;
    transaction.commit().await?;
    let stored = put_result(put, &name)?;
    Ok(HttpResponse::Created()
        .insert_header((LOCATION, format!("/v1/schedules/{}", stored.id)))
        .json(ScheduleView::of(stored, now)))
}

/// Changes a schedule.
///
/// Waiting runs and existing jobs are not affected. If the change affects the times, the next time is computed again.
/// Intervals are still counted from the creation of the schedule.
#[utoipa::path(tag = "schedules", request_body(content = UpdateSchedule, example = json!({"paused": true})),
    params(("schedule_id" = ScheduleId, Path, description = "The schedule")),
    responses(
        (status = 200, description = "The schedule", body = ScheduleView),
        (status = 409, description = "The name is taken, or another request changed the schedule at the same time", body = Problem,
            content_type = "application/problem+json"),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[patch("/schedules/{schedule_id}")]
#[expect(
    clippy::too_many_arguments,
    reason = "a handler's signature is its list of dependencies"
)]
pub(crate) async fn update_schedule(
    caller: Caller,
    schedule: Path<ScheduleId>,
    body: Json<UpdateSchedule>,
    pool: Data<Pool>,
    writer: Data<JobWriter>,
    assets: Data<AssetStore>,
    catalog: Data<Catalog>,
    providers: Data<Providers>,
    webhook_targets: Data<WebhookTargets>,
) -> Result<JsonResponse<ScheduleView>, ApiError> {
    let Json(body) = body;
    let read = find(&pool, caller.tenant, *schedule).await?;
    let submitter = Submitter {
        caller: &caller,
        pool: &pool,
        writer: &writer,
        assets: &assets,
        catalog: &catalog,
        providers: &providers,
        webhook_targets: &webhook_targets,
    };
    let (job, job_errors) = match &body.job {
        Some(job) => (Some(to_stored(job)?), submitter.validate(job).await?),
        None => (None, Vec::new()),
    };
    let now = db::now(&**pool).await?;
    let mut errors = Vec::new();
    let (moves_times, pauses_or_resumes) = (body.moves_times(), body.pauses_or_resumes());
    let settings = body.apply(&read, job, &mut errors);
    // A schedule that has ended can be renamed, paused and resumed.
    let timing = if moves_times {
        check_timing(&settings, read.created_at, now, &mut errors)
    } else if pauses_or_resumes {
        settings.timing(read.created_at).ok()
    } else {
        None
    };
    errors.extend(job_errors);
    if !errors.is_empty() {
        return Err(ApiError::Invalid(errors));
    }
    // A request that repeats the settings must not skip a time that is due.
    let timing = timing.filter(|_| !settings.has_times_of(&read.settings));
    let next_at = timing.map(|timing| timing.next_after(now).filter(|_| !settings.paused));
    let mut transaction = pool.begin().await?;
    let put = db::schedule::update(&mut transaction, &read, &settings, next_at).await?;
    transaction.commit().await?;
    let stored = put_result(put, &settings.name)?;
    Ok(JsonResponse(ScheduleView::of(stored, now)))
}

fn put_result(put: SchedulePut, name: &str) -> Result<StoredSchedule, ApiError> {
    let (code, detail) = match put {
        SchedulePut::Stored(stored) => return Ok(*stored),
        SchedulePut::NameTaken => (
            ErrorCode::ScheduleNameTaken,
            format!("a schedule named `{name}` already exists; choose another name"),
        ),
        SchedulePut::TooMany => (
            ErrorCode::TooManySchedules,
            format!("this tenant has {MAX_SCHEDULES} schedules, the maximum; delete one first"),
        ),
        SchedulePut::Changed => (
            ErrorCode::ScheduleChanged,
            "another request changed this schedule at the same time; read it, and send the change again".to_owned(),
        ),
    };
    Err(ApiError::Conflict { code, detail })
}
