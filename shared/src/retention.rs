//! Retention periods.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, TimeDelta, Utc};

/// How long something is kept after its last use: `30d`, `12h`, `never` to be removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retention {
    /// For ever.
    Never,
    /// For that long.
    For(TimeDelta),
}

/// It is no retention.
#[derive(Debug, thiserror::Error)]
#[error("must be hours like `12h`, days like `30d`, or `never`, which keeps everything")]
pub struct RetentionError;

/// A century. Times further back are of no use to anyone, and the database ends somewhere.
const MOST_HOURS: i64 = 100 * 366 * 24;

impl Retention {
    /// Up to when that is which may go now; `None` if nothing may.
    pub fn cutoff(self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        match self {
            Self::Never => None,
            Self::For(age) => Some(now - age),
        }
    }
}

impl FromStr for Retention {
    type Err = RetentionError;

    fn from_str(text: &str) -> Result<Self, RetentionError> {
        if text == "never" {
            return Ok(Self::Never);
        }
        let hours_in_unit = [('h', 1), ('d', 24)];
        let hours = hours_in_unit.into_iter().find_map(|(unit, hours)| {
            let number: u32 = text.strip_suffix(unit)?.parse().ok()?;
            Some(i64::from(number) * hours)
        });
        match hours {
            Some(hours) if (1..=MOST_HOURS).contains(&hours) => {
                Ok(Self::For(TimeDelta::hours(hours)))
            }
            _ => Err(RetentionError),
        }
    }
}

impl fmt::Display for Retention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => f.write_str("never"),
            Self::For(age) if age.num_hours() % 24 == 0 => write!(f, "{}d", age.num_days()),
            Self::For(age) => write!(f, "{}h", age.num_hours()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_days_and_never_are_read_and_nothing_else() {
        for (text, shown) in [
            ("1h", "1h"),
            ("48h", "2d"),
            ("36h", "36h"),
            ("30d", "30d"),
            ("never", "never"),
        ] {
            assert_eq!(text.parse::<Retention>().unwrap().to_string(), shown);
        }
        for text in [
            "",
            "0h",
            "0d",
            "30",
            "d",
            "-1d",
            "+",
            "1w",
            "1.5h",
            "1 d",
            "Never",
            "4000000000d",
            "ä",
        ] {
            assert!(text.parse::<Retention>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_never_removed_has_no_cutoff() {
        let now = DateTime::UNIX_EPOCH;
        assert_eq!(Retention::Never.cutoff(now), None);
        let day = Retention::For(TimeDelta::days(1));
        assert_eq!(day.cutoff(now), Some(now - TimeDelta::days(1)));
    }
}
