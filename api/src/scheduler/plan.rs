//! The plan of a due schedule: the times that run, and the next time of the schedule.

use chrono::{DateTime, TimeDelta, Utc};
use shared::db::schedule::StoredSchedule;
use shared::db::schedule_run::NewRun;
use shared::schedule::{CatchUp, DueTimes, ScheduleTiming};

/// The delay after which a time counts as missed.
const GRACE: TimeDelta = TimeDelta::seconds(60);

/// A time of the database clock.
pub(super) type Instant = DateTime<Utc>;

/// The runs to store, and the next time.
pub(super) type Plan = (Vec<NewRun>, Option<Instant>);

/// Plans the times of a schedule from its `next_at` to `now`.
pub(super) fn plan(schedule: &StoredSchedule, timing: &ScheduleTiming, now: Instant) -> Plan {
    let Some(first) = schedule.next_at else {
        return (Vec::new(), None);
    };
    let settings = &schedule.settings;
    let most = match settings.catch_up {
        CatchUp::All => usize::try_from(settings.catch_up_limit).unwrap_or(1),
        CatchUp::None | CatchUp::One => 1,
    };
    let DueTimes {
        mut latest,
        mut earlier,
    } = timing.due(first, now, most);
    if settings.catch_up == CatchUp::None
        && let Some(last) = latest.last().copied()
        && last < now - GRACE
    {
        earlier = Some((earlier.map_or(last, |(begin, _)| begin), last));
        latest.clear();
    }
    let missed = earlier.map(|(begin, end)| NewRun {
        scheduled_for: begin,
        due_at: begin,
        missed_until: Some(end),
    });
    let runs = latest.into_iter().map(|time| NewRun {
        scheduled_for: time,
        due_at: timing.with_jitter(schedule.id, time),
        missed_until: None,
    });
    // The next time is after `first`, even if the clock has gone back.
    (
        missed.into_iter().chain(runs).collect(),
        timing.next_after(now.max(first)),
    )
}

#[cfg(test)]
mod tests {
    use shared::db::schedule::ScheduleSettings;
    use shared::id::{ScheduleId, TenantId};
    use shared::schedule::Overlap;

    use super::*;

    fn at(text: &str) -> Instant {
        text.parse().unwrap()
    }

    /// A schedule that runs each minute and has not run since 12:00.
    fn minutely(catch_up: CatchUp) -> StoredSchedule {
        let begin = at("2027-01-01T00:00:00Z");
        StoredSchedule {
            id: ScheduleId::new(),
            tenant: TenantId::new(),
            settings: ScheduleSettings {
                name: "minutely".to_owned(),
                cron: Some("* * * * *".to_owned()),
                time_zone: Some("UTC".to_owned()),
                interval_seconds: None,
                job: serde_json::value::to_raw_value("").unwrap(),
                paused: false,
                overlap: Overlap::Skip,
                catch_up,
                catch_up_limit: 3,
                jitter_seconds: 0,
                starts_at: None,
                ends_at: None,
            },
            next_at: Some(at("2027-01-01T12:00:00Z")),
            created_at: begin,
            updated_at: begin,
            version: 1,
        }
    }

    /// The planned runs as `minute`, or as `first-last` if they were missed.
    fn planned(catch_up: CatchUp, now: &str) -> (Vec<String>, String) {
        let schedule = minutely(catch_up);
        let (runs, next) = plan(&schedule, &schedule.timing().unwrap(), at(now));
        let minute = |time: Instant| time.format("%H:%M").to_string();
        let show = |run: NewRun| match run.missed_until {
            Some(end) => format!("{}-{}", minute(run.scheduled_for), minute(end)),
            None => minute(run.scheduled_for),
        };
        (runs.into_iter().map(show).collect(), minute(next.unwrap()))
    }

    fn expect(runs: &[&str], next: &str) -> (Vec<String>, String) {
        let runs = runs.iter().map(|run| (*run).to_owned());
        (runs.collect(), next.to_owned())
    }

    #[test]
    fn a_time_that_has_just_come_runs_whatever_is_caught_up() {
        for catch_up in [CatchUp::None, CatchUp::One, CatchUp::All] {
            let now = "2027-01-01T12:00:01Z";
            assert_eq!(planned(catch_up, now), expect(&["12:00"], "12:01"));
        }
    }

    #[test]
    fn of_missed_times_run_none_one_or_the_last_ones() {
        let now = "2027-01-01T12:10:30Z";
        let one = expect(&["12:00-12:09", "12:10"], "12:11");
        // The last time is within the grace period.
        assert_eq!(planned(CatchUp::None, now), one);
        assert_eq!(planned(CatchUp::One, now), one);
        let all = expect(&["12:00-12:07", "12:08", "12:09", "12:10"], "12:11");
        assert_eq!(planned(CatchUp::All, now), all);
    }

    #[test]
    fn without_catching_up_a_late_time_is_missed() {
        let mut hourly = minutely(CatchUp::None);
        hourly.settings.cron = Some("@hourly".to_owned());
        let timing = hourly.timing().unwrap();
        let (runs, next) = plan(&hourly, &timing, at("2027-01-01T14:30:00Z"));
        assert_eq!(runs.len(), 1);
        let missed = (runs[0].scheduled_for, runs[0].missed_until);
        let range = (at("2027-01-01T12:00:00Z"), Some(at("2027-01-01T14:00:00Z")));
        assert_eq!((missed, next), (range, Some(at("2027-01-01T15:00:00Z"))));
    }

    #[test]
    fn a_clock_that_went_back_repeats_no_time() {
        let mut schedule = minutely(CatchUp::All);
        schedule.next_at = Some(at("2027-01-01T12:05:00Z"));
        let timing = schedule.timing().unwrap();
        let (runs, next) = plan(&schedule, &timing, at("2027-01-01T12:00:00Z"));
        assert_eq!((runs.len(), next), (0, Some(at("2027-01-01T12:06:00Z"))));
    }
}
