//! Storing requests as jobs, in one transaction, or in one statement where that is enough.

use chrono::{DateTime, Utc};
use shared::asset::AssetStore;
use shared::db;
use shared::db::Connection;
use shared::db::asset::NewAsset;
use shared::db::job::NewJob;
use shared::id::{ConversationId, TenantId};
use shared::job::{Input, Job};

use super::{Candidate, Intake, Key, Stored, Wrong};
use crate::problem::{ApiError, FieldError};
use crate::v1::jobs::request::{Chosen, Inline, NO_CONVERSATION};

impl Intake<'_> {
    /// Stores them all, or none.
    pub(super) async fn store(
        &self,
        candidates: Vec<Candidate>,
        key: Option<&Key>,
    ) -> Result<Stored, ApiError> {
        let tenant = self.caller.tenant;
        let conversations: Vec<_> = candidates.iter().map(|it| it.parsed.conversation).collect();
        let joins = conversations.iter().any(Option::is_some);
        let (mut jobs, inline): (Vec<_>, Vec<_>) = candidates
            .into_iter()
            .map(|candidate| new_job(tenant, candidate))
            .unzip();
        let has_inline = inline.iter().any(|files| !files.is_empty());
        if key.is_none() && !has_inline && !joins && !self.caller.has_submit_limit {
            return Ok(Stored::Now(self.insert(jobs).await?));
        }
        let mut transaction = self.pool.begin().await?;
        let mut counted = false;
        if self.caller.has_submit_limit {
            match db::submit_limit::take(&mut transaction, tenant, jobs.len()).await? {
                Ok(are_counted) => counted = are_counted,
                Err(refusal) => {
                    transaction.commit().await?;
                    return Ok(Stored::Refused(refusal));
                }
            }
        }
        if let Some(key) = key {
            // Of two at once, the second waits here for the first.
            let ids: Vec<_> = jobs.iter().map(|job| job.id).collect();
            let (text, digest) = (&key.text, &key.digest);
            let used =
                db::idempotency::remember(&mut *transaction, tenant, text, digest, &ids).await?;
            if used.is_some() {
                return Ok(Stored::UsedKey);
            }
        }
        for (job, files) in jobs.iter_mut().zip(inline) {
            store_inline(&mut transaction, self.assets, tenant, job, files).await?;
        }
        if joins {
            // As late as can be: others who want to join wait.
            let wrong = seat(&mut transaction, tenant, &conversations, &mut jobs).await?;
            if !wrong.is_empty() {
                return Ok(Stored::Wrong(wrong));
            }
        }
        let created_at = db::job::insert(&mut *transaction, counted, &jobs).await?;
        transaction.commit().await?;
        let jobs = accepted(jobs, created_at);
        self.admit(&jobs).await?;
        Ok(Stored::Now(jobs))
    }

    /// Stores jobs that nothing else has to be written with.
    async fn insert(&self, mut jobs: Vec<NewJob>) -> sqlx::Result<Vec<Job>> {
        match &jobs[..] {
            [_] => {
                let alone = jobs.swap_remove(0);
                Ok(vec![self.writer.insert(alone).await?])
            }
            _ => {
                let created_at = db::job::insert(self.pool, false, &jobs).await?;
                Ok(accepted(jobs, created_at))
            }
        }
    }

    /// The jobs before these may have ended meanwhile, without having seen them.
    async fn admit(&self, jobs: &[Job]) -> sqlx::Result<()> {
        let joined: Vec<_> = jobs.iter().filter_map(|job| job.conversation_id).collect();
        if !joined.is_empty() {
            db::run::admit_blocked(self.pool, &joined).await?;
        }
        Ok(())
    }
}

fn accepted(jobs: Vec<NewJob>, created_at: DateTime<Utc>) -> Vec<Job> {
    let jobs = jobs.into_iter();
    jobs.map(|job| job.accepted(created_at)).collect()
}

fn new_job(tenant: TenantId, candidate: Candidate) -> (NewJob, Vec<Inline>) {
    let parsed = candidate.parsed;
    let Chosen {
        target,
        skill_version,
        skill_digest,
        needs,
    } = parsed.chosen;
    let job = NewJob {
        id: candidate.id,
        tenant,
        target,
        skill_version,
        skill_digest,
        needs,
        seat: None,
        model: parsed.model,
        request: parsed.request,
        metadata: parsed.metadata,
        retry_of: None,
        run_at: parsed.run_at,
        digest: hex::encode(candidate.digest),
    };
    (job, parsed.inline)
}

async fn store_inline(
    transaction: &mut Connection,
    assets: &AssetStore,
    tenant: TenantId,
    job: &mut NewJob,
    files: Vec<Inline>,
) -> Result<(), ApiError> {
    for file in files {
        let mut upload = assets.upload();
        upload.push(&file.content).await?;
        let sealed = upload.seal().await?;
        let row = NewAsset {
            tenant,
            job: Some(job.id),
            name: &file.name,
            content_type: &file.content_type,
            visible: true,
        };
        let asset = db::asset::store(transaction, sealed, row).await?;
        job.request.inputs[file.place] = Input::Asset { id: asset.id };
    }
    Ok(())
}

/// Gives the jobs their places in the conversations that they name; what is wrong if one has gone.
async fn seat(
    transaction: &mut Connection,
    tenant: TenantId,
    conversations: &[Option<ConversationId>],
    jobs: &mut [NewJob],
) -> sqlx::Result<Vec<Wrong>> {
    let joining: Vec<_> = conversations.iter().flatten().copied().collect();
    let seats = db::conversation::join(transaction, tenant, &joining).await?;
    let mut seats = seats.into_iter();
    let mut wrong = Vec::new();
    for (place, job) in jobs.iter_mut().enumerate() {
        if conversations[place].is_some() {
            job.seat = seats.next().flatten();
            if job.seat.is_none() {
                wrong.push((place, FieldError::new("/conversation_id", NO_CONVERSATION)));
            }
        }
    }
    Ok(wrong)
}
