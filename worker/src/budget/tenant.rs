//! The tenant's part of a budget, which all its jobs share, on whichever worker they are.

use std::time::Duration;

use shared::db::budget::ReservationId;
use shared::db::claim::Claimed;
use shared::db::log::Lease;
use shared::db::{self, Pool};
use shared::id::TenantId;
use shared::job::Reservation;
use shared::message::Tokens;
use tokio::time::{Instant, sleep};

use super::fit::PlannedCall;
use crate::question::Urgency;

/// How long a call waits for what others have reserved and may give back. After that it does with what is left, or
/// is not made.
const PATIENCE: Duration = Duration::from_secs(20);
/// The pause before it looks again.
const PAUSE: Duration = Duration::from_millis(100);

/// The tenant of a job, who has a budget.
pub(crate) struct Tenant<'a> {
    pool: &'a Pool,
    id: TenantId,
    lease: Lease,
}

impl<'a> Tenant<'a> {
    pub(crate) fn of(claimed: &Claimed, pool: &'a Pool) -> Self {
        Self {
            pool,
            id: claimed.tenant,
            lease: claimed.lease,
        }
    }

    /// Takes what a call may use up, with its own cap or the highest that fits, and says which that was;
    /// `None` if none does.
    pub(super) async fn reserve_fitting(
        &self,
        call: &PlannedCall,
        urgency: Urgency,
    ) -> db::Result<Option<(u32, ReservationId)>> {
        if let Some(reservation_id) = self.reserve(call.reservation()).await? {
            return Ok(Some((call.cap, reservation_id)));
        }
        let until = match urgency {
            Urgency::Required => Instant::now() + PATIENCE,
            Urgency::Optional => Instant::now(),
        };
        loop {
            let Some(budget) = db::budget::get(self.pool, self.id).await? else {
                return Ok(None);
            };
            let Some(most) = call.fits(budget.unspent(), urgency) else {
                return Ok(None);
            };
            let is_patient = Instant::now() < until;
            let now = call.fits(budget.free(), urgency);
            let cap = if is_patient { Some(most) } else { now };
            let Some(cap) = cap else { return Ok(None) };
            let reservation = call.capped(cap).reservation();
            if let Some(reservation_id) = self.reserve(reservation).await? {
                return Ok(Some((cap, reservation_id)));
            }
            if !is_patient {
                return Ok(None);
            }
            sleep(PAUSE).await;
        }
    }

    /// Takes just that; `None` if there is not so much.
    pub(super) async fn reserve(
        &self,
        reservation: Reservation,
    ) -> db::Result<Option<ReservationId>> {
        db::budget::reserve(self.pool, self.id, self.lease, reservation).await
    }

    /// Gives back what was not used; with `None`, all of it was. If that fails, all counts as used when the
    /// attempt is over.
    pub(super) async fn give_back(&self, id: ReservationId, used: Option<&Tokens>) {
        if let Err(error) = db::budget::settle(self.pool, id, used).await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(job = %self.lease.job, error, "a reservation could not be given back");
        }
    }
}
