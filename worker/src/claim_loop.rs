//! The claim loop of a worker: register, claim jobs for the free slots, drain.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use shared::db::claim::{Claim, Claimed, UnreadableJob};
use shared::db::log::Lease;
use shared::db::worker::NewWorker;
use shared::db::{self, DedicatedConnection};
use shared::id::WorkerId;
use tokio::sync::Notify;
use tokio::task::{JoinError, JoinSet};
use tokio::time::error::Elapsed;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::attempt::{self, AttemptSignals};
use crate::heartbeat::Heartbeat;
use crate::maintenance::{self, Keep, reaper};
use crate::notifications::{self, JobSignals, RunningJobs};
use crate::preview;
use crate::programs;
use crate::shutdown::Shutdown;
use crate::time_accounting::TimeAccounting;
use crate::worker_context::WorkerContext;

/// The maximum delay until a free slot notices a job whose notification was lost. Also the interval of the reaper.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The time that jobs have to reach a boundary when the worker drains.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);
/// The additional time for jobs to write their last log entries.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(5);
/// The timeout of one round of maintenance. The next round, a second later, does the rest.
const MAINTENANCE_TIMEOUT: Duration = Duration::from_secs(10);
/// The timeout of an optional report to the database.
const REPORT_TIMEOUT: Duration = Duration::from_secs(5);
/// The pause after a database error.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Runs until shutdown. A worker that was declared dead ends its jobs and registers again under a new id.
pub(crate) async fn run(
    context: Arc<WorkerContext>,
    new: NewWorker,
    keep: Keep,
    shutdown: Shutdown,
) -> anyhow::Result<()> {
    let work = Arc::new(Notify::new());
    let running = RunningJobs::default();
    let mut beside = JoinSet::new();
    beside.spawn(shared::clock::sync::keep(context.pool.clone()));
    beside.spawn(maintenance::run(context.clone(), keep));
    beside.spawn(maintenance::recorder::run(context.pool.clone()));
    if new.renders_previews {
        beside.spawn(preview::run(context.clone()));
    }
    beside.spawn({
        let context = context.clone();
        async move {
            context.accounts.renew().await;
        }
    });
    beside.spawn(notifications::listen(
        context.notifications.subscribe(),
        work.clone(),
        running.clone(),
    ));
    while !shutdown.drain.is_cancelled() {
        let worker = match db::worker::insert(&context.pool, &new).await {
            Ok(worker) => worker,
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "cannot register");
                shutdown.drain.run_until_cancelled(sleep(RETRY_PAUSE)).await;
                continue;
            }
        };
        let dead = CancellationToken::new();
        let db = DedicatedConnection::of(&context.pool);
        let heartbeat = Heartbeat::start(db, worker, context.silence, dead.clone())?;
        context.registered.store(true, Ordering::Relaxed);
        tracing::info!(%worker, slots = new.slots, skills = new.skills.join(" "), "worker is ready");
        let registration = Registration {
            context: &context,
            worker,
            new: &new,
            db: DedicatedConnection::of(&context.pool),
            work: &work,
            running: &running,
            accounting: TimeAccounting::default(),
            dead,
            shutdown: &shutdown,
            attempts: JoinSet::new(),
            reaper: JoinSet::new(),
            may_be_ready: true,
            had_room: true,
        };
        let mut search = JoinSet::new();
        search.spawn(programs::search(
            context.clone(),
            worker,
            new.programs.clone(),
        ));
        registration.run().await;
        context.registered.store(false, Ordering::Relaxed);
        search.shutdown().await;
        heartbeat.stop().await;
        // If this fails, other workers notice that this worker is silent.
        let stopping = db::worker::stop(&context.pool, worker);
        report(stopping, "cannot record that this worker has ended").await;
    }
    beside.shutdown().await;
    Ok(())
}

/// A registration of the worker under one id. It lasts until the worker drains or is declared dead.
struct Registration<'a> {
    context: &'a Arc<WorkerContext>,
    worker: WorkerId,
    new: &'a NewWorker,
    /// The connection for claims.
    db: DedicatedConnection,
    work: &'a Notify,
    running: &'a RunningJobs,
    accounting: TimeAccounting,
    dead: CancellationToken,
    shutdown: &'a Shutdown,
    /// Running attempts. Each returns whether its end may let another job of its tenant start.
    attempts: JoinSet<bool>,
    /// The current round of the reaper. It returns whether there is a job to claim.
    reaper: JoinSet<bool>,
    /// Whether there may be jobs that the last claim did not see or had no slot for.
    may_be_ready: bool,
    had_room: bool,
}

