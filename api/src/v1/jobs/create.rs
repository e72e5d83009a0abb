use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::LOCATION;
use actix_web::web::Data;
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
use shared::secret::SecretName;
use shared::skill::{Catalog, is_name};
use sqlx::PgPool;
use tokio::time::timeout;

use super::budget::check_budget;
use super::request::{Chosen, CreateJob, Inline, Known, NO_CONVERSATION, Parsed};
use super::{find, header};
use crate::auth::Caller;
use crate::body::Json;
use crate::doorbell::Doorbell;
use crate::follower::Follower;
use crate::hub::Hub;
use crate::problem::{ApiError, Problem};
use crate::v1::skills;

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
        (status = 429, description = "The tenant has used up its budget for this month (`budget_exceeded`)", body = Problem,
            content_type = "application/problem+json",
            headers(("Retry-After" = u64, description = "Seconds until the next month"))),
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
    let digest = digest(&create)?;
    let id = JobId::new();
    let wait = header::wait(&http).map(|patience| {
        let follower = Follower::of_new(pool.get_ref().clone(), hub.get_ref().clone(), id);
        (patience, follower)
    });
    let before = match &key {
        Some(key) => db::idempotency::get(&**pool, caller.tenant, key).await?,
        None => None,
    };
    let made = match before {
        Some(before) => Made::Before(before),
        None => {
            let parsed = parse(create, &caller, &pool, &catalog, &providers).await?;
            check_budget(&caller, &parsed.model, &pool, &providers).await?;
            make(&pool, &assets, caller.tenant, id, parsed, key, digest).await?
        }
    };
    let (status, job) = match made {
        Made::Now(job) => {
            doorbell.ring();
            (StatusCode::ACCEPTED, *job)
        }
        Made::Before(before) if before.digest != digest => {
            return Err(ApiError::IdempotencyMismatch);
        }
        Made::Before(before) => (
            StatusCode::OK,
            find(&pool, caller.tenant, before.job).await?,
        ),
    };
    let job = match wait {
        Some((patience, mut follower)) => {
            if job.id != id {
                follower = Follower::new(pool.get_ref().clone(), hub.get_ref().clone(), job.id, 0);
            }
            match end(follower, patience).await? {
                Some(ended) => ended,
                None => find(&pool, caller.tenant, job.id).await?,
            }
        }
        None => job,
    };
    let has_ended = job.status.is_terminal();
    Ok(answer(
        if has_ended { StatusCode::OK } else { status },
        &job,
    ))
}

/// A job, or what the request's key was used for before.
enum Made {
    Now(Box<Job>),
    Before(Used),
}

async fn make(
    pool: &PgPool,
    assets: &AssetStore,
    tenant: TenantId,
    id: JobId,
    parsed: Parsed,
    key: Option<String>,
    digest: [u8; 32],
) -> Result<Made, ApiError> {
    let Chosen {
        target,
        skill_version,
        skill_digest,
    } = parsed.chosen;
    let mut new = NewJob {
        id,
        tenant,
        target,
        skill_version,
        skill_digest,
        seat: None,
        model: parsed.model,
        request: parsed.request,
        metadata: parsed.metadata,
        retry_of: None,
        run_at: parsed.run_at,
        digest: hex::encode(digest),
    };
    if key.is_none() && parsed.inline.is_empty() && parsed.conversation.is_none() {
        return Ok(Made::Now(Box::new(db::job::insert(pool, &new).await?)));
    }
    let mut transaction = pool.begin().await?;
    if let Some(key) = key {
        // Of two at once, the second waits here for the first.
        let used =
            db::idempotency::remember(&mut transaction, tenant, &key, &digest, new.id).await?;
        if let Some(before) = used {
            return Ok(Made::Before(before));
        }
    }
    store_inline(&mut transaction, assets, &mut new, parsed.inline).await?;
    if let Some(conversation) = parsed.conversation {
        // As late as can be: others who want to join wait.
        new.seat = db::conversation::join(&mut transaction, tenant, conversation).await?;
        if new.seat.is_none() {
            return Err(ApiError::field("/conversation_id", NO_CONVERSATION));
        }
    }
    let job = db::job::insert(&mut *transaction, &new).await?;
    transaction.commit().await?;
    if parsed.conversation.is_some() {
        // The job before it may have ended meanwhile, without having seen this one.
        db::run::admit_blocked(pool, parsed.conversation).await?;
    }
    Ok(Made::Now(Box::new(job)))
}

