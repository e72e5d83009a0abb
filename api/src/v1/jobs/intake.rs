//! From requests to jobs: looked up, checked and stored together, all of them or none.

mod check;
mod store;

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};
use shared::asset::AssetStore;
use shared::db::{self, Pool};
use shared::id::JobId;
use shared::job::Job;
use shared::provider::Providers;
use shared::skill::{Catalog, is_name};
use shared::submit_limit::Refusal;

use super::request::{CreateJob, Known, Parsed};
use crate::auth::Caller;
use crate::job_writer::JobWriter;
use crate::problem::{ApiError, FieldError};
use crate::v1::{agents, skills};

/// Errors of one answer: who sends a thousand jobs with the same mistake need not read it a thousand times.
const MAX_ERRORS: usize = 100;

/// Where jobs are handed in.
pub(super) struct Intake<'a> {
    pub(super) caller: &'a Caller,
    pub(super) pool: &'a Pool,
    pub(super) writer: &'a JobWriter,
    pub(super) assets: &'a AssetStore,
    pub(super) catalog: &'a Catalog,
    pub(super) providers: &'a Providers,
}

/// Under which name requests were sent.
pub(super) struct Key {
    /// The `Idempotency-Key`.
    pub(super) text: String,
    /// SHA-256 of all that was sent with it.
    pub(super) digest: [u8; 32],
}

/// Where in the body the requests are.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    /// The only one is the body.
    One,
    /// In a list.
    Batch,
}

impl Shape {
    /// The error of a field of the request at a place.
    fn locate(self, place: usize, error: FieldError) -> FieldError {
        match self {
            Self::One => error,
            Self::Batch => FieldError {
                pointer: format!("/jobs/{place}{}", error.pointer),
                ..error
            },
        }
    }
}

/// What became of requests.
pub(super) enum Made {
    /// Jobs, in their order.
    Now(Vec<Job>),
    /// Their key was used before, and made these.
    Before(Vec<JobId>),
}

/// A request that makes sense by itself.
struct Candidate {
    id: JobId,
    digest: [u8; 32],
    parsed: Parsed,
}

/// What is wrong with the request at a place.
type Wrong = (usize, FieldError);

impl Intake<'_> {
    /// Makes jobs of requests, under these ids, or finds those that were made of them before.
    pub(super) async fn submit(
        &self,
        shape: Shape,
        requests: Vec<(JobId, CreateJob)>,
        key: Option<Key>,
    ) -> Result<Made, ApiError> {
        if let Some(key) = &key
            && let Some(before) = self.made_before(key).await?
        {
            return Ok(before);
        }
        let refuse = |wrong: Vec<Wrong>| {
            let errors = wrong.into_iter().take(MAX_ERRORS);
            ApiError::Invalid(errors.map(|(at, error)| shape.locate(at, error)).collect())
        };
        let known = self.look_up(&requests).await?;
        let (mut candidates, mut wrong) = (Vec::with_capacity(requests.len()), Vec::new());
        for (place, (id, request)) in requests.into_iter().enumerate() {
            let digest = digest(&request)?;
            match request.parse(&known) {
                Ok(parsed) => candidates.push(Candidate { id, digest, parsed }),
                Err(errors) => wrong.extend(errors.into_iter().map(|error| (place, error))),
            }
        }
        if wrong.is_empty() {
            wrong = self.check(&candidates).await?;
        }
        if !wrong.is_empty() {
            return Err(refuse(wrong));
        }
        match self.store(candidates, key.as_ref()).await? {
            Stored::Now(jobs) => Ok(Made::Now(jobs)),
            Stored::Wrong(wrong) => Err(refuse(wrong)),
            Stored::Refused(refusal) => {
                // The same request may have been let in just before this one.
                if let Some(key) = &key
                    && let Some(before) = self.made_before(key).await?
                {
                    return Ok(before);
                }
                Err(refused(shape, refusal))
            }
            Stored::UsedKey => {
                let before = match &key {
                    Some(key) => self.made_before(key).await?,
                    None => None,
                };
                before.ok_or_else(|| ApiError::Unavailable(anyhow::anyhow!("its jobs just went")))
            }
        }
    }

    /// What the key was used for.
    async fn made_before(&self, key: &Key) -> Result<Option<Made>, ApiError> {
        let used = db::idempotency::get(self.pool, self.caller.tenant, &key.text).await?;
        match used {
            Some(used) if used.digest != key.digest => Err(ApiError::IdempotencyMismatch),
            used => Ok(used.map(|used| Made::Before(used.jobs))),
        }
    }

    /// Finds what the requests name, each thing once.
    async fn look_up(&self, requests: &[(JobId, CreateJob)]) -> Result<Known<'_>, ApiError> {
        let requests = || requests.iter().map(|(_, request)| request);
        let (pool, tenant) = (self.pool, self.caller.tenant);
        let skills = requests().filter_map(CreateJob::skill);
        let skills = distinct(skills.map(str::to_owned));
        let skills = skills::find_all(pool, self.catalog, self.caller, &skills).await?;
        // What cannot be a name is none's, and may be nothing that the database takes.
        let agents = requests().filter_map(CreateJob::agent);
        let agents = distinct(agents.filter(|name| is_name(name)).map(str::to_owned));
        let agents = match &agents[..] {
            [] => Vec::new(),
            names => db::agent::list_by_name(pool, tenant, names).await?,
        };
        let agents = agents.into_iter().map(|stored| {
            let agent = agents::read(stored)?;
            Ok((agent.name.clone(), agent))
        });
        let conversations = distinct(requests().filter_map(CreateJob::conversation));
        let conversations = match &conversations[..] {
            [] => Vec::new(),
            ids => db::conversation::list_by_id(pool, tenant, ids).await?,
        };
        let assets = distinct(requests().flat_map(CreateJob::asset_ids));
        let assets = match &assets[..] {
            [] => Vec::new(),
            ids => db::asset::use_as_inputs(pool, tenant, ids).await?,
        };
        Ok(Known {
            catalog: self.catalog,
            providers: self.providers,
            assets: assets.into_iter().collect(),
            skills,
            agents: agents.collect::<Result<_, ApiError>>()?,
            conversations: conversations.into_iter().map(|it| (it.id, it)).collect(),
        })
    }
}

/// What became of requests that make sense.
enum Stored {
    Now(Vec<Job>),
    /// What they name went meanwhile.
    Wrong(Vec<Wrong>),
    /// The tenant may not hand in so many.
    Refused(Refusal),
    /// Someone else has used the key meanwhile.
    UsedKey,
}

/// Says why a tenant's jobs cannot come in now.
pub(super) fn refused(shape: Shape, refusal: Refusal) -> ApiError {
    match refusal {
        Refusal::TooFast(wait) => ApiError::SubmitRateExceeded { wait },
        Refusal::TooMany(wait) => ApiError::QueueFull { wait },
        Refusal::Never { most } => {
            let pointer = match shape {
                Shape::One => "",
                Shape::Batch => "/jobs",
            };
            let detail = format!("this tenant may hand in at most {most} jobs at once");
            ApiError::field(pointer, detail)
        }
    }
}

/// SHA-256 of what was sent as it was understood: white space and the order of fields do not matter.
pub(super) fn digest(sent: &impl serde::Serialize) -> Result<[u8; 32], ApiError> {
    let json = serde_json::to_vec(sent).map_err(|error| ApiError::Internal(error.into()))?;
    Ok(Sha256::digest(json).into())
}

fn distinct<T: Ord>(named: impl Iterator<Item = T>) -> Vec<T> {
    named.collect::<BTreeSet<_>>().into_iter().collect()
}
