//! What tenants owe for the time of this worker. It is charged once a second, for jobs under way as for those that have
//! ended; if the worker dies, the last second is nobody's.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use shared::db::lane::remembered;
use shared::db::log::Lease;
use shared::id::TenantId;

/// The accounts of the tenants whose jobs run here.
#[derive(Clone, Default)]
pub(crate) struct Ledger {
    accounts: Arc<Mutex<Accounts>>,
}

#[derive(Default)]
struct Accounts {
    meters: HashMap<Lease, Meter>,
    owed: HashMap<TenantId, f64>,
}

struct Meter {
    tenant: TenantId,
    /// From where on nothing is charged yet.
    since: Instant,
    /// What the claim charged in advance. It is given back with the first bill, which has the true amount.
    prepaid: f64,
}

impl Ledger {
    /// Begins to count for an attempt; it ends when the guard goes.
    pub(crate) fn begin(&self, lease: Lease, tenant: TenantId, prepaid: f64) -> MeterGuard {
        let meter = Meter {
            tenant,
            since: Instant::now(),
            prepaid,
        };
        self.lock().meters.insert(lease, meter);
        MeterGuard {
            ledger: self.clone(),
            lease,
        }
    }

    /// What is owed since the last bill, by tenant.
    pub(crate) fn bill(&self, now: Instant) -> Vec<(TenantId, f64)> {
        let mut accounts = self.lock();
        let Accounts { meters, owed } = &mut *accounts;
        for meter in meters.values_mut() {
            *owed.entry(meter.tenant).or_default() += meter.read(now);
        }
        owed.drain().collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Accounts> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Meter {
    /// The seconds since it was last read, less what was paid for them.
    fn read(&mut self, now: Instant) -> f64 {
        let used = now.saturating_duration_since(self.since);
        self.since = now;
        used.as_secs_f64() - remembered(std::mem::take(&mut self.prepaid), used)
    }
}

/// Ends the count when dropped.
pub(crate) struct MeterGuard {
    ledger: Ledger,
    lease: Lease,
}

impl Drop for MeterGuard {
    fn drop(&mut self) {
        let mut accounts = self.ledger.lock();
        if let Some(mut meter) = accounts.meters.remove(&self.lease) {
            *accounts.owed.entry(meter.tenant).or_default() += meter.read(Instant::now());
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
        let ledger = Ledger::default();
        let tenant = TenantId::new();
        let lease = Lease {
            job: JobId::new(),
            number: 1,
        };
        let guard = ledger.begin(lease, tenant, 1.0);
        let begun_at = ledger.lock().meters.values().next().unwrap().since;
        let owed = |seconds| match ledger.bill(begun_at + Duration::from_secs(seconds))[..] {
            [(who, owed)] if who == tenant => owed,
            ref bill => panic!("{bill:?}"),
        };
        // What was paid in advance counts for as much as is left of it.
        let prepaid = (-0.05_f64).exp();
        assert!((owed(3) - (3.0 - prepaid)).abs() < 1e-9);
        assert!((owed(5) - 2.0).abs() < 1e-9);
        drop(guard);
        // The clock of the test runs ahead of the true one, at which it ended.
        assert!(owed(9).abs() < 1e-9);
        assert_eq!(ledger.bill(Instant::now()), []);
    }

    #[test]
    fn two_attempts_at_a_job_are_both_paid_for() {
        let ledger = Ledger::default();
        let (job, tenant) = (JobId::new(), TenantId::new());
        let lease = |number| Lease { job, number };
        let first = ledger.begin(lease(1), tenant, 0.0);
        let _second = ledger.begin(lease(3), tenant, 0.0);
        drop(first);
        let hour = Instant::now() + Duration::from_secs(3600);
        let [(_, owed)] = ledger.bill(hour)[..] else {
            panic!("one tenant")
        };
        assert!(owed >= 3600.0, "{owed}");
    }
}
