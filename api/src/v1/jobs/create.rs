use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::LOCATION;
use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse, post};
use sha2::{Digest, Sha256};
use shared::asset::AssetStore;
use shared::db;
use shared::db::asset::NewAsset;
use shared::db::idempotency::Used;
use shared::db::job::NewJob;
use shared::id::{JobId, TenantId};
use shared::job::{Input, Job, Target};
use shared::provider::Providers;
use shared::skill::Catalog;
use sqlx::PgPool;
use tokio::time::timeout;

use super::request::{CreateJob, Inline, Parsed};
use super::{find, header, not_finished};
use crate::auth::Caller;
use crate::body::Json;
use crate::doorbell::Doorbell;
use crate::follower::Follower;
use crate::hub::Hub;
use crate::problem::{ApiError, Problem};

/// Creates a job. 202 means that it is stored and will be run, whatever happens to the service.
///
/// With `Idempotency-Key`, the same request sent again (within 24 hours) is answered with the same job, and
/// another request under the same key is refused. With `Prefer: wait=n` the answer comes when the job has
/// ended, or after n seconds (at most 60) with the job as it stands.
#[utoipa::path(tag = "jobs", request_body = CreateJob,
    params(
        ("Idempotency-Key" = Option<String>, Header, description = "Names the request, so that it can be sent again"),
        ("Prefer" = Option<String>, Header, description = "`wait=n`: answer when the job has ended, or after n seconds"),
    ),
    responses(
        (status = 202, description = "The job, accepted", body = Job,
            headers(("Location" = String, description = "The job's path"))),
        (status = 200, description = "The job, ended (`Prefer: wait`), or the one that this key made before", body = Job),
        (status = "4XX", description = "The request is wrong", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[post("/jobs")]
#[expect(
    clippy::too_many_arguments,
    reason = "a handler's signature is its list of dependencies"
)]
pub(crate) async fn create_job(
    caller: Caller,
    body: Json<CreateJob>,
    pool: Data<PgPool>,
    assets: Data<AssetStore>,
    catalog: Data<Catalog>,
    providers: Data<Providers>,
    hub: Data<Hub>,
    doorbell: Data<Doorbell>,
    http: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let Json(create) = body;
    let key = header::key(&http)?;
    let digest = Sha256::digest(
        serde_json::to_vec(&create).map_err(|error| ApiError::Internal(error.into()))?,
    );
    if let Some(key) = &key
        && let Some(before) = db::idempotency::get(&**pool, caller.tenant, key).await?
    {
        return replay(&pool, caller.tenant, before, &digest).await;
    }
    let parsed = parse(create, caller.tenant, &pool, &catalog, &providers).await?;
    let Parsed {
        target,
        model,
        request,
        inline,
        run_at,
        metadata,
    } = parsed;
    let id = JobId::new();
    let mut new = NewJob {
        id,
        tenant: caller.tenant,
        target,
        model,
        request,
        metadata,
        retry_of: None,
        run_at,
        digest: hex::encode(digest),
    };
    let job = if key.is_none() && inline.is_empty() {
        db::job::insert(&**pool, &new).await?
    } else {
        let mut transaction = pool.begin().await?;
        if let Some(key) = key {
            let used =
                db::idempotency::remember(&mut transaction, caller.tenant, &key, &digest, id)
                    .await?;
            // Of two at once, the second waited here for the first.
            if let Some(before) = used {
                // Whoever holds a connection may not wait for another: all could be held so.
                transaction.rollback().await?;
                return replay(&pool, caller.tenant, before, &digest).await;
            }
        }
        store_inline(&mut transaction, &assets, &mut new, inline).await?;
        let job = db::job::insert(&mut *transaction, &new).await?;
        transaction.commit().await?;
        job
    };
    doorbell.ring();
    match header::wait(&http) {
        Some(patience) => wait_for_end(&pool, &hub, caller.tenant, job, patience).await,
        None => Ok(answer(StatusCode::ACCEPTED, &job)),
    }
}

