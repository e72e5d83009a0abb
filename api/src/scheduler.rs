//! The scheduler: creates the runs of due schedules, and their jobs.
//!
//! Every worker process runs one, without a leader. Each scheduled time has one row, which is locked while it is
//! handled, so each time has at most one job. All times are those of the database clock.

mod plan;

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use futures_util::{StreamExt, stream};
use serde_json::value::RawValue;
use shared::asset::AssetStore;
use shared::db::schedule::StoredSchedule;
use shared::db::schedule_run::{ClaimedRun, RunRefusal, RunStart};
use shared::db::{self, Pool};
use shared::provider::Providers;
use shared::schedule::{Overlap, SkipReason};
use shared::skill::Catalog;
use shared::telemetry::metrics::Metrics;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::auth::Caller;
use crate::job_writer::JobWriter;
use crate::problem::{ApiError, ErrorCode};
use crate::v1::jobs::{CreateJob, Submitter, cancel_unfinished};
use crate::webhook_target::WebhookTargets;

/// The interval of the check for due schedules.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// The maximum number of schedules per transaction.
const SCHEDULES_AT_ONCE: i64 = 100;
/// The maximum number of runs per claim. They must be started before the claim expires.
const RUNS_AT_ONCE: i64 = 20;
/// The number of runs that are started concurrently, each with its own connection.
const PARALLEL_STARTS: usize = 2;
/// The number of failed attempts to start a run after which the run fails.
const MAX_ATTEMPTS: i16 = 5;

/// The settings of a scheduler.
pub struct SchedulerSettings {
    /// The connection pool of the database.
    pub pool: Pool,
    /// The metrics of the process.
    pub metrics: Metrics,
    /// The asset store.
    pub assets: AssetStore,
    /// The skills that jobs can name.
    pub catalog: Catalog,
    /// The providers that models can name.
    pub providers: Providers,
    /// The policy for the addresses of webhooks.
    pub webhook_targets: WebhookTargets,
}

/// Starts the runs of schedules until `shutdown` is cancelled. Runs in progress are finished first.
pub async fn run(settings: SchedulerSettings, shutdown: CancellationToken) {
    let (writer, writing) = JobWriter::new(&settings.pool);
    let _writing = AbortOnDropHandle::new(tokio::spawn(writing));
    let scheduler = Scheduler {
        settings: Arc::new(settings),
        writer,
    };
    loop {
        if let Err(error) = scheduler.step().await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "the scheduler failed; trying again");
        }
        tokio::select! {
            () = shutdown.cancelled() => return,
            () = tokio::time::sleep(CHECK_INTERVAL) => {}
        }
    }
}

struct Scheduler {
    settings: Arc<SchedulerSettings>,
    writer: JobWriter,
}

impl Scheduler {
    /// Handles all due schedules and runs.
    async fn step(&self) -> db::Result<()> {
        let pool = &self.settings.pool;
        while create_runs(pool).await? >= SCHEDULES_AT_ONCE as usize {}
        loop {
            let claimed = db::schedule_run::claim(pool, RUNS_AT_ONCE).await?;
            let is_last = claimed.len() < RUNS_AT_ONCE as usize;
            let starts = stream::iter(claimed).map(|run| self.handle(run));
            let started: Vec<_> = starts.buffer_unordered(PARALLEL_STARTS).collect().await;
            if started.contains(&true) {
                db::run::notify_work(pool).await?;
            }
            // The schedule of a started run may have another due run.
            if is_last && !started.contains(&true) {
                return Ok(());
            }
        }
    }

    /// Starts a run, and returns whether it has a job. An error of one run does not stop the others.
    async fn handle(&self, run: ClaimedRun) -> bool {
        let outcome = self.start(&run).await;
        let is_started = matches!(outcome, Ok(Ok(())));
        if let Err(error) = self.settle(&run, outcome).await {
            let error = &error as &dyn std::error::Error;
            let schedule = run.schedule;
            tracing::warn!(%schedule, error, "cannot store the result of a run; trying again");
        }
        is_started
    }

