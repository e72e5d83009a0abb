//! The database's clock during an attempt: read once at the claim, then advanced by this machine's monotonic clock.

use std::time::Instant;

use chrono::{DateTime, SubsecRound, Utc};

/// The database's clock during an attempt.
pub(super) struct AttemptClock {
    claimed_at: DateTime<Utc>,
    /// The start of the attempt on this machine's monotonic clock.
    pub(super) begun_at: Instant,
}

impl AttemptClock {
    /// Starts the clock of an attempt that was claimed at `claimed_at`.
    pub(super) fn start(claimed_at: DateTime<Utc>) -> Self {
        Self {
            claimed_at,
            begun_at: Instant::now(),
        }
    }

    pub(super) fn now(&self) -> DateTime<Utc> {
        // Truncated to the precision of the database, so that the log and the job agree.
        (self.claimed_at + self.begun_at.elapsed()).trunc_subsecs(6)
    }
}
