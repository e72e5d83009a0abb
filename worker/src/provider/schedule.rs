//! The leased starts of calls.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// The maximum lateness of a start. Beyond it, the start counts as used, because the time since
/// then belongs to other calls.
const LATENESS: Duration = Duration::from_secs(1);
/// The maximum number of starts that are leased ahead, for calls that do not wait yet.
const MAX_AHEAD: usize = 100;

/// The leased starts of calls, in their order.
#[derive(Default)]
pub(super) struct CallSchedule {
    starts: VecDeque<LeasedStart>,
    /// The starts of the calls in the last second.
    recent: VecDeque<Instant>,
}

/// A leased start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LeasedStart {
    pub(super) at: Instant,
    /// The tokens that were leased with the start.
    pub(super) cost: f64,
}

impl CallSchedule {
    pub(super) fn add(&mut self, start: LeasedStart) {
        self.starts.push_back(start);
    }

    /// Takes the next start, and records the call.
    pub(super) fn take(&mut self, now: Instant) -> Option<LeasedStart> {
        while let Some(start) = self.starts.pop_front() {
            if start.at + LATENESS >= now {
                self.recent.push_back(start.at.max(now));
                return Some(start);
            }
        }
        None
    }

    /// Discards all starts, because the provider has requested a pause.
    pub(super) fn clear(&mut self) {
        self.starts.clear();
    }

    /// Returns the number of starts to lease ahead, so that a busy worker asks once for the calls of a second.
    pub(super) fn ahead(&mut self, now: Instant) -> usize {
        while let Some(first) = self.recent.front()
            && *first + Duration::from_secs(1) < now
        {
            self.recent.pop_front();
        }
        // Occasional calls need no starts ahead.
        self.recent.len().saturating_sub(1).min(MAX_AHEAD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_used_in_order_and_not_too_late() {
        let now = Instant::now() + Duration::from_secs(100);
        let start = |seconds: f64| LeasedStart {
            at: now + Duration::from_secs_f64(10.0 + seconds) - Duration::from_secs(10),
            cost: 1.0,
        };
        let mut schedule = CallSchedule::default();
        let late = LeasedStart {
            at: now - Duration::from_secs(2),
            cost: 1.0,
        };
        for start in [late, start(0.0), start(0.5)] {
            schedule.add(start);
        }
        assert_eq!(schedule.take(now), Some(start(0.0)));
        assert_eq!(schedule.take(now), Some(start(0.5)));
        assert_eq!(schedule.take(now), None);
    }

    #[test]
    fn only_a_busy_worker_leases_ahead() {
        let now = Instant::now();
        let mut schedule = CallSchedule::default();
        assert_eq!(schedule.ahead(now), 0);
        for _ in 0..10 {
            schedule.add(LeasedStart { at: now, cost: 1.0 });
            schedule.take(now);
        }
        assert_eq!(schedule.ahead(now), 9);
        assert_eq!(schedule.ahead(now + Duration::from_secs(2)), 0);
    }
}
