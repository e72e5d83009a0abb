//! The retry schedule of deliveries: ten attempts within 75.6 hours.

use std::time::Duration;

/// The delays before the second and later attempts, in seconds. Standard Webhooks recommends these values.
const PAUSES: [u64; 9] = [
    5,
    5 * 60,
    30 * 60,
    2 * 3600,
    5 * 3600,
    10 * 3600,
    14 * 3600,
    20 * 3600,
    24 * 3600,
];
/// The maximum number of attempts of a delivery.
pub const MAX_ATTEMPTS: i16 = 10;
/// The maximum random deviation of a delay, as a fraction of the delay.
const JITTER: f64 = 0.2;
/// The HTTP statuses of an overloaded receiver.
const OVERLOADED: [u16; 3] = [429, 502, 504];
/// The shortest delay after one of these statuses.
const OVERLOAD_PAUSE: Duration = Duration::from_secs(60);

/// The data of a failed attempt that determine the retry.
#[derive(Clone, Copy, Debug, Default)]
pub struct Failure {
    /// The HTTP status of the response.
    pub status: Option<u16>,
    /// The `Retry-After` header of the response.
    pub retry_after: Option<Duration>,
}

impl Failure {
    /// The delay before the next attempt. `None` if attempt number `attempt` was the last one. `luck` is a random
    /// number from 0 to 1.
    pub fn pause(self, attempt: i16, luck: f64) -> Option<Duration> {
        let place = usize::try_from(attempt.max(1) - 1).unwrap_or_default();
        let step = Duration::from_secs(*PAUSES.get(place)?);
        let mut pause = step.mul_f64(1.0 - JITTER + 2.0 * JITTER * luck.clamp(0.0, 1.0));
        if let Some(asked) = self.retry_after {
            pause = asked.clamp(step, 2 * step);
        }
        if self
            .status
            .is_some_and(|status| OVERLOADED.contains(&status))
        {
            pause = pause.max(OVERLOAD_PAUSE);
        }
        Some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(failure: Failure, attempt: i16, luck: f64) -> Option<f64> {
        failure
            .pause(attempt, luck)
            .map(|pause| pause.as_secs_f64())
    }

    #[test]
    fn ten_attempts_take_three_days() {
        let pauses = (1..MAX_ATTEMPTS).map(|attempt| seconds(Failure::default(), attempt, 0.5));
        let hours = pauses.map(Option::unwrap).sum::<f64>() / 3600.0;
        assert!((hours - 75.6).abs() < 0.1, "{hours}");
        assert_eq!(seconds(Failure::default(), MAX_ATTEMPTS, 0.5), None);
    }

    #[test]
    fn a_pause_is_up_to_a_fifth_shorter_or_longer() {
        assert_eq!(seconds(Failure::default(), 1, 0.0), Some(4.0));
        assert_eq!(seconds(Failure::default(), 2, 1.0), Some(360.0));
    }

    #[test]
    fn retry_after_counts_from_one_to_two_steps() {
        let asked = |seconds| Failure {
            status: Some(503),
            retry_after: Some(Duration::from_secs(seconds)),
        };
        assert_eq!(seconds(asked(1), 2, 0.0), Some(300.0));
        assert_eq!(seconds(asked(400), 2, 0.0), Some(400.0));
        assert_eq!(seconds(asked(100_000), 2, 0.0), Some(600.0));
    }

    #[test]
    fn an_overloaded_receiver_has_a_minute() {
        for status in OVERLOADED {
            let failure = Failure {
                status: Some(status),
                retry_after: None,
            };
            assert_eq!(seconds(failure, 1, 0.5), Some(60.0));
            assert_eq!(seconds(failure, 2, 0.5), Some(300.0));
        }
    }
}
