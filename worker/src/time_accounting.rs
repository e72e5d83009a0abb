//! The time of this worker that tenants are charged for. It is charged once per second, for running and ended jobs.
//! If the worker dies, the last second is not charged.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use shared::db::lane::decayed;
use shared::db::log::Lease;
use shared::id::TenantId;

/// The time of each tenant whose jobs run on this worker.
#[derive(Clone, Default)]
pub(crate) struct TimeAccounting {
    accounts: Arc<Mutex<TimeAccounts>>,
}

#[derive(Default)]
struct TimeAccounts {
    timers: HashMap<Lease, JobTimer>,
    owed: HashMap<TenantId, f64>,
}

struct JobTimer {
    tenant: TenantId,
    /// The start of the time that is not charged yet.
    since: Instant,
    /// The amount that the claim charged in advance. The first charge, which has the actual amount, returns it.
    prepaid: f64,
}

impl TimeAccounting {
    /// Starts the timer of an attempt, which stops when the guard is dropped.
    pub(crate) fn begin(&self, lease: Lease, tenant: TenantId, prepaid: f64) -> JobTimerGuard {
        let timer = JobTimer {
            tenant,
            since: Instant::now(),
            prepaid,
        };
        self.lock().timers.insert(lease, timer);
        JobTimerGuard {
            accounting: self.clone(),
            lease,
        }
    }

    /// Returns the charges since the last call, by tenant.
    pub(crate) fn charges(&self, now: Instant) -> Vec<(TenantId, f64)> {
        let mut accounts = self.lock();
        let TimeAccounts { timers, owed } = &mut *accounts;
        for timer in timers.values_mut() {
            *owed.entry(timer.tenant).or_default() += timer.read(now);
        }
        owed.drain().collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, TimeAccounts> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl JobTimer {
    /// Returns the seconds since the timer was last read, minus the rest of those charged in advance.
    fn read(&mut self, now: Instant) -> f64 {
        let used = now.saturating_duration_since(self.since);
        self.since = now;
        used.as_secs_f64() - decayed(std::mem::take(&mut self.prepaid), used)
    }
}

/// Stops the timer when dropped.
pub(crate) struct JobTimerGuard {
    accounting: TimeAccounting,
    lease: Lease,
}

impl Drop for JobTimerGuard {
    fn drop(&mut self) {
        let mut accounts = self.accounting.lock();
        if let Some(mut timer) = accounts.timers.remove(&self.lease) {
            *accounts.owed.entry(timer.tenant).or_default() += timer.read(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use shared::id::JobId;

    use super::*;

    #[test]
    fn a_tenant_pays_for_the_time_that_its_jobs_took_and_no_more() {
        let accounting = TimeAccounting::default();
        let tenant = TenantId::new();
        let lease = Lease {
            job: JobId::new(),
            number: 1,
        };
        let guard = accounting.begin(lease, tenant, 1.0);
        let begun_at = accounting.lock().timers.values().next().unwrap().since;
        let owed = |seconds| match accounting.charges(begun_at + Duration::from_secs(seconds))[..] {
            [(who, owed)] if who == tenant => owed,
            ref charges => panic!("{charges:?}"),
        };
        // A prepaid amount decays over time. Only its rest is returned.
        let prepaid = (-0.05_f64).exp();
        assert!((owed(3) - (3.0 - prepaid)).abs() < 1e-9);
        assert!((owed(5) - 2.0).abs() < 1e-9);
        drop(guard);
        // The clock of the test is ahead of the real clock, which determined the end.
        assert!(owed(9).abs() < 1e-9);
        assert_eq!(accounting.charges(Instant::now()), []);
    }

    #[test]
    fn two_attempts_at_a_job_are_both_paid_for() {
        let accounting = TimeAccounting::default();
        let (job, tenant) = (JobId::new(), TenantId::new());
        let lease = |number| Lease { job, number };
        let first = accounting.begin(lease(1), tenant, 0.0);
        let _second = accounting.begin(lease(3), tenant, 0.0);
        drop(first);
        let hour = Instant::now() + Duration::from_secs(3600);
        let [(_, owed)] = accounting.charges(hour)[..] else {
            panic!("one tenant")
        };
        assert!(owed >= 3600.0, "{owed}");
    }
}
