//! The times of a schedule, computed as a pure function of its settings.

use chrono::{DateTime, TimeDelta, Timelike, Utc};
use chrono_tz::Tz;
use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use sha2::{Digest, Sha256};

use crate::id::ScheduleId;

/// The longest cron pattern in bytes. A useful pattern is shorter.
const MAX_PATTERN_BYTES: usize = 200;

/// The recurrence of a schedule.
#[derive(Clone, Debug)]
pub enum Recurrence {
    /// Times that match a cron pattern.
    Cron {
        /// The parsed pattern.
        pattern: Box<Cron>,
        /// The time zone of the pattern.
        zone: Tz,
    },
    /// Times at a fixed interval.
    Interval {
        /// The interval, in whole seconds.
        every: TimeDelta,
    },
}

/// The reason why a recurrence is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecurrenceError {
    /// The pattern is malformed.
    #[error(
        "must be a cron pattern of five fields (minute, hour, day of month, month, day of week) such as `30 9 * * 1-5`, \
         or one of @hourly, @daily, @weekly, @monthly, @yearly: {0}"
    )]
    Pattern(String),
    /// No time matches the pattern.
    #[error("no date matches this pattern")]
    NeverMatches,
    /// The time zone is unknown.
    #[error("must be an IANA time zone such as `Europe/Berlin` or `UTC`")]
    Zone,
}

impl Recurrence {
    /// Parses a cron pattern.
    pub fn cron(pattern: &str, zone: Tz) -> Result<Self, RecurrenceError> {
        if pattern.len() > MAX_PATTERN_BYTES {
            let detail = format!("it has more than {MAX_PATTERN_BYTES} bytes");
            return Err(RecurrenceError::Pattern(detail));
        }
        let parser = CronParser::builder()
            .seconds(Seconds::Disallowed)
            .year(Year::Disallowed)
            .build();
        let parsed = parser.parse(pattern);
        let parsed = parsed.map_err(|error| RecurrenceError::Pattern(error.to_string()))?;
        let now = crate::clock::now().with_timezone(&zone);
        if parsed.find_next_occurrence(&now, false).is_err() {
            return Err(RecurrenceError::NeverMatches);
        }
        Ok(Self::Cron {
            pattern: Box::new(parsed),
            zone,
        })
    }

    /// Finds a time zone by its IANA name.
    pub fn zone(name: &str) -> Result<Tz, RecurrenceError> {
        name.parse().map_err(|_| RecurrenceError::Zone)
    }

    /// Creates a fixed interval.
    pub fn interval(seconds: u32) -> Self {
        Self::Interval {
            every: TimeDelta::seconds(seconds.into()),
        }
    }
}

/// The settings that determine the times of a schedule.
#[derive(Clone, Debug)]
pub struct ScheduleTiming {
    /// The recurrence.
    pub recurrence: Recurrence,
    /// The creation time of the schedule. Intervals are counted from this time if `starts_at` is not set.
    pub created_at: DateTime<Utc>,
    /// The earliest time of the schedule. Intervals are counted from this time.
    pub starts_at: Option<DateTime<Utc>>,
    /// The latest time of the schedule.
    pub ends_at: Option<DateTime<Utc>>,
    /// The longest random delay of a run, in seconds.
    pub jitter_seconds: u32,
}

/// Scheduled times that are due.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DueTimes {
    /// The latest due times, in ascending order.
    pub latest: Vec<DateTime<Utc>>,
    /// The first and the last due time before `latest`.
    pub earlier: Option<(DateTime<Utc>, DateTime<Utc>)>,
}

impl ScheduleTiming {
    /// The first scheduled time after an instant.
    pub fn next_after(&self, after: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let start = self
            .starts_at
            .map(|start| start - TimeDelta::microseconds(1));
        let after = floor(start.map_or(after, |start| after.max(start)));
        let next = match &self.recurrence {
            Recurrence::Cron { pattern, zone } => {
                let next = pattern.find_next_occurrence(&after.with_timezone(zone), false);
                next.ok()?.with_timezone(&Utc)
            }
            Recurrence::Interval { every } => {
                let anchor = self.anchor();
                let passed = (after - anchor).num_seconds().max(-1);
                let count = passed.div_euclid(every.num_seconds()) + 1;
                let first = i64::from(self.starts_at.is_none());
                anchor.checked_add_signed(times(*every, count.max(first))?)?
            }
        };
        self.ends_at.is_none_or(|end| next <= end).then_some(next)
    }

    /// The last scheduled time at or before an instant.
    fn last_until(&self, until: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let until = floor(self.ends_at.map_or(until, |end| until.min(end)));
        let last = match &self.recurrence {
            Recurrence::Cron { pattern, zone } => {
                let last = pattern.find_previous_occurrence(&until.with_timezone(zone), true);
                last.ok()?.with_timezone(&Utc)
            }
            Recurrence::Interval { every } => {
                let anchor = self.anchor();
                let count = (until - anchor)
                    .num_seconds()
                    .div_euclid(every.num_seconds());
                let first = i64::from(self.starts_at.is_none());
                (count >= first).then_some(())?;
                anchor + times(*every, count)?
            }
        };
        self.starts_at
            .is_none_or(|start| last >= start)
            .then_some(last)
    }

    /// The next scheduled times after an instant, at most `most`.
    pub fn next_times(&self, after: DateTime<Utc>, most: usize) -> Vec<DateTime<Utc>> {
        let first = self.next_after(after);
        let times = std::iter::successors(first, |time| self.next_after(*time));
        times.take(most).collect()
    }

    /// The due times from `first` to `now`, with at most `most` in `latest`. `first` must be a scheduled time.
    pub fn due(&self, first: DateTime<Utc>, now: DateTime<Utc>, most: usize) -> DueTimes {
        let second = TimeDelta::seconds(1);
        let before = |time: DateTime<Utc>| self.last_until(time).filter(|time| *time >= first);
        let times = std::iter::successors(before(now), |time| before(*time - second));
        let mut latest: Vec<_> = times.take(most).collect();
        latest.reverse();
        let earlier = latest.first().and_then(|time| before(*time - second));
        DueTimes {
            latest,
            earlier: earlier.map(|last| (first, last)),
        }
    }

    /// The time when a run can start. The delay is the same in every process and ends before the next scheduled time.
    pub fn with_jitter(&self, schedule: ScheduleId, time: DateTime<Utc>) -> DateTime<Utc> {
        if self.jitter_seconds == 0 {
            return time;
        }
        let gap = self
            .next_after(time)
            .map(|next| (next - time).num_seconds());
        let most = gap.map_or(i64::MAX, |gap| (gap - 1).max(0));
        let most = most.min(self.jitter_seconds.into()).unsigned_abs();
        let seed = format!("{schedule} {}", time.timestamp());
        let hash = Sha256::digest(seed.as_bytes());
        let number = hash
            .iter()
            .take(8)
            .fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
        let seconds = i64::try_from(number % (most + 1)).unwrap_or(0);
        time + TimeDelta::seconds(seconds)
    }

    fn anchor(&self) -> DateTime<Utc> {
        floor(self.starts_at.unwrap_or(self.created_at))
    }
}

/// Truncates an instant to whole seconds.
fn floor(at: DateTime<Utc>) -> DateTime<Utc> {
    at.with_nanosecond(0).unwrap_or(at)
}

fn times(every: TimeDelta, count: i64) -> Option<TimeDelta> {
    TimeDelta::try_seconds(every.num_seconds().checked_mul(count)?)
}

#[cfg(test)]
mod tests;
