//! Limits on the jobs that a tenant can submit.

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The submit limits of a tenant. Null means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SubmitLimits {
    /// The maximum number of unfinished jobs, running or not.
    #[schema(required)]
    pub max_queued: Option<u32>,
    /// The rate limit.
    #[schema(required)]
    pub submit_rate: Option<SubmitRate>,
}

/// A rate limit: up to `burst` jobs at once, and `per_minute` on average.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SubmitRate {
    /// The number of jobs per minute.
    pub per_minute: u32,
    /// The maximum number of jobs at once.
    pub burst: u32,
}

impl SubmitRate {
    /// The time in which the rate admits this many jobs.
    fn time_of(self, jobs: u32) -> TimeDelta {
        TimeDelta::nanoseconds(60_000_000_000 * i64::from(jobs) / i64::from(self.per_minute))
    }

    /// Takes `jobs` from the rate. Returns the time at which a whole burst is available again, or the time that the
    /// jobs must wait. `burst_full_at` is the result of the previous call.
    ///
    /// More than `burst` jobs are never accepted at once.
    pub(crate) fn take(
        self,
        burst_full_at: DateTime<Utc>,
        now: DateTime<Utc>,
        jobs: u32,
    ) -> Result<DateTime<Utc>, TimeDelta> {
        let burst_full_at = burst_full_at.max(now) + self.time_of(jobs);
        let wait = burst_full_at - now - self.time_of(self.burst);
        if wait > TimeDelta::zero() {
            return Err(wait);
        }
        Ok(burst_full_at)
    }
}

/// The state of a tenant's rate limit right after jobs were accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateState {
    /// The rate limit.
    pub rate: SubmitRate,
    /// The time at which a whole burst is available again.
    pub full_at: DateTime<Utc>,
    /// The time of the response.
    pub now: DateTime<Utc>,
}

impl RateState {
    /// The number of jobs that can be submitted now.
    fn remaining(self) -> i64 {
        let free = self.rate.time_of(self.rate.burst) - (self.full_at - self.now);
        let of_one = self.rate.time_of(1).num_microseconds().unwrap_or(1).max(1);
        (free.num_microseconds().unwrap_or(0) / of_one).max(0)
    }

    /// The `RateLimit-Policy` header: the quota, and the seconds in which it is renewed.
    pub fn policy(self) -> String {
        let window = seconds(self.rate.time_of(self.rate.burst));
        format!("\"submit\";q={};w={window}", self.rate.burst)
    }

    /// The `RateLimit` header: the rest of the quota, and the seconds until the quota is full.
    pub fn limit(self) -> String {
        let reset = seconds(self.full_at - self.now);
        format!("\"submit\";r={};t={reset}", self.remaining())
    }
}

/// Rounds a time up to whole seconds.
fn seconds(time: TimeDelta) -> i64 {
    let time = time.max(TimeDelta::zero());
    time.num_seconds() + i64::from(time.subsec_nanos() > 0)
}

/// The reason why jobs are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubmitRefusal {
    /// The jobs exceed the rate. They can be accepted after this time, if no other jobs are submitted before.
    TooFast(TimeDelta),
    /// The tenant has too many unfinished jobs. They are not counted again before this time has passed.
    TooMany(TimeDelta),
    /// The request has more jobs than can ever be accepted at once.
    Never {
        /// The maximum number of jobs.
        most: u32,
    },
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: DateTime<Utc> = DateTime::UNIX_EPOCH;

    #[test]
    fn a_burst_may_come_at_once_and_then_one_after_the_other() {
        let rate = SubmitRate {
            per_minute: 120,
            burst: 3,
        };
        let burst_full_at = rate.take(NOW, NOW, 3).unwrap();
        assert_eq!(burst_full_at - NOW, TimeDelta::milliseconds(1500));
        let wait = TimeDelta::milliseconds(500);
        assert_eq!(rate.take(burst_full_at, NOW, 1), Err(wait));
        assert_eq!(rate.take(burst_full_at, NOW, 3), Err(wait * 3));
        assert!(rate.take(burst_full_at, NOW + wait, 2).is_err());
        assert_eq!(
            rate.take(burst_full_at, NOW + wait, 1),
            Ok(burst_full_at + wait)
        );
    }

    #[test]
    fn headers_say_what_remains() {
        let rate = SubmitRate {
            per_minute: 60,
            burst: 20,
        };
        let full_at = rate.take(NOW, NOW, 5).unwrap();
        let state = RateState {
            rate,
            full_at,
            now: NOW,
        };
        assert_eq!(state.policy(), "\"submit\";q=20;w=20");
        assert_eq!(state.limit(), "\"submit\";r=15;t=5");
    }

    proptest! {
        #[test]
        fn who_waits_as_long_as_told_gets_in_and_not_a_moment_earlier(
            per_minute in 1u32..1_000_000, burst in 1u32..10_000, taken in 0u32..10_000, jobs in 1u32..10_000,
        ) {
            let (rate, taken, jobs) = (SubmitRate { per_minute, burst }, taken.min(burst), jobs.min(burst));
            let burst_full_at = rate.take(NOW, NOW, taken).unwrap();
            if let Err(wait) = rate.take(burst_full_at, NOW, jobs) {
                prop_assert!(rate.take(burst_full_at, NOW + wait, jobs).is_ok());
                prop_assert!(rate.take(burst_full_at, NOW + wait - TimeDelta::nanoseconds(1), jobs).is_err());
            }
        }

        #[test]
        fn no_more_come_in_a_span_of_time_than_the_burst_and_its_share_of_the_minutes(
            per_minute in 1u32..6_000, burst in 1u32..100, tries in prop::collection::vec((0i64..2_000, 1u32..20), 1..200),
        ) {
            let rate = SubmitRate { per_minute, burst };
            let (mut now, mut burst_full_at, mut came) = (NOW, NOW, 0u32);
            for (pause, jobs) in tries {
                now += TimeDelta::milliseconds(pause);
                if let Ok(later) = rate.take(burst_full_at, now, jobs) {
                    (burst_full_at, came) = (later, came + jobs);
                }
                let minutes = (now - NOW).num_milliseconds() as f64 / 60_000.0;
                prop_assert!(f64::from(came) <= f64::from(burst) + f64::from(per_minute) * minutes + 1e-3);
            }
        }
    }
}
