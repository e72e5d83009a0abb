//! An account at a provider: its quota, and the slices of it that this worker leases.

mod health;

use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use shared::db::provider::{QuotaDemand, QuotaLease};
use shared::db::{self, Pool};
use shared::id::WorkerId;
use shared::message::Tokens;
use shared::provider::{AccountLimits, Provider, ProviderKind};
use tokio::sync::{Mutex as FairMutex, Notify};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use worker_model::ModelError;

use super::schedule::{CallSchedule, LeasedStart};
use crate::telemetry::ProviderMeters;
pub(super) use health::AccountHealth;

/// The time before the next free start at which a worker asks again, so that the schedule never runs dry.
const ASK_AHEAD: Duration = Duration::from_secs(1);
/// The maximum random delay before a worker asks again, so that waiting workers ask one after another.
const ASK_JITTER: Duration = Duration::from_millis(250);
/// The interval at which a worker asks again while other workers use all calls of the account.
const CONCURRENCY_INTERVAL: Duration = Duration::from_millis(500);
/// The pause after a failure of the database.
const DATABASE_PAUSE: Duration = Duration::from_millis(500);

/// An account at a provider.
pub(crate) struct ProviderAccount {
    pub(super) health: AccountHealth,
    kind: ProviderKind,
    limits: AccountLimits,
    lessee: WorkerId,
    known: Mutex<KnownQuota>,
    /// The leased starts. Calls wait for a start in their order of arrival.
    schedule: FairMutex<CallSchedule>,
    waiting: AtomicI32,
    running: AtomicI32,
    /// Notified when a call has ended.
    ended: Notify,
}

/// The quota as this worker knows it.
#[derive(Clone, Copy, Default)]
struct KnownQuota {
    /// The number of calls that this worker may have in progress, or `None` before the first lease.
    may_run: Option<i32>,
    /// The next start that is not leased.
    next_start: Option<Instant>,
    /// The number of tokens that calls used beyond their leases.
    correction: f64,
}

/// A call that may be made. It is in progress until it is dropped.
pub(super) struct AdmittedCall<'a> {
    account: &'a ProviderAccount,
    /// The tokens that are leased for the call.
    tokens: f64,
}

/// A call that waits for its start, until it is dropped.
struct WaitingCall<'a>(&'a AtomicI32);

impl ProviderAccount {
    pub(super) fn new(
        id: String,
        provider: String,
        settings: &Provider,
        pool: Pool,
        lessee: WorkerId,
        meters: ProviderMeters,
    ) -> Self {
        Self {
            health: AccountHealth::new(id, provider, pool, meters),
            kind: settings.kind,
            limits: settings.limits(),
            lessee,
            known: Mutex::default(),
            schedule: FairMutex::default(),
            waiting: AtomicI32::new(0),
            running: AtomicI32::new(0),
            ended: Notify::new(),
        }
    }

