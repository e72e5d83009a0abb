//! One attempt at a job: from the claim to the last entry that its lease may write.

mod end;
mod files;
mod left;
mod prepare;
mod unreadable;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use chrono::{DateTime, SubsecRound, Utc};
use shared::db::claim::Claimed;
use shared::event::{EventData, JobStarted};
use shared::id::WorkerId;
use shared::job::{JobError, JobErrorCode, LoopStop};
use shared::telemetry::trace::Span;
use tokio_util::sync::CancellationToken;

use crate::budget::Budget;
use crate::egress::Egress;
use crate::log::JobLog;
use crate::mcp::Servers;
use crate::role::Role;
use crate::run_loop::{Dialogue, LoopError, run_loop};
use crate::secret::JobSecrets;
use crate::shop::Shop;
use crate::skill;
use crate::telemetry;
use crate::tool::McpTool;
use crate::workspace::{Snapshots, Workspace};
use end::End;
use left::Left;
use prepare::{Prepared, prepare};
pub(crate) use unreadable::hand_back;

/// An attempt under way, as the loop and the tools see it.
pub(crate) struct Attempt<'a> {
    pub(crate) shop: &'a Shop,
    pub(crate) claimed: &'a Claimed,
    pub(crate) role: &'a Role,
    pub(crate) log: &'a JobLog,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) secrets: &'a JobSecrets,
    /// What commands may reach.
    pub(crate) egress: Option<&'a Arc<Egress>>,
    /// What the model may still use up.
    pub(crate) budget: Budget<'a>,
    /// Set when the worker is leaving.
    pub(crate) drain: &'a CancellationToken,
    /// Its part of the job's trace.
    pub(crate) span: &'a Span,
    deadline: Instant,
}

impl Attempt<'_> {
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

    /// Keeps the workspace for whoever may have to take over, and returns whether it is kept. Without it they
    /// are told that files may be missing, so a failure does not end the attempt.
    pub(crate) async fn save(&self, snapshots: &mut Snapshots) -> bool {
        match snapshots.save(&self.workspace).await {
            Ok(Some(saved)) => self.log.append(EventData::WorkspaceSaved(saved)).await,
            Ok(None) => {}
            Err(error) => {
                let error = format!("{error:#}");
                let error = self.log.redact(&error);
                tracing::warn!(job = %self.claimed.job.id, %error, "a workspace could not be saved");
                return false;
            }
        }
        true
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
    /// Whether the tenant has a budget.
    pub(crate) has_tenant_budget: Arc<AtomicBool>,
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
    let span = telemetry::of_attempt(&claimed);
    span.around(run_within(&span, &shop, worker, claimed, signals))
        .await;
}

async fn run_within(
    span: &Span,
    shop: &Shop,
    worker: WorkerId,
    mut claimed: Claimed,
    signals: Signals,
) {
    let clock = Clock {
        claimed_at: claimed.claimed_at,
        begun_at: Instant::now(),
    };
    let log = shop
        .log
        .open(
            claimed.lease,
            claimed.last_seq,
            claimed.job.attempt,
            signals.lost.clone(),
        )
        .await;
    let skill = skill::load(shop, &claimed.job).await;
    if let Ok(Some(skill)) = &skill {
        // What runs, and what the job will say that it was.
        claimed.job.skill_digest = Some(skill.digest.clone());
    }
    let started = JobStarted {
        attempt: claimed.job.attempt,
        worker,
        skill_digest: claimed.job.skill_digest.clone(),
        isolation: Some(shop.sandbox.isolation()),
    };
    log.append(EventData::JobStarted(started)).await;
    let role = skill.and_then(|skill| {
        let role = Role::of(&claimed, skill.as_ref());
        role.ok_or_else(|| anyhow::anyhow!("claimed a job of neither a skill nor an agent"))
    });
    let (end, dialogue) = match role {
        Ok(role) => carry_out(span, shop, &claimed, &role, &log, &signals, &clock).await,
        Err(error) => (End::Fault(error), None),
    };
    let (transcript, snapshots) = dialogue.map(|it| (it.transcript, it.snapshots)).unzip();
    let left = match transcript {
        Some(transcript) => Ok(Left::of(transcript)),
        None => Box::pin(Left::read(&shop.pool, &claimed.job)).await,
    };
    let (left, end) = match left {
        Ok(left) => (left, end),
        Err(error) => (Left::default(), End::Fault(error.into())),
    };
    let closing = end::close(shop, span, log, &claimed, &clock, left, end);
    let is_over = Box::pin(closing).await;
    // What a lost attempt saved is the next one's, and what a job of a conversation saved is the next job's;
    // what another ended job saved is nobody's.
    if is_over
        && claimed.seat.is_none()
        && let Some(snapshots) = snapshots
        && let Err(error) = snapshots.clear().await
    {
        tracing::warn!(job = %claimed.job.id, error = format!("{error:#}"), "a saved workspace is left");
    }
}