impl Registration<'_> {
    async fn run(mut self) {
        let mut ticks = interval(POLL_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let dead = self.dead.clone();
            match dead.run_until_cancelled(self.claim()).await {
                Some(Ok(())) => {}
                Some(Err(error)) => {
                    self.db.reset();
                    tracing::warn!(error = &error as &dyn std::error::Error, "cannot claim");
                }
                None => break,
            }
            let used = self.attempts.len();
            self.context.meters.occupied(used, self.new.slots);
            let is_full = used >= self.new.slots as usize;
            tokio::select! {
                biased;
                () = self.dead.cancelled() => break,
                () = self.shutdown.drain.cancelled() => break self.drain().await,
                // This branch comes before those that may always be ready.
                _ = ticks.tick() => {
                    self.maintain().await;
                    self.may_be_ready = true;
                }
                Some(ended) = self.attempts.join_next() => self.note(ended),
                Some(ended) = self.reaper.join_next() => self.note(ended),
                () = self.work.notified(), if !is_full => self.may_be_ready = true,
            }
        }
        self.dead.cancel();
        while self.attempts.join_next().await.is_some() {}
        report(self.charge(), "cannot charge tenants").await;
    }

    /// Claims jobs for the free slots and starts the attempts, until there are no more jobs. A draining worker claims
    /// nothing, because it would get the jobs that it has just handed back.
    async fn claim(&mut self) -> db::Result<()> {
        while !self.shutdown.drain.is_cancelled() && self.claim_once().await? {}
        Ok(())
    }

    /// Claims once. Returns whether there may be more jobs to claim immediately.
    async fn claim_once(&mut self) -> db::Result<bool> {
        while let Some(ended) = self.attempts.try_join_next() {
            self.note(ended);
        }
        let free = self.new.slots as usize - self.attempts.len();
        if !self.may_be_ready || free == 0 || !self.has_room() {
            return Ok(false);
        }
        let begun_at = Instant::now();
        let claimed = db::claim::claim(
            self.db.get().await?,
            self.worker,
            &self.new.skills,
            free as i64,
            self.context.sandbox.has_network(),
        )
        .await?;
        self.context.meters.claimed(begun_at.elapsed(), &claimed);
        self.may_be_ready = claimed.len() >= free;
        let may_be_more = claimed.iter().any(takes_turns);
        for claim in claimed {
            let makes_room = takes_turns(&claim);
            match claim {
                Ok(claimed) => self.begin(claimed, makes_room),
                Err(unreadable) => self.hand_back(*unreadable, makes_room),
            }
        }
        self.may_be_ready |= may_be_more;
        Ok(may_be_more)
    }

    /// Starts an attempt at a claimed job.
    fn begin(&mut self, claimed: Claimed, makes_room: bool) {
        let signals = AttemptSignals {
            cancel: CancellationToken::new(),
            lost: self.dead.child_token(),
            drain: self.shutdown.drain.clone(),
            leave: self.shutdown.leave.clone(),
            has_tenant_budget: Arc::new(AtomicBool::new(claimed.has_tenant_budget)),
        };
        if claimed.cancel_requested {
            signals.cancel.cancel();
        }
        let job_signals = JobSignals {
            cancel: signals.cancel.clone(),
            has_tenant_budget: signals.has_tenant_budget.clone(),
        };
        let guards = (
            self.running.enter(claimed.lease, job_signals),
            self.accounting
                .begin(claimed.lease, claimed.tenant, claimed.prepaid),
        );
        let attempt = attempt::run(self.context.clone(), self.worker, claimed, signals);
        // An `async` block would reserve memory for the attempt twice.
        self.attempts.spawn(attempt.map(move |()| {
            drop(guards);
            makes_room
        }));
    }

    /// Hands back a job that this release cannot read.
    fn hand_back(&mut self, unreadable: UnreadableJob, makes_room: bool) {
        let (context, lost) = (self.context.clone(), self.dead.child_token());
        let lease = unreadable.lease;
        let guards = (
            self.running.enter(lease, JobSignals::default()),
            self.accounting
                .begin(lease, unreadable.tenant, unreadable.prepaid),
        );
        self.attempts.spawn(async move {
            attempt::hand_back(&context, unreadable, lost).await;
            drop(guards);
            makes_room
        });
    }

    /// Records the end of an attempt or of a round of the reaper.
    fn note(&mut self, ended: Result<bool, JoinError>) {
        match ended {
            Ok(makes_room) => self.may_be_ready |= makes_room,
            Err(error) => tracing::error!(
                error = &error as &dyn std::error::Error,
                "an attempt or the reaper panicked"
            ),
        }
    }

    /// Whether the disk has room for more jobs. Logs each change.
    fn has_room(&mut self) -> bool {
        let has_room = self.context.workspaces.has_room();
        if std::mem::replace(&mut self.had_room, has_room) != has_room {
            if has_room {
                tracing::info!("the disk has room again");
            } else {
                tracing::error!("the disk is nearly full: no jobs are claimed until there is room");
            }
        }
        has_room
    }

    /// Charges tenants for the time that their jobs took since the last charge.
    async fn charge(&self) -> db::Result<()> {
        let charges = self.accounting.charges(Instant::now());
        if !charges.is_empty() {
            db::lane::charge(&self.context.pool, &charges).await?;
        }
        Ok(())
    }

    /// Charges tenants, updates running jobs, and starts the reaper unless it is running. Claims
    /// do not wait for the reaper.
    async fn maintain(&mut self) {
        let lost = timeout(MAINTENANCE_TIMEOUT, self.update_running());
        let lost = tokio::select! {
            () = self.dead.cancelled() => return,
            () = self.shutdown.drain.cancelled() => return,
            lost = lost => log_failure(lost),
        };
        if let Some(lost) = lost
            && self.reaper.is_empty()
        {
            let (context, worker) = (self.context.clone(), self.worker);
            self.reaper.spawn(async move {
                let round = timeout(MAINTENANCE_TIMEOUT, reap(&context, worker, &lost));
                log_failure(round.await).unwrap_or_default()
            });
        }
    }

    /// Charges tenants and updates running jobs. Returns leases of this worker that belong to no attempt: the
    /// response to their claim was lost, or their attempt panicked.
    async fn update_running(&self) -> db::Result<Vec<Lease>> {
        self.charge().await?;
        let held = db::run::list_held(&self.context.pool, self.worker).await?;
        held.iter().for_each(|run| self.running.update(run));
        let held = held.iter().map(|run| run.lease);
        Ok(held.filter(|lease| !self.running.knows(*lease)).collect())
    }

    /// Waits for jobs to reach a boundary, then stops the remaining jobs.
    async fn drain(&mut self) {
        tracing::info!(jobs = self.attempts.len(), "draining");
        let draining = db::worker::drain(&self.context.pool, self.worker);
        report(draining, "cannot record that this worker is draining").await;
        let all_ended = async { while self.attempts.join_next().await.is_some() {} };
        tokio::select! {
            () = all_ended => return,
            () = sleep(DRAIN_TIMEOUT) => {}
            () = self.shutdown.leave.cancelled() => {}
        }
        self.shutdown.leave.cancel();
        let all_ended = async { while self.attempts.join_next().await.is_some() {} };
        if timeout(LEAVE_TIMEOUT, all_ended).await.is_err() {
            tracing::warn!(
                jobs = self.attempts.len(),
                "jobs were still running at exit; other workers take them over"
            );
        }
    }
}