    /// Waits until a call of about `tokens` tokens may be made. Fails without asking the provider if the circuit is
    /// open, or if the provider has requested a pause that is longer than `patience`.
    pub(super) async fn admit(
        &self,
        tokens: f64,
        patience: Duration,
    ) -> Result<AdmittedCall<'_>, ModelError> {
        loop {
            self.health.wait_until_asked(patience).await?;
            let waiting = WaitingCall::begin(&self.waiting);
            let mut schedule = self.schedule.lock().await;
            if self.health.begin_call().await? {
                schedule.clear();
                continue;
            }
            if self.limits.is_none() {
                return Ok(AdmittedCall::begin(self, tokens));
            }
            let start = self.next_start(&mut schedule, tokens, patience).await?;
            let call = AdmittedCall::begin(self, tokens);
            drop((schedule, waiting));
            sleep_until(start.at).await;
            // The provider may have requested a pause in the meantime. Then this start is lost.
            if self.health.pause().is_zero() {
                return Ok(call);
            }
        }
    }

    /// Returns the approximate time until the calls that wait now may start, if it is known.
    pub(super) fn expected_wait(&self) -> Option<Duration> {
        let step = self.limits.seconds_per_request().unwrap_or_default();
        let queue = step * f64::from(self.waiting.load(Ordering::Relaxed));
        let next = self.known().next_start;
        let next = next.map(|next| next.saturating_duration_since(Instant::now()));
        let pause = Some(self.health.pause()).filter(|pause| !pause.is_zero());
        Some(next.max(pause)? + Duration::from_secs_f64(queue))
    }

    /// Waits for the next leased start. The caller holds the lock of the schedule, so it is first in line.
    async fn next_start(
        &self,
        schedule: &mut CallSchedule,
        tokens: f64,
        patience: Duration,
    ) -> Result<LeasedStart, ModelError> {
        let mut is_full = false;
        loop {
            if self.has_room()
                && let Some(start) = schedule.take(Instant::now())
            {
                self.correct(tokens - start.cost);
                return Ok(start);
            }
            let Some(lease) = self.lease(schedule, tokens, is_full).await else {
                sleep(DATABASE_PAUSE).await;
                continue;
            };
            is_full = !self.has_room();
            if is_full {
                // Waits until a call of this worker ends, or another worker may have released one.
                let _ = timeout(CONCURRENCY_INTERVAL, self.ended.notified()).await;
            } else if lease.starts.is_empty() {
                self.health.check_pause(patience)?;
                let jitter = ASK_JITTER.mul_f64(rand::random());
                sleep(lease.next_start.saturating_sub(ASK_AHEAD) + jitter).await;
            }
        }
    }

    /// Leases starts for the calls that wait, and for calls that may follow. Leases none while all calls of the
    /// account are in progress. Returns `None` if the database failed.
    async fn lease(
        &self,
        schedule: &mut CallSchedule,
        tokens: f64,
        is_full: bool,
    ) -> Option<QuotaLease> {
        let waiting = self.waiting.load(Ordering::Relaxed).max(1);
        let calls = if is_full {
            0
        } else {
            waiting.unsigned_abs() as usize + schedule.ahead(Instant::now())
        };
        let lease = self.lease_for(vec![tokens; calls], waiting).await?;
        let now = Instant::now();
        for start in &lease.starts {
            schedule.add(LeasedStart {
                at: now + *start,
                cost: tokens,
            });
        }
        Some(lease)
    }

    async fn lease_for(&self, costs: Vec<f64>, waiting: i32) -> Option<QuotaLease> {
        let AccountHealth { id, pool, .. } = &self.health;
        let demand = QuotaDemand {
            costs,
            correction: std::mem::take(&mut self.known().correction),
            running: self.running.load(Ordering::Relaxed),
            waiting,
        };
        match db::provider::lease_quota(pool, id, self.lessee, &self.limits, &demand).await {
            Ok(lease) => {
                self.health.meters.leased(&self.health.provider);
                let mut known = self.known();
                known.may_run = lease.may_run;
                known.next_start = Some(Instant::now() + lease.next_start);
                Some(lease)
            }
            Err(error) => {
                self.known().correction += demand.correction;
                let what = "the quota of a provider could not be leased";
                self.health.warn(&error, what);
                // The account is lost if the database has crashed. Reading its state creates it again.
                self.health.forget();
                self.health.refresh().await;
                None
            }
        }
    }

    /// Renews the slice of the calls in progress, if their number is limited.
    pub(super) async fn renew(&self) {
        let waiting = self.waiting.load(Ordering::Relaxed);
        let running = self.running.load(Ordering::Relaxed);
        let has_slice = self.known().may_run.is_some_and(|most| most > 0);
        if self.limits.max_concurrent.is_some() && (waiting + running > 0 || has_slice) {
            self.lease_for(Vec::new(), waiting).await;
        }
    }

    fn has_room(&self) -> bool {
        let may_run = self.known().may_run;
        self.limits.max_concurrent.is_none()
            || may_run.is_some_and(|most| self.running.load(Ordering::Relaxed) < most)
    }

    /// Records the tokens that were used beyond the lease. The number is negative if fewer were used.
    fn correct(&self, tokens: f64) {
        if self.limits.tokens_per_minute.is_some() {
            self.known().correction += tokens;
        }
    }

    fn known(&self) -> MutexGuard<'_, KnownQuota> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a> AdmittedCall<'a> {
    fn begin(account: &'a ProviderAccount, tokens: f64) -> Self {
        account.running.fetch_add(1, Ordering::Relaxed);
        Self { account, tokens }
    }

    /// Replaces the estimated tokens of the call with its usage.
    pub(super) fn settle(&self, used: &Tokens) {
        if !used.is_counted() {
            return;
        }
        // Anthropic does not count tokens that it reads from its cache.
        let uncounted = match self.account.kind {
            ProviderKind::Anthropic => used.cache_read_tokens,
            ProviderKind::Openai => 0,
        };
        let used = used.total().saturating_sub(uncounted) as f64;
        self.account.correct(used - self.tokens);
    }
}

impl Drop for AdmittedCall<'_> {
    fn drop(&mut self) {
        self.account.running.fetch_sub(1, Ordering::Relaxed);
        self.account.ended.notify_one();
    }
}

impl<'a> WaitingCall<'a> {
    fn begin(waiting: &'a AtomicI32) -> Self {
        waiting.fetch_add(1, Ordering::Relaxed);
        Self(waiting)
    }
}

impl Drop for WaitingCall<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
