//! The life of a worker: register, claim for the free slots, leave in order.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use shared::db::claim::{Claim, Claimed, UnreadableJob};
use shared::db::worker::NewWorker;
use shared::db::{self, Steady};
use shared::id::WorkerId;
use tokio::sync::Notify;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::attempt::{self, Signals};
use crate::heartbeat::Heartbeat;
use crate::time_accounting::TimeAccounting;
use crate::shutdown::Shutdown;
use crate::upkeep::{self, Keep};
use crate::wake::{self, Ears, Running};
use crate::worker_context::WorkerContext;
use crate::{chore, programs};

/// The slowest a free slot notices a job, should the notification be lost; also how often the chores
/// for all are done.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// How long jobs have to come to a boundary when the worker leaves.
const DRAIN_PATIENCE: Duration = Duration::from_secs(30);
/// How long they have to say that they go when that is over.
const LEAVE_PATIENCE: Duration = Duration::from_secs(5);
/// The most that chores may take before the next claim; what is left of them is done a second later.
const CHORES_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a worker that leaves tries to say so.
const TELL_TIMEOUT: Duration = Duration::from_secs(5);
/// The pause after the database failed.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Lives until told to end. A worker that was declared dead ends its work and goes on under a new id.
pub(crate) async fn live(
    context: Arc<WorkerContext>,
    new: NewWorker,
    keep: Keep,
    shutdown: Shutdown,
) -> anyhow::Result<()> {
    let work = Arc::new(Notify::new());
    let running = Running::default();
    let mut beside = JoinSet::new();
    beside.spawn(shared::clock::keep(context.pool.clone()));
    beside.spawn(upkeep::run(context.clone(), keep));
    beside.spawn(wake::listen(
        context.pool.clone(),
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
        let db = Steady::of(&context.pool);
        let heartbeat = Heartbeat::start(db, worker, context.silence, dead.clone())?;
        tracing::info!(%worker, slots = new.slots, skills = new.skills.join(" "), "worker is ready");
        let life = Life {
            context: &context,
            worker,
            new: &new,
            db: Steady::of(&context.pool),
            work: &work,
            running: &running,
            accounting: TimeAccounting::default(),
            dead,
            shutdown: &shutdown,
            attempts: JoinSet::new(),
            may_be_ready: true,
            had_room: true,
        };
        let mut search = JoinSet::new();
        search.spawn(programs::search(
            context.clone(),
            worker,
            new.programs.clone(),
        ));
        life.live().await;
        search.shutdown().await;
        heartbeat.stop().await;
        // Or others will notice.
        let stopping = db::worker::stop(&context.pool, worker);
        tell(stopping, "cannot say that this worker has ended").await;
    }
    beside.shutdown().await;
    Ok(())
}

/// One life, under one id.
struct Life<'a> {
    context: &'a Arc<WorkerContext>,
    worker: WorkerId,
    new: &'a NewWorker,
    /// What it claims through.
    db: Steady,
    work: &'a Notify,
    running: &'a Running,
    accounting: TimeAccounting,
    dead: CancellationToken,
    shutdown: &'a Shutdown,
    /// Each says whether its end may let another job of its tenant begin.
    attempts: JoinSet<bool>,
    /// Whether there may be jobs to take that the last claim did not see or had no slot for.
    may_be_ready: bool,
    had_room: bool,
}

