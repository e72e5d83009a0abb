//! Changes to a job.

use actix_web::patch;
use actix_web::web::{Data, Json as JsonResponse, Path};
use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::{Map, Value};
use shared::db::job::JobChange;
use shared::db::{self, DueNotifications, Notifier, Pool};
use shared::id::JobId;
use shared::job::{Job, Priority};
use shared::skill::Catalog;
use shared::whole_number::WholeNumber;
use utoipa::ToSchema;

use super::request::instant;
use super::{check_metadata, readable, show};
use crate::auth::Caller;
use crate::body::Json;
use crate::number;
use crate::problem::{ApiError, ErrorCode, FieldError, Problem};

/// The request to change a job. Fields that are not given stay unchanged.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateJob {
    /// The priority within the tenant. Higher priorities start first. One step counts as one minute of waiting. It
    /// can only be changed while the job is queued.
    #[schema(value_type = Option<i16>, minimum = -100, maximum = 100)]
    priority: Option<WholeNumber>,
    /// The earliest start. A time in the past means now. It can only be changed while the job is queued.
    #[serde(default, deserialize_with = "instant")]
    run_at: Option<DateTime<Utc>>,
    /// Data that the client attaches, at most 16 KiB of JSON. It replaces the earlier metadata, and can always be
    /// changed.
    metadata: Option<Map<String, Value>>,
}

impl UpdateJob {
    fn parse(self) -> Result<JobChange, Vec<FieldError>> {
        let mut errors = Vec::new();
        let priority = number::check(self.priority, Priority::RANGE, "/priority", &mut errors);
        errors.extend(self.metadata.as_ref().and_then(check_metadata));
        if !errors.is_empty() {
            return Err(errors);
        }
        Ok(JobChange {
            priority: priority.map(Priority),
            run_at: self.run_at,
            metadata: self.metadata,
        })
    }
}

/// Changes the metadata of a job, and the priority or the earliest start of a queued job.
#[utoipa::path(tag = "jobs", request_body(content = UpdateJob, example = json!({"priority": 10})),
    params(("job_id" = JobId, Path, description = "The job")),
    responses(
        (status = 200, description = "The job", body = Job),
        (status = 409, description = "The job is no longer queued, and the request changes more than metadata", body = Problem, content_type = "application/problem+json"),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[patch("/jobs/{job_id}")]
pub(crate) async fn update_job(
    caller: Caller,
    pool: Data<Pool>,
    catalog: Data<Catalog>,
    notifier: Data<Notifier>,
    job: Path<JobId>,
    body: Json<UpdateJob>,
) -> Result<JsonResponse<Job>, ApiError> {
    let change = body.0.parse().map_err(ApiError::Invalid)?;
    let (job, tenant) = (*job, caller.tenant);
    let mut transaction = pool.begin().await?;
    // A worker that claims the job waits for this lock, and then reads the changed job.
    db::run::lock(&mut transaction, tenant, job).await?;
    let request = readable(db::job::get_request(&mut *transaction, tenant, job).await?)?;
    let updated = match change {
        JobChange {
            priority: None,
            run_at: None,
            metadata: Some(metadata),
        } => {
            let stored =
                db::job::update_metadata(&mut transaction, tenant, job, &request, &metadata);
            stored.await.map(|()| true)?
        }
        change => db::job::update_queued(&mut transaction, tenant, job, &request, &change).await?,
    };
    transaction.commit().await?;
    if !updated {
        return Err(ApiError::Conflict {
            code: ErrorCode::JobNotQueued,
            detail: "this job is no longer queued; only its metadata can be changed".to_owned(),
        });
    }
    notifier.notify(DueNotifications::work());
    show(&pool, &catalog, tenant, job).await.map(JsonResponse)
}
