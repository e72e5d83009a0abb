//! Retry delays and limits.

use std::time::Duration;

use chrono::{DateTime, Utc};
use reqwest::header::{HeaderMap, RETRY_AFTER};

/// The longest `Retry-After` that a request waits for. A request with a longer one fails. A stream has no such limit.
pub(crate) const MAX_RETRY_AFTER: Duration = Duration::from_secs(60);

/// The timeouts, delays and limits of retries.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// The delay after the first failure. It doubles with each further failure.
    pub first_delay: Duration,
    /// The maximum delay.
    pub max_delay: Duration,
    /// The time without data after which a stream reconnects. The service sends a comment every 15 s.
    pub silence: Duration,
    /// The maximum number of attempts of a request that is safe to repeat.
    pub attempts: u32,
    /// The maximum number of consecutive failed connections of a stream. `None` is unlimited.
    pub stream_attempts: Option<u32>,
}

impl Default for Timing {
    /// Six attempts. Their delays add up to 15.5 s, longer than a restart of the service takes.
    fn default() -> Self {
        Self {
            first_delay: Duration::from_millis(500),
            max_delay: Duration::from_secs(10),
            silence: Duration::from_secs(45),
            attempts: 6,
            stream_attempts: None,
        }
    }
}

impl Timing {
    /// Returns the delay after this number of consecutive failures.
    pub(crate) fn backoff(&self, failures: u32) -> Duration {
        let factor = 2_u32.saturating_pow(failures.saturating_sub(1));
        self.first_delay.saturating_mul(factor).min(self.max_delay)
    }
}

/// Parses the header `Retry-After`: seconds or a date.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let at = DateTime::parse_from_rfc2822(text).ok()?;
    Some((at.to_utc() - Utc::now()).to_std().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let timing = Timing::default();
        let millis = [1, 2, 3, 5, 6, 1000].map(|it| timing.backoff(it).as_millis());
        assert_eq!(millis, [500, 1000, 2000, 8000, 10_000, 10_000]);
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let of = |text: &str| {
            let header = text.parse().unwrap();
            retry_after(&HeaderMap::from_iter([(RETRY_AFTER, header)]))
        };
        assert_eq!(of("7"), Some(Duration::from_secs(7)));
        assert_eq!(of("Wed, 21 Oct 2015 07:28:00 GMT"), Some(Duration::ZERO));
        assert!(of("Sat, 21 Oct 2215 07:28:00 GMT").is_some_and(|it| it > MAX_RETRY_AFTER));
        assert_eq!(of("soon"), None);
    }
}