    async fn start(&self, run: &ClaimedRun) -> Result<Result<(), RunRefusal>, ApiError> {
        let SchedulerSettings {
            pool,
            metrics,
            assets,
            catalog,
            providers,
            webhook_targets,
        } = &*self.settings;
        let request = read_request(&run.job)?;
        let earlier = match run.overlap {
            Overlap::CancelRunning => db::schedule_run::list_open_jobs(pool, run.schedule).await?,
            _ => Vec::new(),
        };
        let caller = Caller::of_schedule(run);
        let submitter = Submitter {
            caller: &caller,
            pool,
            writer: &self.writer,
            assets,
            catalog,
            providers,
            webhook_targets,
        };
        let start = RunStart {
            schedule: run.schedule,
            scheduled_for: Some(run.scheduled_for),
        };
        let started = submitter.start_run(start, request).await?;
        if started.is_ok() {
            // Only now, because a run that is refused must not end the job of the run before it.
            for job in earlier {
                if let Err(error) = cancel_unfinished(pool, metrics, run.tenant, job).await {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(%job, error, "cannot cancel the job of an earlier run");
                }
            }
        }
        Ok(started.map(drop))
    }

    /// Stores the outcome of a run that has no job.
    async fn settle(
        &self,
        run: &ClaimedRun,
        outcome: Result<Result<(), RunRefusal>, ApiError>,
    ) -> db::Result<()> {
        let pool = &self.settings.pool;
        match outcome {
            Ok(Ok(()) | Err(RunRefusal::Gone)) => Ok(()),
            Ok(Err(RunRefusal::Overlap)) if run.overlap == Overlap::Skip => {
                db::schedule_run::skip(pool, run, SkipReason::Overlap).await
            }
            Ok(Err(RunRefusal::Overlap)) => db::schedule_run::release(pool, run, false).await,
            // The claim expires, and the run is tried again.
            Err(ApiError::Unavailable(error)) => {
                tracing::warn!(schedule = %run.schedule, error = format!("{error:#}"), "cannot start a run; trying again");
                Ok(())
            }
            Err(ApiError::Internal(error)) if run.attempts + 1 < MAX_ATTEMPTS => {
                tracing::error!(schedule = %run.schedule, error = format!("{error:#}"), "cannot start a run; trying again");
                db::schedule_run::release(pool, run, true).await
            }
            Err(ApiError::SkillReplaced) if run.attempts + 1 < MAX_ATTEMPTS => {
                db::schedule_run::release(pool, run, true).await
            }
            Err(error) => db::schedule_run::fail(pool, run, &error.problem(None)).await,
        }
    }
}

/// Creates the runs of a batch of due schedules, and returns the number of schedules.
async fn create_runs(pool: &Pool) -> db::Result<usize> {
    let mut transaction = pool.begin().await?;
    let now = db::now(&mut *transaction).await?;
    let due = db::schedule::lock_due(&mut transaction, SCHEDULES_AT_ONCE).await?;
    for schedule in &due {
        let (runs, next_at) = plan_of(schedule, now);
        db::schedule_run::insert(&mut transaction, schedule.id, &runs).await?;
        db::schedule::set_next(&mut *transaction, schedule.id, next_at).await?;
    }
    transaction.commit().await?;
    Ok(due.len())
}

fn plan_of(schedule: &StoredSchedule, now: plan::Instant) -> plan::Plan {
    match schedule.timing() {
        Ok(timing) => plan::plan(schedule, &timing, now),
        Err(error) => {
            let error = &error as &dyn std::error::Error;
            let schedule = schedule.id;
            tracing::error!(%schedule, error, "this release cannot read the times of a schedule; trying again in a minute");
            // Another release may read them.
            (Vec::new(), Some(now + TimeDelta::minutes(1)))
        }
    }
}

/// Parses the stored request of a schedule. Fails if this release cannot read it.
pub(crate) fn read_request(job: &RawValue) -> Result<CreateJob, ApiError> {
    serde_json::from_str(job.get()).map_err(|error| ApiError::Conflict {
        code: ErrorCode::JobUnreadable,
        detail: format!(
            "this release cannot read the job of this schedule, which another release stored: {error}; update the \
             service, or give the schedule another `job`"
        ),
    })
}
