//! Positions of the open logs of this process.

use std::collections::HashMap;

use shared::db::log::Lease;
use shared::id::JobId;
use tokio_util::sync::CancellationToken;

/// The position of a job's log.
pub(super) struct LogPosition {
    pub(super) last_seq: i64,
    pub(super) attempt: i32,
    /// Whether the job had a follower when its log was last written.
    pub(super) is_followed: bool,
    /// Cancelled when the lease turns out to be lost.
    pub(super) lost: CancellationToken,
}

/// The open logs, at most one per job. Of two leases of a job, only the newer one can be valid.
#[derive(Default)]
pub(super) struct LogPositions {
    by_job: HashMap<JobId, (Lease, LogPosition)>,
}

impl LogPositions {
    /// Opens a log. Of two leases of the same job, the log of the older one is closed, and that lease is lost.
    pub(super) fn open(&mut self, lease: Lease, position: LogPosition) {
        let superseded = match self.by_job.get(&lease.job) {
            Some((other, _)) if other.number > lease.number => Some(position),
            _ => {
                let before = self.by_job.insert(lease.job, (lease, position));
                before.map(|(_, position)| position)
            }
        };
        if let Some(superseded) = superseded {
            superseded.lost.cancel();
        }
    }

    /// Returns the position of the log under the lease, or `None` if it is not open.
    pub(super) fn get(&self, lease: Lease) -> Option<&LogPosition> {
        let (open, position) = self.by_job.get(&lease.job)?;
        (*open == lease).then_some(position)
    }

    /// Advances a position by the number of written events.
    pub(super) fn advance(&mut self, lease: Lease, events: usize) {
        if let Some((open, position)) = self.by_job.get_mut(&lease.job)
            && *open == lease
        {
            position.last_seq += events as i64;
        }
    }

    /// Sets whether the job has a follower.
    pub(super) fn set_followed(&mut self, lease: Lease, is_followed: bool) {
        if let Some((open, position)) = self.by_job.get_mut(&lease.job)
            && *open == lease
        {
            position.is_followed = is_followed;
        }
    }

    /// Whether the job had a follower when its log was last written.
    pub(super) fn is_followed(&self, lease: Lease) -> bool {
        self.get(lease).is_some_and(|position| position.is_followed)
    }

    /// Closes a log whose lease has ended.
    pub(super) fn close(&mut self, lease: Lease) {
        if self.get(lease).is_some() {
            self.by_job.remove(&lease.job);
        }
    }

    /// Closes a log whose lease is lost, and cancels its token.
    pub(super) fn lose(&mut self, lease: Lease) {
        if let Some(position) = self.get(lease) {
            position.lost.cancel();
        }
        self.close(lease);
    }

    /// Whether nothing can be written under the lease any more.
    pub(super) fn is_lost(&self, lease: Lease) -> bool {
        self.get(lease)
            .is_none_or(|position| position.lost.is_cancelled())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_leases_of_a_job_only_the_newer_has_an_open_log() {
        let job = JobId::new();
        let lease = |number| Lease { job, number };
        let lost = [1, 3, 2].map(|number| (lease(number), CancellationToken::new()));
        let mut positions = LogPositions::default();
        for (lease, lost) in &lost {
            let position = LogPosition {
                last_seq: lease.number * 10,
                attempt: 1,
                is_followed: false,
                lost: lost.clone(),
            };
            positions.open(*lease, position);
        }
        for (lease, lost) in &lost {
            let is_newest = lease.number == 3;
            assert_eq!(lost.is_cancelled(), !is_newest, "{lease:?}");
            assert_eq!(positions.get(*lease).is_some(), is_newest, "{lease:?}");
            assert_eq!(positions.is_lost(*lease), !is_newest, "{lease:?}");
        }

        // Late calls for the other leases change nothing.
        positions.advance(lease(1), 5);
        positions.lose(lease(1));
        positions.close(lease(2));
        positions.advance(lease(3), 5);
        assert_eq!(positions.get(lease(3)).unwrap().last_seq, 35);
        positions.close(lease(3));
        assert!(positions.get(lease(3)).is_none());
        assert!(!lost[1].1.is_cancelled());
    }
}