/// Prepares and loops. How that ended, with the dialogue if it came to one.
async fn carry_out(
    span: &Span,
    shop: &Shop,
    claimed: &Claimed,
    role: &Role,
    log: &JobLog,
    signals: &Signals,
    clock: &Clock,
) -> (End, Option<Dialogue>) {
    // Boxed, as all below: what is done only once has no room while the loop waits for its model.
    let preparing = Box::pin(prepare(shop, claimed, role, log));
    let prepared = match signals.watch(preparing).await {
        Ok(Ok(prepared)) => prepared,
        Ok(Err(fault)) => return (fault.into(), None),
        Err(interrupt) => return (interrupt.into(), None),
    };
    let Prepared {
        workspace,
        secrets,
        egress,
        mut dialogue,
        entries,
    } = prepared;
    for entry in entries {
        log.append(entry).await;
    }
    let transcript = &mut dialogue.transcript;
    let budget = match Budget::open(shop, claimed, log, &signals.has_tenant_budget, transcript) {
        Ok(budget) => budget,
        Err(error) => {
            remove(workspace).await;
            return (End::Failed(error), Some(dialogue));
        }
    };
    let limit = Duration::from_secs(claimed.request.limits.timeout_seconds.into());
    let deadline = clock.begun_at + limit.saturating_sub(claimed.spent);
    let attempt = Attempt {
        shop,
        claimed,
        role,
        log,
        workspace,
        secrets: &secrets,
        egress: egress.as_ref(),
        budget,
        drain: &signals.drain,
        span,
        deadline,
    };
    let looping = tokio::time::timeout_at(deadline.into(), work(&attempt, &mut dialogue));
    let end = match signals.watch(Box::pin(looping)).await {
        Ok(Ok(Ok(stop))) => End::Stopped(stop),
        Ok(Ok(Err(error))) => error.into(),
        Ok(Err(_)) => {
            let message = format!("the job took longer than {} s", limit.as_secs());
            End::Failed(JobErrorCode::Timeout.with(message))
        }
        Err(interrupt) => interrupt.into(),
    };
    dialogue.transcript.progress.presumptions = attempt.budget.presumptions();
    remove(attempt.workspace).await;
    (end, Some(dialogue))
}

/// Loops, with the servers of the role beside it.
async fn work(attempt: &Attempt<'_>, dialogue: &mut Dialogue) -> Result<LoopStop, LoopError> {
    if attempt.role.mcp_servers.is_empty() {
        return run_loop(attempt, dialogue).await;
    }
    let (servers, tools) = tokio::select! {
        started = Servers::start(attempt) => started?,
        () = attempt.drain.cancelled() => return Err(LoopError::Drained),
    };
    for offered in tools {
        let (tool, schema) = McpTool::new(offered);
        dialogue
            .tools
            .add(Box::new(tool), schema, &attempt.role.hooks);
    }
    let stop = run_loop(attempt, dialogue).await;
    servers.close().await;
    stop
}

/// Nothing of the job is left on this machine when it is said to have ended.
async fn remove(workspace: Arc<Workspace>) {
    if !workspace.is_made() {
        return;
    }
    workspace.quiet().await;
    if let Err(error) = tokio::task::spawn_blocking(move || drop(workspace)).await {
        tracing::error!(
            error = &error as &dyn std::error::Error,
            "removing a workspace panicked"
        );
    }
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
        // As precise as the database keeps it, so that the log and the job say the same.
        (self.claimed_at + self.begun_at.elapsed()).trunc_subsecs(6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a future takes that has not begun, and so what it always takes.
    fn size_of_future<A, B, C, D, F>(_: impl FnOnce(A, B, C, D) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn an_attempt_has_no_room_for_what_it_does_only_once() {
        let size = size_of_future(run);
        assert!(size < 12 * 1024, "{size} bytes");
    }
}
