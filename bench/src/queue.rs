//! The queue alone, without HTTP and the agent loop, through the functions that the API and workers call.

use std::sync::Arc;

use anyhow::ensure;
use api::JobWriter;
use chrono::{SubsecRound, Utc};
use futures_util::{StreamExt, TryStreamExt, stream};
use shared::db::claim::Claimed;
use shared::db::log::{Append, Appended, RunTransition, finish};
use shared::db::worker::NewWorker;
use shared::db::{self, Notifier, Pool};
use shared::event::{EventData, JobStarted};
use shared::id::{JobId, TenantId, WorkerId};
use shared::job::{JobResult, Outcome};
use shared::sandbox::{Isolation, MemoryLimit};
use sqlx::PgExecutor;
use tests::new_job::new_job;
use tokio_util::task::AbortOnDropHandle;

/// The number of concurrent statements that fill the queue.
const CLIENTS: usize = 8;
/// The number of jobs per statement when jobs are enqueued in thousands.
pub(crate) const THOUSAND: usize = 1000;

/// A database with a tenant and a registered worker that has no process. The benchmark does its work.
#[derive(Clone)]
pub(crate) struct Queue {
    pub(crate) pool: Pool,
    writer: JobWriter,
    notifier: Notifier,
    _tasks: Arc<[AbortOnDropHandle<()>; 2]>,
    tenant: TenantId,
    worker: WorkerId,
    skills: Vec<String>,
}

impl Queue {
    pub(crate) async fn open(pool: Pool) -> anyhow::Result<Self> {
        let tenant = db::tenant::get_or_insert(&pool, "bench").await?.id;
        let skills = vec!["shell".to_owned()];
        let new = NewWorker {
            name: "bench".to_owned(),
            home: "/nowhere".to_owned(),
            slots: 100,
            skills: skills.clone(),
            programs: Vec::new(),
            providers: Vec::new(),
            isolation: Isolation::Namespaced,
            memory_limit: MemoryLimit::Watched,
            renders_previews: false,
        };
        let worker = db::worker::insert(&pool, &new).await?;
        let (writer, writing) = JobWriter::new(&pool);
        let (notifier, notifying) = Notifier::new(&pool);
        let tasks = [tokio::spawn(writing), tokio::spawn(notifying)];
        Ok(Self {
            pool,
            writer,
            notifier,
            _tasks: Arc::new(tasks.map(AbortOnDropHandle::new)),
            tenant,
            worker,
            skills,
        })
    }

    /// Returns the same queue for jobs of another tenant.
    pub(crate) fn of_tenant(&self, tenant: TenantId) -> Self {
        Self {
            tenant,
            ..self.clone()
        }
    }

    /// Accepts a job like `POST /v1/jobs`. The job is committed on return.
    pub(crate) async fn enqueue(&self) -> sqlx::Result<JobId> {
        Ok(self.writer.insert(new_job(self.tenant)).await?.id)
    }

    /// Accepts a thousand jobs at once.
    pub(crate) async fn enqueue_thousand(&self) -> sqlx::Result<()> {
        let jobs: Vec<_> = (0..THOUSAND).map(|_| new_job(self.tenant)).collect();
        db::job::insert(&self.pool, false, &jobs).await?;
        Ok(())
    }

    /// Adds this many jobs to the queue.
    pub(crate) async fn fill(&self, count: usize) -> anyhow::Result<()> {
        let mut all = stream::iter(0..count.div_ceil(THOUSAND))
            .map(|_| self.enqueue_thousand())
            .buffer_unordered(CLIENTS);
        while all.try_next().await?.is_some() {}
        Ok(())
    }

    /// Claims up to `slots` jobs.
    pub(crate) async fn claim(
        &self,
        db: impl PgExecutor<'_>,
        slots: i64,
    ) -> sqlx::Result<Vec<Claimed>> {
        let claims = db::claim::claim(db, self.worker, &self.skills, slots, true);
        Ok(claims.await?.into_iter().flatten().collect())
    }

    /// Ends jobs that did nothing, with the minimum entries of a log.
    pub(crate) async fn finish(
        &self,
        db: impl PgExecutor<'_>,
        claimed: Vec<Claimed>,
    ) -> anyhow::Result<()> {
        let appends: Vec<_> = claimed.into_iter().map(|it| self.ending(it)).collect();
        let Appended { valid, due } = db::log::append(db, &appends).await?;
        self.notifier.notify(due);
        ensure!(valid.len() == appends.len(), "a lease was lost");
        Ok(())
    }

    fn ending(&self, claimed: Claimed) -> Append {
        let (lease, base) = (claimed.lease, claimed.last_seq);
        let started = EventData::JobStarted(JobStarted {
            attempt: claimed.job.attempt,
            worker: self.worker,
            skill_digest: claimed.job.skill_digest.clone(),
            isolation: Some(Isolation::Namespaced),
        });
        let at = Utc::now().trunc_subsecs(6);
        let (last, next) = finish(claimed.job, Outcome::Completed, at, JobResult::default());
        Append {
            lease,
            base,
            events: vec![started, last],
            next,
        }
    }

    /// Appends one event to the log of each of these jobs in one statement, and advances their sequence numbers.
    pub(crate) async fn append(
        &self,
        jobs: &mut [Claimed],
        event: impl Fn() -> EventData,
    ) -> anyhow::Result<()> {
        let appends: Vec<_> = jobs
            .iter()
            .map(|claimed| Append {
                lease: claimed.lease,
                base: claimed.last_seq,
                events: vec![event()],
                next: RunTransition::Continue,
            })
            .collect();
        let Appended { valid, due } = db::log::append(&self.pool, &appends).await?;
        self.notifier.notify(due);
        ensure!(valid.len() == jobs.len(), "a lease was lost");
        jobs.iter_mut().for_each(|claimed| claimed.last_seq += 1);
        Ok(())
    }
}
