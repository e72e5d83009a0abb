//! The database's clock during an attempt: read once at the claim, then advanced by this machine's monotonic clock.

use std::time::Instant;

use chrono::{DateTime, SubsecRound, Utc};

/// The database's clock during an attempt.
pub(super) struct AttemptClock {
    claimed_at: DateTime<Utc>,
    /// The begin of the attempt, by this machine's monotonic clock.
    pub(super) begun_at: Instant,
}

impl AttemptClock {
    /// Starts the clock of an attempt that was claimed at that time.
    pub(super) fn start(claimed_at: DateTime<Utc>) -> Self {
        Self {
            claimed_at,
            begun_at: Instant::now(),
        }
    }

    pub(super) fn now(&self) -> DateTime<Utc> {
        // As precise as the database stores it, so that the log and the job agree.
        (self.claimed_at + self.begun_at.elapsed()).trunc_subsecs(6)
    }
}