impl Life<'_> {
    async fn live(mut self) {
        let mut chores = interval(POLL_INTERVAL);
        chores.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let dead = self.dead.clone();
            match dead.run_until_cancelled(self.claim()).await {
                Some(Ok(())) => {}
                Some(Err(error)) => {
                    self.db.forget();
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
                // Before what may be ready all the time.
                _ = chores.tick() => {
                    self.do_chores().await;
                    self.may_be_ready = true;
                }
                Some(ended) = self.attempts.join_next() => self.note(ended),
                () = self.work.notified(), if !is_full => self.may_be_ready = true,
            }
        }
        self.dead.cancel();
        while self.attempts.join_next().await.is_some() {}
        tell(self.charge(), "cannot charge tenants").await;
    }

    /// Claims for the free slots and begins what it got, until there is no more to take. Who drains would take what it
    /// has just handed back.
    async fn claim(&mut self) -> db::Result<()> {
        while !self.shutdown.drain.is_cancelled() && self.claim_once().await? {}
        Ok(())
    }

    /// Returns whether there may be more at once.
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

    /// Begins an attempt.
    fn begin(&mut self, claimed: Claimed, makes_room: bool) {
        let signals = Signals {
            cancel: CancellationToken::new(),
            lost: self.dead.child_token(),
            drain: self.shutdown.drain.clone(),
            leave: self.shutdown.leave.clone(),
            has_tenant_budget: Arc::new(AtomicBool::new(claimed.has_tenant_budget)),
        };
        if claimed.cancel_requested {
            signals.cancel.cancel();
        }
        let ears = Ears {
            cancel: signals.cancel.clone(),
            has_tenant_budget: signals.has_tenant_budget.clone(),
        };
        let guards = (
            self.running.enter(claimed.lease, ears),
            self.accounting
                .begin(claimed.lease, claimed.tenant, claimed.prepaid),
        );
        let attempt = attempt::run(self.context.clone(), self.worker, claimed, signals);
        // An `async` block would have room for the attempt twice.
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
            self.running.enter(lease, Ears::default()),
            self.accounting
                .begin(lease, unreadable.tenant, unreadable.prepaid),
        );
        self.attempts.spawn(async move {
            attempt::hand_back(&context, unreadable, lost).await;
            drop(guards);
            makes_room
        });
    }

    fn note(&mut self, ended: Result<bool, JoinError>) {
        match ended {
            Ok(makes_room) => self.may_be_ready |= makes_room,
            Err(error) => tracing::error!(
                error = &error as &dyn std::error::Error,
                "an attempt panicked"
            ),
        }
    }

    /// Whether the disk has room for more jobs. The log says so when that changes.
    fn has_room(&mut self) -> bool {
        let has_room = self.context.workspaces.has_room();
        if std::mem::replace(&mut self.had_room, has_room) != has_room {
            if has_room {
                tracing::info!("there is room on the disk again");
            } else {
                tracing::error!("the disk is nearly full: no more jobs until there is room");
            }
        }
        has_room
    }

    /// Charges tenants for the time that their jobs took since it was last called.
    async fn charge(&self) -> db::Result<()> {
        let charges = self.accounting.charges(Instant::now());
        if !charges.is_empty() {
            db::lane::charge(&self.context.pool, &charges).await?;
        }
        Ok(())
    }

    /// Whoever tells the worker to end need not wait for them.
    async fn do_chores(&self) {
        let done = async {
            self.charge().await?;
            let held = db::run::list_held(&self.context.pool, self.worker).await?;
            held.iter().for_each(|run| self.running.tell(run));
            // Claimed by a statement whose answer never came, or left by an attempt that panicked.
            let held = held.iter().map(|run| run.lease);
            let lost = held.filter(|lease| !self.running.knows(*lease));
            let lost: Vec<_> = lost.map(|lease| lease.job).collect();
            if chore::do_all(self.context, self.worker, &lost).await? {
                db::run::notify_work(&self.context.pool).await?;
            }
            Ok::<_, db::Error>(())
        };
        let done = timeout(CHORES_TIMEOUT, done);
        tokio::select! {
            () = self.dead.cancelled() => {}
            () = self.shutdown.drain.cancelled() => {}
            done = done => match done {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(error, "cannot do the chores");
                }
                Err(_) => tracing::warn!("the chores took too long"),
            },
        }
    }

    /// Lets jobs come to a boundary, for a while, then makes them go.
    async fn drain(&mut self) {
        tracing::info!(jobs = self.attempts.len(), "leaving");
        let draining = db::worker::drain(&self.context.pool, self.worker);
        tell(draining, "cannot say that this worker leaves").await;
        let all_ended = async { while self.attempts.join_next().await.is_some() {} };
        tokio::select! {
            () = all_ended => return,
            () = sleep(DRAIN_PATIENCE) => {}
            () = self.shutdown.leave.cancelled() => {}
        }
        self.shutdown.leave.cancel();
        let all_ended = async { while self.attempts.join_next().await.is_some() {} };
        if timeout(LEAVE_PATIENCE, all_ended).await.is_err() {
            tracing::warn!(
                jobs = self.attempts.len(),
                "left jobs behind; others take them over"
            );
        }
    }
}

/// Tells the database something that it can do without: whoever leaves does not wait long for it.
async fn tell(telling: impl Future<Output = db::Result<()>>, failure: &'static str) {
    match timeout(TELL_TIMEOUT, telling).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            tracing::warn!(error = &error as &dyn std::error::Error, "{failure}");
        }
        Err(_) => tracing::warn!("{failure}: no answer"),
    }
}

/// Whether it was claimed in turn with jobs of other tenants, or under a cap. A tenant that is alone and has none gets
/// all that it can at once, and is charged nothing in advance.
fn takes_turns(claim: &Claim) -> bool {
    let prepaid = match claim {
        Ok(claimed) => claimed.prepaid,
        Err(unreadable) => unreadable.prepaid,
    };
    prepaid > 0.0
}
