//! Retention periods.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, TimeDelta, Utc};

/// A retention period: how long data is kept after its last use. `30d`, `12h`, or `never` to keep it forever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retention {
    /// Data is never removed.
    Never,
    /// Data is removed after this time.
    For(TimeDelta),
}

/// The text is not a valid retention period.
#[derive(Debug, thiserror::Error)]
#[error("must be hours like `12h`, days like `30d`, or `never`, which keeps everything")]
pub struct RetentionError;

/// The longest retention period, a century. It keeps cutoff times in the range of the database.
const MAX_HOURS: i64 = 100 * 366 * 24;

impl Retention {
    /// The time up to which data can be removed now. `None` if data is never removed.
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
            Some(hours) if (1..=MAX_HOURS).contains(&hours) => {
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
