//! The submit path: looks up, validates and stores requests together, all of them or none.

mod check;
mod idempotency;
mod scheduled;
mod store;
mod webhook;

use std::collections::BTreeSet;

use shared::asset::AssetStore;
use shared::db::job::NewJobRow;
use shared::db::schedule_run::{RunRefusal, RunStart};
use shared::db::{self, Pool};
use shared::id::{ConversationId, JobId};
use shared::job::Job;
use shared::provider::Providers;
use shared::skill::{Catalog, is_name};
use shared::submit_limit::{RateState, SubmitRefusal};

pub(crate) use self::idempotency::Key;
pub(super) use self::idempotency::digest;
use super::budget::check_budget;
use super::request::{CreateJob, Parsed, References};
use crate::auth::Caller;
use crate::job_writer::JobWriter;
use crate::problem::{ApiError, FieldError, MAX_ERRORS};
use crate::v1::{agents, skills};
use crate::webhook_target::WebhookTargets;

/// Submits jobs for a caller.
pub(crate) struct Submitter<'a> {
    pub(crate) caller: &'a Caller,
    pub(crate) pool: &'a Pool,
    pub(crate) writer: &'a JobWriter,
    pub(crate) assets: &'a AssetStore,
    pub(crate) catalog: &'a Catalog,
    pub(crate) providers: &'a Providers,
    pub(crate) webhook_targets: &'a WebhookTargets,
}

/// The location of the requests in the body.
#[derive(Clone, Copy)]
pub(crate) enum BodyShape {
    /// The body is the only request.
    One,
    /// The requests are in a list.
    Batch,
    /// The only request is the field `job` of a schedule.
    Schedule,
}

impl BodyShape {
    /// Returns an error of the request at `place`, with a pointer into the body.
    fn locate(self, place: usize, error: FieldError) -> FieldError {
        match self {
            Self::One => error,
            Self::Batch => FieldError {
                pointer: format!("/jobs/{place}{}", error.pointer),
                ..error
            },
            Self::Schedule => FieldError {
                pointer: format!("/job{}", error.pointer),
                ..error
            },
        }
    }

    /// Returns the API error for requests with errors.
    fn refuse(self, wrong: Vec<IndexedError>) -> ApiError {
        let errors = wrong.into_iter().take(MAX_ERRORS);
        ApiError::Invalid(errors.map(|(at, error)| self.locate(at, error)).collect())
    }

    /// Returns the API error for more requests than the tenant may submit now.
    fn refuse_limit(self, refusal: SubmitRefusal) -> ApiError {
        match refusal {
            SubmitRefusal::TooFast(wait) => ApiError::SubmitRateExceeded { wait },
            SubmitRefusal::TooMany(wait) => ApiError::QueueFull { wait },
            SubmitRefusal::Never { most } => {
                let pointer = match self {
                    Self::One => "",
                    Self::Batch => "/jobs",
                    Self::Schedule => "/job",
                };
                let detail = format!("this tenant may submit at most {most} jobs at once");
                ApiError::field(pointer, detail)
            }
        }
    }
}

/// The outcome of a submission.
pub(crate) enum Submitted {
    /// The new jobs, in the order of the requests, and the state of the tenant's submit rate.
    New(Vec<Job>, Option<RateState>),
    /// The jobs of an earlier request with the same key.
    Replayed(Vec<JobId>),
}

/// The jobs to submit.
pub(super) struct Submission {
    pub(super) shape: BodyShape,
    /// The requests, each with the id of its future job.
    pub(super) requests: Vec<(JobId, CreateJob)>,
    pub(super) key: Option<Key>,
    /// Whether the client waits for the end of the jobs.
    pub(super) is_followed: bool,
}

/// Data that is stored with the jobs, in the same transaction.
#[derive(Clone, Copy, Default)]
struct StoredWith<'a> {
    key: Option<&'a Key>,
    /// The run of a schedule that starts with the job.
    run: Option<RunStart>,
    /// Whether the client waits for the end of the jobs.
    is_followed: bool,
}

/// A request that is valid by itself.
struct ValidatedJob {
    id: JobId,
    digest: [u8; 32],
    parsed: Parsed,
}

/// An error of a request, with the place of the request in the list.
type IndexedError = (usize, FieldError);

