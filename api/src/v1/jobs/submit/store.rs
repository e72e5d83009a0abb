//! Storage of requests as jobs, in one transaction, or in one statement where that is enough.

use chrono::{DateTime, Utc};
use shared::db;
use shared::db::Connection;
use shared::db::asset::NewAsset;
use shared::db::job::NewJobRow;
use shared::id::{AssetId, ConversationId, TenantId};
use shared::job::{Input, Job};

use super::{IndexedError, Key, StoreOutcome, StoredWith, Submitter, ValidatedJob, webhook};
use crate::problem::{ApiError, FieldError};
use crate::v1::jobs::request::{Inline, NO_CONVERSATION, ResolvedTarget};

impl Submitter<'_> {
    /// Stores all jobs, or none.
    pub(super) async fn store(
        &self,
        validated: Vec<ValidatedJob>,
        with: StoredWith<'_>,
    ) -> Result<StoreOutcome, ApiError> {
        let tenant = self.caller.tenant;
        let conversations: Vec<_> = validated.iter().map(|it| it.parsed.conversation).collect();
        let joins = conversations.iter().any(Option::is_some);
        let (mut jobs, inline): (Vec<_>, Vec<_>) = validated
            .into_iter()
            .map(|validated_job| new_job(tenant, validated_job))
            .unzip();
        for job in &mut jobs {
            job.schedule = with.run.map(|run| run.schedule);
            job.is_followed = with.is_followed;
        }
        let has_inline = inline.iter().any(|files| !files.is_empty());
        let has_webhook = jobs.iter().any(|job| job.request.webhook.is_some());
        let is_alone = with.key.is_none() && with.run.is_none() && !has_webhook;
        if is_alone && !has_inline && !joins && !self.caller.has_submit_limit {
            return Ok(StoreOutcome::Stored(self.insert(jobs).await?, None));
        }
        // Boxed, because most jobs need no transaction. Without the box, their futures would be as large as the
        // others.
        Box::pin(self.store_with_files(jobs, inline, &conversations, with)).await
    }

    /// Stores jobs and the files that come with their requests.
    async fn store_with_files(
        &self,
        mut jobs: Vec<NewJobRow>,
        inline: Vec<Vec<Inline>>,
        conversations: &[Option<ConversationId>],
        with: StoredWith<'_>,
    ) -> Result<StoreOutcome, ApiError> {
        // Before the transaction, which would otherwise hold a connection and locks during the upload.
        let mut files = Vec::new();
        let stored = match self.store_inline(&mut jobs, inline, &mut files).await {
            Ok(()) => self.store_with(jobs, &files, conversations, with).await,
            Err(error) => Err(error),
        };
        if !matches!(stored, Ok(StoreOutcome::Stored(..))) && !files.is_empty() {
            db::asset::discard(self.pool, self.assets, &files).await?;
        }
        stored
    }

    /// Stores a retry of a job.
    pub(super) async fn store_retry(
        &self,
        job: NewJobRow,
        conversation: Option<ConversationId>,
        key: Option<&Key>,
    ) -> Result<StoreOutcome, ApiError> {
        let with = StoredWith {
            key,
            ..StoredWith::default()
        };
        self.store_with(vec![job], &[], &[conversation], with).await
    }

    /// Stores jobs in one transaction. Their files are already stored.
    async fn store_with(
        &self,
        mut jobs: Vec<NewJobRow>,
        files: &[AssetId],
        conversations: &[Option<ConversationId>],
        with: StoredWith<'_>,
    ) -> Result<StoreOutcome, ApiError> {
        let tenant = self.caller.tenant;
        // Before the transaction: enabling the feed waits until all open transactions have ended.
        self.open_feed(&jobs).await?;
        let mut transaction = self.pool.begin().await?;
        let (mut counted, mut rate) = (false, None);
        if self.caller.has_submit_limit {
            match db::submit_limit::take(&mut transaction, tenant, jobs.len()).await? {
                Ok(taken) => (counted, rate) = (taken.counted, taken.rate),
                Err(refusal) => {
                    transaction.commit().await?;
                    return Ok(StoreOutcome::Refused(refusal));
                }
            }
        }
        if let Some(key) = with.key {
            // Of two concurrent requests with the same key, the second waits here for the first.
            let ids: Vec<_> = jobs.iter().map(|job| job.id).collect();
            let (text, digest) = (&key.text, &key.digest);
            let used =
                db::idempotency::remember(&mut *transaction, tenant, text, digest, &ids).await?;
            if used.is_some() {
                return Ok(StoreOutcome::UsedKey);
            }
        }
        if let Some(run) = with.run
            && let Err(refusal) = db::schedule_run::start(&mut transaction, run, jobs[0].id).await?
        {
            return Ok(StoreOutcome::NotStarted(refusal));
        }
        for job in &mut jobs {
            if !take_over(&mut transaction, job).await? {
                return Ok(StoreOutcome::SourceGone);
            }
        }
        if !files.is_empty() {
            db::asset::show(&mut *transaction, files).await?;
        }
        if conversations.iter().any(Option::is_some) {
            // As late as possible, because other requests that join the conversation wait for this transaction.
            let wrong = position(&mut transaction, tenant, conversations, &mut jobs).await?;
            if !wrong.is_empty() {
                return Ok(StoreOutcome::Invalid(wrong));
            }
        }
        let created_at = db::job::insert(&mut *transaction, counted, &jobs).await?;
        webhook::insert(&mut transaction, &jobs).await?;
        transaction.commit().await?;
        let jobs = accepted(jobs, created_at);
        if let Err(error) = self.admit(&jobs).await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(
                error,
                "cannot start the next job of a conversation; maintenance will"
            );
        }
        Ok(StoreOutcome::Stored(jobs, rate))
    }

    /// Stores the files that come with requests as invisible assets, and makes them inputs. Adds each stored asset to
    /// `stored`.
    async fn store_inline(
        &self,
        jobs: &mut [NewJobRow],
        inline: Vec<Vec<Inline>>,
        stored: &mut Vec<AssetId>,
    ) -> Result<(), ApiError> {
        for (job, files) in jobs.iter_mut().zip(inline) {
            for file in files {
                let mut upload = self.assets.upload();
                upload.push(&file.content).await?;
                let sealed = upload.seal().await?;
                let new = NewAsset {
                    tenant: self.caller.tenant,
                    job: Some(job.id),
                    name: &file.name,
                    content_type: &file.content_type,
                };
                let asset = db::asset::store(self.pool, self.assets, sealed, new).await?;
                job.request.inputs[file.place] = Input::Asset { id: asset.id };
                stored.push(asset.id);
            }
        }
        Ok(())
    }

    /// Stores jobs that need no other writes.
    async fn insert(&self, mut jobs: Vec<NewJobRow>) -> db::Result<Vec<Job>> {
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

    /// Makes jobs ready whose previous jobs ended in the meantime, before the new jobs were visible to them.
    async fn admit(&self, jobs: &[Job]) -> db::Result<()> {
        let joined: Vec<_> = jobs.iter().filter_map(|job| job.conversation_id).collect();
        if !joined.is_empty() {
            db::conversation::admit_blocked(self.pool, &joined).await?;
        }
        Ok(())
    }
}

