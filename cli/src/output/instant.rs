//! Instants and durations for people.

use chrono::{DateTime, TimeDelta, Utc};

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Formats an instant relative to now, such as `5m ago`. An instant more than 30 days away is a date.
pub(super) fn relative(text: &str, now: DateTime<Utc>) -> Option<String> {
    let at: DateTime<Utc> = text.parse().ok()?;
    let seconds = (now - at).num_seconds();
    let distance = match seconds.abs() {
        short @ ..MINUTE => format!("{short}s"),
        minutes @ ..HOUR => format!("{}m", minutes / MINUTE),
        hours @ ..DAY => format!("{}h", hours / HOUR),
        days if days < 30 * DAY => format!("{}d", days / DAY),
        _ => return Some(at.format("%Y-%m-%d").to_string()),
    };
    Some(if seconds < 0 {
        format!("in {distance}")
    } else {
        format!("{distance} ago")
    })
}

/// Formats a duration, such as `0.4 s` or `2 m 5 s`.
pub(crate) fn seconds(milliseconds: i64) -> String {
    let whole = milliseconds / 1000;
    match whole {
        ..MINUTE => format!("{:.1} s", milliseconds as f64 / 1000.0),
        _ if whole < HOUR => format!("{} m {} s", whole / MINUTE, whole % MINUTE),
        _ => format!("{} h {} m", whole / HOUR, whole % HOUR / MINUTE),
    }
}

/// Parses an instant in RFC 3339, or a time before now, such as `30m`, `12h` or `7d`.
pub(crate) fn parse_instant(text: &str) -> Result<DateTime<Utc>, &'static str> {
    const PROBLEM: &str = "must be an instant such as 2026-01-31T12:00:00Z, or a time before now such as 30m, 12h, 7d";
    if let Ok(at) = text.parse() {
        return Ok(at);
    }
    let unit = match text.chars().last() {
        Some('m') => MINUTE,
        Some('h') => HOUR,
        Some('d') => DAY,
        _ => return Err(PROBLEM),
    };
    let number: i64 = text[..text.len() - 1].parse().map_err(|_| PROBLEM)?;
    let distance = number.checked_mul(unit).and_then(TimeDelta::try_seconds);
    distance
        .and_then(|distance| Utc::now().checked_sub_signed(distance))
        .ok_or(PROBLEM)
}

#[test]
fn a_distance_is_rounded_down_and_a_far_one_is_a_date() {
    let now: DateTime<Utc> = "2026-03-10T12:00:00Z".parse().expect("an instant");
    let of = |text| relative(text, now).expect("an instant");
    assert_eq!(of("2026-03-10T11:59:18.5Z"), "41s ago");
    assert_eq!(of("2026-03-10T10:01:00Z"), "1h ago");
    assert_eq!(of("2026-03-10T12:05:00Z"), "in 5m");
    assert_eq!(of("2025-12-31T00:00:00Z"), "2025-12-31");
    assert_eq!(seconds(125_400), "2 m 5 s");
    assert!(
        parse_instant("12h").is_ok()
            && parse_instant("12x").is_err()
            && parse_instant("é").is_err()
    );
}
