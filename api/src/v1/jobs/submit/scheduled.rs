//! Requests of schedules: validated when the schedule is stored, and submitted when a run starts.

use shared::db::schedule_run::{RunRefusal, RunStart};
use shared::id::{JobId, ScheduleId};

use super::{BodyShape, Key, StoreOutcome, StoredWith, Submitted, Submitter, ValidatedJob, digest};
use crate::problem::{ApiError, FieldError};
use crate::v1::jobs::request::CreateJob;

const SHAPE: BodyShape = BodyShape::Schedule;

impl Submitter<'_> {
    /// Returns the errors of a schedule's request. Budgets and submit limits are only checked when a run starts.
    pub(crate) async fn validate(&self, request: &CreateJob) -> Result<Vec<FieldError>, ApiError> {
        let requests = vec![(JobId::new(), request.clone())];
        let known = self.look_up(&requests).await?;
        let refused_urls = self.check_webhook_urls(&requests).await;
        let mut wrong = Vec::new();
        for (id, request) in requests {
            wrong.extend(request.check_scheduled());
            wrong.extend(self.check_webhook(request.webhook(), &refused_urls).1);
            let digest = digest(&request)?;
            match request.parse(&known) {
                Ok(parsed) => {
                    let validated = [ValidatedJob { id, digest, parsed }];
                    let mut unusable = self.check_models(&validated).await?;
                    unusable.extend(self.check_secrets(&validated).await?);
                    wrong.extend(unusable.into_iter().map(|(_, error)| error));
                }
                Err(errors) => wrong.extend(errors),
            }
        }
        let located = wrong.into_iter().map(|error| SHAPE.locate(0, error));
        Ok(located.collect())
    }

    /// Creates the job of a run that is due, in the transaction that marks the run as started.
    pub(crate) async fn start_run(
        &self,
        run: RunStart,
        request: CreateJob,
    ) -> Result<Result<JobId, RunRefusal>, ApiError> {
        let requests = vec![(JobId::new(), request)];
        let with = StoredWith {
            run: Some(run),
            ..StoredWith::default()
        };
        match self.accept(SHAPE, requests, with).await? {
            StoreOutcome::Stored(jobs, _) => Ok(Ok(jobs[0].id)),
            StoreOutcome::NotStarted(refusal) => Ok(Err(refusal)),
            StoreOutcome::Invalid(errors) => Err(SHAPE.refuse(errors)),
            StoreOutcome::Refused(refusal) => Err(SHAPE.refuse_limit(refusal)),
            StoreOutcome::SourceGone | StoreOutcome::UsedKey => {
                let unexpected = "a schedule run neither retries a job nor has a key";
                Err(ApiError::Internal(anyhow::anyhow!(unexpected)))
            }
        }
    }

    /// Creates the job of a run that a client requests, or returns the job of an earlier request with the same key.
    pub(crate) async fn run_now(
        &self,
        schedule: ScheduleId,
        request: CreateJob,
        key: Option<Key>,
    ) -> Result<Submitted, ApiError> {
        if let Some(key) = &key
            && let Some(before) = self.submitted_before(key).await?
        {
            return Ok(before);
        }
        let requests = vec![(JobId::new(), request)];
        let with = StoredWith {
            key: key.as_ref(),
            run: Some(RunStart {
                schedule,
                scheduled_for: None,
            }),
            ..StoredWith::default()
        };
        let outcome = self.accept(SHAPE, requests, with).await?;
        self.answer(SHAPE, outcome, key.as_ref()).await
    }
}