/// SHA-256 of the request as it was understood: white space and the order of fields do not matter.
fn digest(create: &CreateJob) -> Result<[u8; 32], ApiError> {
    let json = serde_json::to_vec(create).map_err(|error| ApiError::Internal(error.into()))?;
    Ok(Sha256::digest(json).into())
}

async fn parse(
    create: CreateJob,
    caller: &Caller,
    pool: &PgPool,
    catalog: &Catalog,
    providers: &Providers,
) -> Result<Parsed, ApiError> {
    let tenant = caller.tenant;
    let ids = create.asset_ids();
    let assets = if ids.is_empty() {
        Vec::new()
    } else {
        db::asset::list(pool, tenant, &ids).await?
    };
    let assets = assets
        .into_iter()
        .map(|asset| (asset.id, asset.content_type))
        .collect();
    let skill = match create.skill() {
        Some(name) => skills::find(pool, catalog, caller, name).await?,
        None => None,
    };
    // What cannot be a name is none's, and may be nothing that the database takes.
    let agent = match create.agent().filter(|name| is_name(name)) {
        Some(name) => db::agent::get(pool, tenant, name, None).await?,
        None => None,
    };
    let conversation = match create.conversation() {
        Some(id) => db::conversation::get(pool, tenant, id).await?,
        None => None,
    };
    let known = Known {
        catalog,
        providers,
        assets,
        skill,
        agent,
        conversation,
    };
    let parsed = create.parse(known).map_err(ApiError::Invalid)?;
    // The keys are with the workers. While none is there, nobody knows; the job waits and then says so.
    if let Some(missing) = providers.missing_key(&parsed.model)
        && db::worker::lacks_provider(pool, parsed.model.provider()).await?
    {
        return Err(ApiError::field("/model", missing));
    }
    check_secrets(&parsed, tenant, pool).await?;
    Ok(parsed)
}

/// Refuses a job that would have to do without a secret that it needs.
async fn check_secrets(parsed: &Parsed, tenant: TenantId, pool: &PgPool) -> Result<(), ApiError> {
    if parsed.secrets.is_empty() {
        return Ok(());
    }
    let required = parsed.secrets.iter().map(|secret| secret.name.clone());
    let required: Vec<_> = required.collect();
    let missing = db::secret::list_missing(pool, tenant, &required).await?;
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = missing.iter().map(SecretName::as_str).collect();
    let paths: Vec<_> = names
        .iter()
        .map(|name| format!("PUT /v1/secrets/{name}"))
        .collect();
    let (pointer, name) = match &parsed.chosen.target {
        Target::Skill(name) => ("/skill", name),
        Target::Agent(name) => ("/agent", name),
    };
    let detail = format!(
        "`{name}` needs secrets that are not set: {}; set them with {}",
        names.join(", "),
        paths.join(", "),
    );
    Err(ApiError::field(pointer, detail))
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

/// The job as it ended; `None` if the patience ends first, or the job is removed.
async fn end(mut follower: Follower, patience: Duration) -> Result<Option<Job>, ApiError> {
    let to_the_end = async {
        while let Some(frame) = follower.next().await? {
            if let Some(job) = frame.ended {
                return Ok(Some(job));
            }
        }
        Ok::<_, sqlx::Error>(None)
    };
    let Ok(ended) = timeout(patience, to_the_end).await else {
        return Ok(None);
    };
    let job = ended?.map(|job| serde_json::from_str(job.get()));
    job.transpose()
        .map_err(|error| ApiError::Internal(error.into()))
}

pub(super) fn answer(status: StatusCode, job: &Job) -> HttpResponse {
    HttpResponse::build(status)
        .insert_header((LOCATION, format!("/v1/jobs/{}", job.id)))
        .json(job)
}
