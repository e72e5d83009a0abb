//! The database's clock, as this process knows it.
//!
//! The clocks of hosts differ, and stored rows are ordered, kept and deleted by the time of the database. Therefore
//! ids use the time of the database, too. Between two readings, the monotonic clock of this host continues it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use chrono::{DateTime, TimeDelta, Utc};
use uuid::{ContextV7, Timestamp, Uuid};

/// The largest correction to the past after which new ids still sort after earlier ids. Readings differ by less.
const JITTER: TimeDelta = TimeDelta::seconds(5);

/// The clock of this process. It is global, like the system clock.
static CLOCK: Mutex<Clock> = Mutex::new(Clock::new());

/// Returns the time of the database or, before the first reading, the time of this host.
pub fn now() -> DateTime<Utc> {
    lock().now()
}

/// Returns a new identifier. It sorts after the earlier ones of this process, unless a reading has since set the
/// clock back by more than five seconds.
pub fn new_id() -> Uuid {
    lock().new_id()
}

/// Sets the clock to a reading of the database's clock, taken at `at`.
pub fn set(read: DateTime<Utc>, at: Instant) {
    lock().set(read, at);
}

fn lock() -> MutexGuard<'static, Clock> {
    CLOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Clock {
    /// The last reading of the database's clock, and when it was taken.
    read: Option<(DateTime<Utc>, Instant)>,
    /// Keeps ids in order within a millisecond and when the time goes back.
    ids: ContextV7,
}

impl Clock {
    const fn new() -> Self {
        Self {
            read: None,
            ids: ContextV7::new(),
        }
    }

    fn now(&self) -> DateTime<Utc> {
        match self.read {
            Some((read, at)) => read + at.elapsed(),
            None => Utc::now(),
        }
    }

    fn set(&mut self, read: DateTime<Utc>, at: Instant) {
        let before = self.now();
        self.read = Some((read, at));
        if before - self.now() > JITTER {
            // Otherwise ids would keep the wrong time until the correct time reaches it.
            self.ids = ContextV7::new();
        }
    }

    fn new_id(&self) -> Uuid {
        let now = self.now();
        let seconds = now.timestamp().max(0).unsigned_abs();
        let timestamp = Timestamp::from_unix(&self.ids, seconds, now.timestamp_subsec_nanos());
        Uuid::new_v7(timestamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time_of(id: Uuid) -> DateTime<Utc> {
        let (seconds, nanos) = id.get_timestamp().unwrap().to_unix();
        DateTime::from_timestamp(seconds.cast_signed(), nanos).unwrap()
    }

    #[test]
    fn ids_are_made_by_the_time_of_the_database_even_after_others_were_made_by_a_wrong_one() {
        let mut clock = Clock::new();
        for weeks in [0, 3, -3, 0] {
            let read = Utc::now() + TimeDelta::weeks(weeks);
            clock.set(read, Instant::now());
            let off = time_of(clock.new_id()) - read;
            assert!(off.abs() < TimeDelta::minutes(1), "{off}");
        }
    }

    #[test]
    fn ids_are_in_order_while_readings_differ_a_little() {
        let mut clock = Clock::new();
        let mut ids = Vec::new();
        for millis in [0, 500, -500, 3, -1] {
            let read = Utc::now() + TimeDelta::milliseconds(millis);
            clock.set(read, Instant::now());
            ids.extend((0..1000).map(|_| clock.new_id()));
        }
        assert!(ids.is_sorted());
    }
}
