//! Reservations in the budget of a tenant, which its jobs on all workers share.

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

/// The time that a call waits for other calls to release their reservations. After that, the call uses
/// what is left, or is not made.
const TIMEOUT: Duration = Duration::from_secs(20);
/// The pause between two tries to reserve.
const PAUSE: Duration = Duration::from_millis(100);

/// The reservations of an attempt in the budget of its tenant.
pub(crate) struct TenantReservations<'a> {
    pool: &'a Pool,
    id: TenantId,
    lease: Lease,
}

impl<'a> TenantReservations<'a> {
    pub(crate) fn of(claimed: &Claimed, pool: &'a Pool) -> Self {
        Self {
            pool,
            id: claimed.tenant,
            lease: claimed.lease,
        }
    }

    /// Reserves the maximum usage of a call, with its own cap or the highest cap that fits. Returns the cap and the
    /// reservation, or `None` if no cap fits.
    pub(super) async fn reserve_fitting(
        &self,
        call: &PlannedCall,
        urgency: Urgency,
    ) -> db::Result<Option<(u32, ReservationId)>> {
        if let Some(reservation_id) = self.reserve(call.reservation()).await? {
            return Ok(Some((call.cap, reservation_id)));
        }
        let until = match urgency {
            Urgency::Required => Instant::now() + TIMEOUT,
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

    /// Reserves exactly the given amount. Returns `None` if less is left.
    pub(super) async fn reserve(
        &self,
        reservation: Reservation,
    ) -> db::Result<Option<ReservationId>> {
        db::budget::reserve(self.pool, self.id, self.lease, reservation).await
    }

    /// Releases the unused part of a reservation. With `None`, all of it counts as used. If the release fails, all of
    /// it counts as used when the attempt is over.
    pub(super) async fn give_back(&self, id: ReservationId, used: Option<&Tokens>) {
        if let Err(error) = db::budget::settle(self.pool, id, used).await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(job = %self.lease.job, error, "could not release a budget reservation");
        }
    }
}
