//! One attempt at a job: from the claim to the last entry that its lease may write.

mod end;

use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use shared::db::claim::Claimed;
use shared::event::{EventData, JobStarted};
use shared::id::WorkerId;
use shared::job::{JobError, JobErrorCode};
use shared::skill::Skill;
use tokio_util::sync::CancellationToken;

use crate::log::JobLog;
use crate::model::{self, Model};
use crate::prompt;
use crate::run_loop::{LoopError, run_loop};
use crate::shop::Shop;
use crate::staging;
use crate::tool::Toolbox;
use crate::transcript::Transcript;
use crate::workspace::Workspace;
use end::End;

/// An attempt under way, as the loop and the tools see it.
pub(crate) struct Attempt {
    pub(crate) shop: Arc<Shop>,
    pub(crate) claimed: Claimed,
    pub(crate) skill: Arc<Skill>,
    pub(crate) log: JobLog,
    pub(crate) workspace: Workspace,
    /// Set when the worker is leaving.
    pub(crate) drain: CancellationToken,
    deadline: Instant,
}

impl Attempt {
    /// What is left of the job's time.
    pub(crate) fn time_left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Where the attempt may be handed over.
    pub(crate) fn check_boundary(&self) -> Result<(), LoopError> {
        if self.drain.is_cancelled() {
            Err(LoopError::Drained)
        } else {
            Ok(())
        }
    }
}

/// What can come from outside while an attempt runs.
#[derive(Clone)]
pub(crate) struct Signals {
    /// Someone asked for the job's end.
    pub(crate) cancel: CancellationToken,
    /// The lease is, or may be, someone else's.
    pub(crate) lost: CancellationToken,
    /// The worker is leaving: hand over at the next boundary.
    pub(crate) drain: CancellationToken,
    /// The worker is leaving now.
    pub(crate) leave: CancellationToken,
}

/// Why an attempt stopped in the middle.
enum Interrupt {
    Cancelled,
    Lost,
    Leaving,
}

/// Why an attempt cannot go on.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The job fails, and another attempt would not help.
    Job(JobError),
    /// It is ours, and another attempt may help.
    Ours(anyhow::Error),
}

impl From<JobError> for Fault {
    fn from(error: JobError) -> Self {
        Self::Job(error)
    }
}

impl Fault {
    /// A fault that the client has no part in.
    pub(crate) fn ours(error: impl Into<anyhow::Error>) -> Self {
        Self::Ours(error.into())
    }

    /// An error out of an input's bytes: the job's, if it says so itself.
    pub(crate) fn from_input(error: anyhow::Error) -> Self {
        error
            .downcast::<JobError>()
            .map_or_else(Self::Ours, Self::Job)
    }
}

/// Runs an attempt to its end, whatever that is.
pub(crate) async fn run(shop: Arc<Shop>, worker: WorkerId, claimed: Claimed, signals: Signals) {
    let clock = Clock {
        claimed_at: claimed.claimed_at,
        begun_at: Instant::now(),
    };
    let job = &claimed.job;
    let log = shop
        .log
        .open(
            claimed.lease,
            claimed.last_seq,
            job.attempt,
            signals.lost.clone(),
        )
        .await;
    let skill = job
        .skill
        .as_deref()
        .and_then(|name| shop.catalog.get(name))
        .cloned();
    let digest = skill.as_ref().map(|skill| skill.digest.clone());
    let started = JobStarted {
        attempt: job.attempt,
        worker,
        skill_digest: digest,
    };
    log.append(EventData::JobStarted(started)).await;

    let prepared = signals
        .watch(prepare(&shop, &claimed, skill.as_deref()))
        .await;
    let prepared = match prepared {
        Ok(Ok(prepared)) => prepared,
        Ok(Err(fault)) => return end::close(log, &claimed, &clock, None, fault.into()).await,
        Err(interrupt) => return end::close(log, &claimed, &clock, None, interrupt.into()).await,
    };
    let Prepared {
        workspace,
        mut transcript,
        model,
        system,
        skill,
    } = prepared;
    let limit = Duration::from_secs(claimed.request.limits.timeout_seconds.into());
    let deadline = clock.begun_at + limit.saturating_sub(claimed.spent);
    let drain = signals.drain.clone();
    let attempt = Attempt {
        shop,
        claimed,
        skill,
        log,
        workspace,
        drain,
        deadline,
    };
    let tools = Toolbox::new(&attempt.skill.tools);

    let looping = run_loop(&attempt, &*model, &tools, &system, &mut transcript);
    let end = match signals
        .watch(tokio::time::timeout_at(deadline.into(), looping))
        .await
    {
        Ok(Ok(Ok(stop))) => End::Stopped(stop),
        Ok(Ok(Err(error))) => error.into(),
        Ok(Err(_)) => End::Failed(
            JobErrorCode::Timeout.with(format!("the job took longer than {} s", limit.as_secs())),
        ),
        Err(interrupt) => interrupt.into(),
    };
    let Attempt {
        claimed,
        log,
        workspace,
        ..
    } = attempt;
    // Nothing of the job is left on this machine when it is said to have ended.
    let removed = tokio::task::spawn_blocking(move || drop(workspace)).await;
    if let Err(error) = removed {
        tracing::error!(
            error = &error as &dyn std::error::Error,
            "removing a workspace panicked"
        );
    }
    end::close(log, &claimed, &clock, Some(transcript), end).await;
}

/// What a loop needs to begin.
struct Prepared {
    workspace: Workspace,
    transcript: Transcript,
    model: Box<dyn Model>,
    system: String,
    skill: Arc<Skill>,
}

async fn prepare(
    shop: &Arc<Shop>,
    claimed: &Claimed,
    skill: Option<&Skill>,
) -> Result<Prepared, Fault> {
    let skill = skill
        .ok_or_else(|| Fault::Ours(anyhow::anyhow!("claimed a job of a skill that is not here")))?;
    let model = model::open(&shop.providers, &shop.http, &claimed.job.model)
        .map_err(|error| JobErrorCode::ModelNotConfigured.with(error.to_string()))?;
    let name = format!("{}-{}", claimed.job.id, claimed.lease.number);
    let workspace = Workspace::create(shop.workspaces.join(name)).map_err(Fault::ours)?;
    let inputs = staging::stage(shop, claimed, &workspace).await?;
    let first = prompt::first_message(
        &claimed.request.prompt,
        &claimed.request.parameters,
        &inputs,
    );
    let transcript = Transcript::new(first);
    Ok(Prepared {
        workspace,
        transcript,
        model,
        system: prompt::system(skill),
        skill: Arc::new(skill.clone()),
    })
}

impl Signals {
    /// Runs the future unless something comes in between; then it is dropped, and with it whatever it began.
    async fn watch<T>(&self, future: impl Future<Output = T>) -> Result<T, Interrupt> {
        tokio::select! {
            biased;
            () = self.lost.cancelled() => Err(Interrupt::Lost),
            () = self.cancel.cancelled() => Err(Interrupt::Cancelled),
            () = self.leave.cancelled() => Err(Interrupt::Leaving),
            value = future => Ok(value),
        }
    }
}

/// The database's clock, read once at the claim and carried on by this machine's steady one.
struct Clock {
    claimed_at: DateTime<Utc>,
    begun_at: Instant,
}

impl Clock {
    fn now(&self) -> DateTime<Utc> {
        self.claimed_at + self.begun_at.elapsed()
    }
}