impl Submitter<'_> {
    /// Creates the jobs, or returns those of an earlier request with the same key.
    pub(super) async fn submit(&self, submission: Submission) -> Result<Submitted, ApiError> {
        let Submission {
            shape,
            requests,
            key,
            is_followed,
        } = submission;
        if let Some(key) = &key
            && let Some(before) = self.submitted_before(key).await?
        {
            return Ok(before);
        }
        let with = StoredWith {
            key: key.as_ref(),
            run: None,
            is_followed,
        };
        let outcome = self.accept(shape, requests, with).await?;
        self.answer(shape, outcome, key.as_ref()).await
    }

    /// Validates requests and stores them.
    async fn accept(
        &self,
        shape: BodyShape,
        requests: Vec<(JobId, CreateJob)>,
        with: StoredWith<'_>,
    ) -> Result<StoreOutcome, ApiError> {
        let known = self.look_up(&requests).await?;
        let refused_urls = self.check_webhook_urls(&requests).await;
        let (mut validated, mut wrong) = (Vec::with_capacity(requests.len()), Vec::new());
        for (place, (id, request)) in requests.into_iter().enumerate() {
            let digest = digest(&request)?;
            let (webhook, mut errors) = self.check_webhook(request.webhook(), &refused_urls);
            match request.parse(&known) {
                Ok(mut parsed) => {
                    parsed.request.webhook = webhook;
                    validated.push(ValidatedJob { id, digest, parsed });
                }
                Err(others) => errors.extend(others),
            }
            wrong.extend(errors.into_iter().map(|error| (place, error)));
        }
        if wrong.is_empty() {
            wrong = self.check(&validated).await?;
        }
        if !wrong.is_empty() {
            return Err(shape.refuse(wrong));
        }
        self.store(validated, with).await
    }

    /// Creates a retry of a job, or returns the job of an earlier request with the same key.
    pub(super) async fn retry(
        &self,
        job: NewJobRow,
        conversation: Option<ConversationId>,
        key: Option<Key>,
    ) -> Result<Submitted, ApiError> {
        if let Some(key) = &key
            && let Some(before) = self.submitted_before(key).await?
        {
            return Ok(before);
        }
        let models = job.request.models.clone();
        let models = models.unwrap_or_else(|| job.model.clone().into());
        let models = std::iter::once(&models);
        let unpriced = check_budget(self.caller, models, self.pool, self.providers).await?;
        if !unpriced.is_empty() {
            return Err(BodyShape::One.refuse(unpriced));
        }
        let outcome = self.store_retry(job, conversation, key.as_ref()).await?;
        self.answer(BodyShape::One, outcome, key.as_ref()).await
    }

    async fn answer(
        &self,
        shape: BodyShape,
        outcome: StoreOutcome,
        key: Option<&Key>,
    ) -> Result<Submitted, ApiError> {
        let before = async || match key {
            Some(key) => self.submitted_before(key).await,
            None => Ok(None),
        };
        match outcome {
            StoreOutcome::Stored(jobs, rate) => Ok(Submitted::New(jobs, rate)),
            StoreOutcome::Invalid(errors) => Err(shape.refuse(errors)),
            StoreOutcome::SourceGone => Err(ApiError::NotFound("job")),
            StoreOutcome::NotStarted(_) => Err(ApiError::NotFound("schedule")),
            // The same request may have been accepted just before this one.
            StoreOutcome::Refused(refusal) => match before().await? {
                Some(before) => Ok(before),
                None => Err(shape.refuse_limit(refusal)),
            },
            StoreOutcome::UsedKey => before().await?.ok_or_else(|| {
                ApiError::Unavailable(anyhow::anyhow!(
                    "the jobs with this key were deleted during the request"
                ))
            }),
        }
    }

    /// Looks up everything that the requests refer to, each reference once.
    async fn look_up(&self, requests: &[(JobId, CreateJob)]) -> Result<References<'_>, ApiError> {
        let requests = || requests.iter().map(|(_, request)| request);
        let (pool, tenant) = (self.pool, self.caller.tenant);
        let skills = requests().filter_map(CreateJob::skill);
        let skills = distinct(skills.map(str::to_owned));
        let skills = skills::find_all(pool, self.catalog, self.caller, &skills).await?;
        // Text that is not a valid name refers to nothing, and the database may not accept it.
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
        Ok(References {
            catalog: self.catalog,
            providers: self.providers,
            assets: assets.into_iter().collect(),
            skills,
            agents: agents.collect::<Result<_, ApiError>>()?,
            conversations: conversations.into_iter().map(|it| (it.id, it)).collect(),
        })
    }
}

/// The outcome of storing valid requests.
enum StoreOutcome {
    /// The jobs, and the state of the tenant's submit rate.
    Stored(Vec<Job>, Option<RateState>),
    /// Something that the requests refer to was deleted in the meantime.
    Invalid(Vec<IndexedError>),
    /// The job to retry was deleted in the meantime.
    SourceGone,
    /// The run of a schedule does not start.
    NotStarted(RunRefusal),
    /// The tenant's limits do not allow so many jobs.
    Refused(SubmitRefusal),
    /// Another request used the key in the meantime.
    UsedKey,
}

fn distinct<T: Ord>(named: impl Iterator<Item = T>) -> Vec<T> {
    named.collect::<BTreeSet<_>>().into_iter().collect()
}