/// Runs one round of the reaper. Returns whether there is a job to claim, and notifies other workers of it.
async fn reap(context: &WorkerContext, worker: WorkerId, lost: &[Lease]) -> db::Result<bool> {
    let is_ready = reaper::run(context, worker, lost).await?;
    if is_ready {
        db::run::notify_work(&context.pool).await?;
    }
    Ok(is_ready)
}

/// Returns the result of maintenance. Logs a failure and returns `None`.
fn log_failure<T>(done: Result<db::Result<T>, Elapsed>) -> Option<T> {
    match done {
        Ok(Ok(done)) => Some(done),
        Ok(Err(error)) => {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "maintenance failed");
            None
        }
        Err(_) => {
            tracing::warn!("maintenance took too long");
            None
        }
    }
}

/// Sends an optional report to the database, with a short timeout.
async fn report(reporting: impl Future<Output = db::Result<()>>, failure: &'static str) {
    match timeout(REPORT_TIMEOUT, reporting).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::warn!(error = &error as &dyn std::error::Error, "{failure}");
        }
        Err(_) => tracing::warn!("{failure}: no answer"),
    }
}

/// Whether the job was claimed in turn with jobs of other tenants, or under a cap. A tenant that has no competitors
/// and no cap gets all free slots at once, and is charged nothing in advance.
fn takes_turns(claim: &Claim) -> bool {
    let prepaid = match claim {
        Ok(claimed) => claimed.prepaid,
        Err(unreadable) => unreadable.prepaid,
    };
    prepaid > 0.0
}