/// Keeps the inputs of a retried job for its retry; does nothing for other jobs. Returns `false` if the retried job
/// was deleted.
async fn take_over(transaction: &mut Connection, job: &mut NewJobRow) -> db::Result<bool> {
    let Some(before) = job.retry_of else {
        return Ok(true);
    };
    // The lock keeps the retried job until the new job is stored, because the new job uses its skill version and its
    // files.
    let ended = db::job::lock_ended(&mut *transaction, job.tenant, before).await?;
    if ended.is_none() {
        return Ok(false);
    }
    let assets = job.request.inputs.iter().filter_map(Input::asset_id);
    let assets: Vec<_> = assets.collect();
    db::asset::use_as_inputs(&mut *transaction, job.tenant, &assets).await?;
    // Files that came with the first request belong to the first job, and would be deleted with it.
    for input in &mut job.request.inputs {
        if let Input::Asset { id: asset } = input
            && let Some(copy) = db::asset::copy(&mut *transaction, *asset, before, job.id).await?
        {
            *asset = copy;
        }
    }
    Ok(true)
}

fn accepted(jobs: Vec<NewJobRow>, created_at: DateTime<Utc>) -> Vec<Job> {
    let jobs = jobs.into_iter();
    jobs.map(|job| job.accepted(created_at)).collect()
}

fn new_job(tenant: TenantId, validated_job: ValidatedJob) -> (NewJobRow, Vec<Inline>) {
    let parsed = validated_job.parsed;
    let ResolvedTarget {
        target,
        skill_version,
        skill_digest,
        needs,
    } = parsed.chosen;
    let job = NewJobRow {
        id: validated_job.id,
        tenant,
        target,
        skill_version,
        skill_digest,
        needs,
        title: parsed.title,
        external_id: parsed.external_id,
        position: None,
        model: parsed.models.first().clone(),
        request: parsed.request,
        metadata: parsed.metadata,
        retry_of: None,
        schedule: None,
        run_at: parsed.run_at,
        digest: hex::encode(validated_job.digest),
        is_followed: false,
    };
    (job, parsed.inline)
}

/// Assigns positions in their conversations to the jobs. Returns an error for each conversation that was deleted.
async fn position(
    transaction: &mut Connection,
    tenant: TenantId,
    conversations: &[Option<ConversationId>],
    jobs: &mut [NewJobRow],
) -> db::Result<Vec<IndexedError>> {
    let joining: Vec<_> = conversations.iter().flatten().copied().collect();
    let positions = db::conversation::join(transaction, tenant, &joining).await?;
    let mut positions = positions.into_iter();
    let mut wrong = Vec::new();
    for (place, job) in jobs.iter_mut().enumerate() {
        if conversations[place].is_some() {
            job.position = positions.next().flatten();
            if job.position.is_none() {
                wrong.push((place, FieldError::new("/conversation_id", NO_CONVERSATION)));
            }
        }
    }
    Ok(wrong)
}
