//! Tests of schedule times, including daylight saving changes.

use chrono::TimeZone;
use uuid::Uuid;

use super::*;

fn at(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

fn cron(pattern: &str, zone: &str) -> ScheduleTiming {
    let zone = Recurrence::zone(zone).unwrap();
    timing(Recurrence::cron(pattern, zone).unwrap())
}

fn timing(recurrence: Recurrence) -> ScheduleTiming {
    ScheduleTiming {
        recurrence,
        created_at: at("2027-01-01T00:00:00.25Z"),
        starts_at: None,
        ends_at: None,
        jitter_seconds: 0,
    }
}

/// Returns the next scheduled times after an instant, formatted in the schedule's time zone.
fn local(timing: &ScheduleTiming, after: &str, most: usize) -> Vec<String> {
    let Recurrence::Cron { zone, .. } = &timing.recurrence else {
        panic!("it has no zone");
    };
    let times = timing.next_times(at(after), most).into_iter();
    let shown = times.map(|time| zone.from_utc_datetime(&time.naive_utc()));
    shown
        .map(|time| time.format("%m-%d %H:%M %Z").to_string())
        .collect()
}

#[test]
fn a_pattern_counts_in_its_time_zone() {
    let weekdays = cron("30 9 * * MON-FRI", "Asia/Tokyo");
    let expected = ["2027-01-04T00:30:00Z", "2027-01-05T00:30:00Z"].map(at);
    assert_eq!(weekdays.next_times(at("2027-01-01T12:00:00Z"), 2), expected);
    let daily = cron("@daily", "UTC");
    assert_eq!(
        daily.next_after(at("2027-01-01T00:00:00Z")),
        Some(at("2027-01-02T00:00:00Z"))
    );
    let eve = at("2027-01-01T23:59:59.999Z");
    assert_eq!(daily.next_after(eve), Some(at("2027-01-02T00:00:00Z")));
}

#[test]
fn in_spring_a_fixed_time_in_the_gap_runs_at_its_end_and_repeated_times_leave_it_out() {
    let fixed = cron("30 2 * * *", "Europe/Berlin");
    let expected = ["03-27 02:30 CET", "03-28 03:00 CEST", "03-29 02:30 CEST"];
    assert_eq!(local(&fixed, "2027-03-26T12:00:00Z", 3), expected);
    let repeated = cron("*/30 * * * *", "Europe/Berlin");
    let expected = ["03-28 01:30 CET", "03-28 03:00 CEST", "03-28 03:30 CEST"];
    assert_eq!(local(&repeated, "2027-03-28T00:00:00Z", 3), expected);
    let fixed = cron("15 2 * * *", "America/New_York");
    let expected = ["03-13 02:15 EST", "03-14 03:00 EDT", "03-15 02:15 EDT"];
    assert_eq!(local(&fixed, "2027-03-12T12:00:00Z", 3), expected);
}

#[test]
fn in_autumn_a_fixed_time_runs_once_and_repeated_times_run_in_both_hours() {
    let fixed = cron("30 2 * * *", "Europe/Berlin");
    let expected = ["10-30 02:30 CEST", "10-31 02:30 CEST", "11-01 02:30 CET"];
    assert_eq!(local(&fixed, "2027-10-29T12:00:00Z", 3), expected);
    let repeated = cron("*/30 * * * *", "Europe/Berlin");
    let expected = [
        "10-31 02:00 CEST",
        "10-31 02:30 CEST",
        "10-31 02:00 CET",
        "10-31 02:30 CET",
        "10-31 03:00 CET",
    ];
    assert_eq!(local(&repeated, "2027-10-30T23:45:00Z", 5), expected);
    let fixed = cron("30 1 * * *", "America/New_York");
    let expected = ["11-06 01:30 EDT", "11-07 01:30 EDT", "11-08 01:30 EST"];
    assert_eq!(local(&fixed, "2027-11-06T00:00:00Z", 3), expected);
}

#[test]
fn an_interval_is_counted_from_the_creation_or_from_the_start() {
    let mut hourly = timing(Recurrence::interval(3600));
    let expected = ["2027-01-01T01:00:00Z", "2027-01-01T02:00:00Z"].map(at);
    assert_eq!(hourly.next_times(at("2027-01-01T00:00:00.5Z"), 2), expected);
    assert_eq!(hourly.next_after(expected[0]), Some(expected[1]));
    hourly.starts_at = Some(at("2027-02-01T00:10:00Z"));
    let expected = ["2027-02-01T00:10:00Z", "2027-02-01T01:10:00Z"].map(at);
    assert_eq!(hourly.next_times(at("2027-01-01T12:34:56Z"), 2), expected);
    assert_eq!(hourly.next_after(expected[0]), Some(expected[1]));
}

#[test]
fn there_is_no_time_before_the_start_and_none_after_the_end() {
    let mut noon = cron("0 12 * * *", "UTC");
    noon.starts_at = Some(at("2027-03-01T12:00:00Z"));
    noon.ends_at = Some(at("2027-03-02T12:00:00Z"));
    let expected = ["2027-03-01T12:00:00Z", "2027-03-02T12:00:00Z"].map(at);
    assert_eq!(noon.next_times(at("2027-01-01T00:00:00Z"), 5), expected);
    let due = noon.due(expected[0], at("2027-04-01T00:00:00Z"), 5);
    assert_eq!((&due.latest[..], due.earlier), (&expected[..], None));
}

#[test]
fn of_many_due_times_the_latest_are_kept_and_the_others_are_a_range() {
    let every_minute = cron("* * * * *", "UTC");
    let first = at("2027-01-01T00:01:00Z");
    let due = every_minute.due(first, at("2027-06-01T00:00:30Z"), 2);
    assert_eq!(
        due.latest,
        ["2027-05-31T23:59:00Z", "2027-06-01T00:00:00Z"].map(at)
    );
    assert_eq!(due.earlier, Some((first, at("2027-05-31T23:58:00Z"))));
    let due = every_minute.due(first, first, 2);
    assert_eq!((due.latest, due.earlier), (vec![first], None));
}

#[test]
fn the_times_backward_are_the_times_forward() {
    for zone in [
        "UTC",
        "Europe/Berlin",
        "America/New_York",
        "Australia/Lord_Howe",
    ] {
        for pattern in ["30 2 * * *", "*/30 1-3 * * 0", "@weekly"] {
            let timing = cron(pattern, zone);
            let (begin, end) = (at("2027-01-01T00:00:00Z"), at("2028-01-02T00:00:00Z"));
            let mut forward = timing.next_times(begin, 10_000);
            forward.retain(|time| *time <= end);
            let backward = timing.due(forward[0], end, 10_000).latest;
            assert_eq!(backward, forward, "{pattern} {zone}");
        }
    }
}

#[test]
fn jitter_is_the_same_each_time_and_ends_before_the_next_time() {
    let mut minutely = cron("* * * * *", "UTC");
    let schedule = ScheduleId(Uuid::from_u128(7));
    let times = minutely.next_times(at("2027-01-01T00:00:00Z"), 500);
    for (jitter, most) in [(0, 0), (20, 20), (3600, 59)] {
        minutely.jitter_seconds = jitter;
        let delay = |time: &DateTime<Utc>| {
            let due = minutely.with_jitter(schedule, *time);
            assert_eq!(due, minutely.with_jitter(schedule, *time));
            (due - *time).num_seconds()
        };
        let delays: Vec<_> = times.iter().map(delay).collect();
        assert_eq!(delays.iter().min(), Some(&0));
        assert_eq!(delays.iter().max(), Some(&most));
    }
}

#[test]
fn what_is_no_recurrence_is_refused() {
    for pattern in [
        "",
        "* * * *",
        "* * * * * *",
        "61 * * * *",
        "@reboot",
        "a b c d e",
        "*/0 * * * *",
    ] {
        let error = Recurrence::cron(pattern, Tz::UTC).unwrap_err();
        assert!(
            matches!(error, RecurrenceError::Pattern(_)),
            "{pattern}: {error}"
        );
    }
    let long = "0,".repeat(200) + "0 * * * *";
    assert!(matches!(
        Recurrence::cron(&long, Tz::UTC),
        Err(RecurrenceError::Pattern(_))
    ));
    let never = Recurrence::cron("0 0 30 2 *", Tz::UTC).unwrap_err();
    assert_eq!(never, RecurrenceError::NeverMatches);
    for zone in ["", "Berlin", "CEST+2", "europe/berlin "] {
        assert_eq!(Recurrence::zone(zone).unwrap_err(), RecurrenceError::Zone);
    }
}