/// Creates a job like one that has ended, with the same request.
#[utoipa::path(tag = "jobs", params(("job_id" = JobId, Path, description = "The job to run again")), responses(
    (status = 202, description = "The new job, with `retry_of`", body = Job,
        headers(("Location" = String, description = "The job's path"))),
    (status = 409, description = "It has not ended", body = Problem, content_type = "application/problem+json"),
    (status = "4XX", description = "The request is wrong", body = Problem, content_type = "application/problem+json"),
))]
#[post("/jobs/{job_id}/retry")]
pub(crate) async fn retry_job(
    caller: Caller,
    pool: Data<PgPool>,
    doorbell: Data<Doorbell>,
    job: Path<JobId>,
) -> Result<HttpResponse, ApiError> {
    let before = find(&pool, caller.tenant, *job).await?;
    if !before.status.is_terminal() {
        return Err(not_finished("wait for its end, or cancel it"));
    }
    let request = db::job::get_request(&**pool, caller.tenant, before.id)
        .await?
        .ok_or(ApiError::NotFound("job"))?;
    let digest = serde_json::to_vec(&request).map_err(|error| ApiError::Internal(error.into()))?;
    let target = match (before.skill, before.agent) {
        (Some(skill), _) => Target::Skill(skill),
        (None, agent) => Target::Agent(agent.unwrap_or_default()),
    };
    let new = NewJob {
        id: JobId::new(),
        tenant: caller.tenant,
        target,
        model: before.model,
        request,
        metadata: before.metadata,
        retry_of: Some(before.id),
        run_at: None,
        digest: hex::encode(Sha256::digest(digest)),
    };
    let job = db::job::insert(&**pool, &new).await?;
    doorbell.ring();
    Ok(answer(StatusCode::ACCEPTED, &job))
}

/// The answer to a request whose key was used before.
async fn replay(
    pool: &PgPool,
    tenant: TenantId,
    before: Used,
    digest: &[u8],
) -> Result<HttpResponse, ApiError> {
    if before.digest != digest {
        return Err(ApiError::IdempotencyMismatch);
    }
    Ok(answer(
        StatusCode::OK,
        &find(pool, tenant, before.job).await?,
    ))
}

async fn parse(
    create: CreateJob,
    tenant: TenantId,
    pool: &PgPool,
    catalog: &Catalog,
    providers: &Providers,
) -> Result<Parsed, ApiError> {
    let ids = create.asset_ids();
    let assets = if ids.is_empty() {
        Vec::new()
    } else {
        db::asset::list(pool, tenant, &ids).await?
    };
    let known = assets
        .into_iter()
        .map(|asset| (asset.id, asset.content_type))
        .collect();
    let parsed = create
        .parse(catalog, providers, &known)
        .map_err(ApiError::Invalid)?;
    // The keys are with the workers. While none is there, nobody knows; the job waits and then says so.
    if let Some(missing) = providers.missing_key(&parsed.model)
        && db::worker::lacks_provider(pool, parsed.model.provider()).await?
    {
        return Err(ApiError::field("/model", missing));
    }
    Ok(parsed)
}

async fn store_inline(
    transaction: &mut sqlx::PgConnection,
    assets: &AssetStore,
    new: &mut NewJob,
    inline: Vec<Inline>,
) -> Result<(), ApiError> {
    for Inline {
        place,
        name,
        content_type,
        content,
    } in inline
    {
        let mut upload = assets.upload();
        upload.push(&content).await?;
        let sealed = upload.seal().await?;
        let row = NewAsset {
            tenant: new.tenant,
            job: Some(new.id),
            name: &name,
            content_type: &content_type,
            visible: true,
        };
        let asset = db::asset::store(transaction, sealed, row).await?;
        new.request.inputs[place] = Input::Asset { id: asset.id };
    }
    Ok(())
}

async fn wait_for_end(
    pool: &PgPool,
    hub: &Hub,
    tenant: TenantId,
    job: Job,
    patience: Duration,
) -> Result<HttpResponse, ApiError> {
    let mut follower = Follower::new(pool.clone(), hub.clone(), job.id, 1);
    let ended = timeout(patience, async {
        while follower.next().await?.is_some() {}
        Ok::<_, sqlx::Error>(())
    })
    .await;
    let job = find(pool, tenant, job.id).await?;
    match ended {
        Ok(Err(error)) => Err(error.into()),
        _ if job.status.is_terminal() => Ok(answer(StatusCode::OK, &job)),
        _ => Ok(answer(StatusCode::ACCEPTED, &job)),
    }
}

fn answer(status: StatusCode, job: &Job) -> HttpResponse {
    HttpResponse::build(status)
        .insert_header((LOCATION, format!("/v1/jobs/{}", job.id)))
        .json(job)
}
