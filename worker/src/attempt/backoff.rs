//! Pauses before the next attempt of a job. They double with each attempt that ended in the same way.

use std::time::Duration;

/// The pause after the first outage of the provider.
const MODEL_OUTAGE_PAUSE: Duration = Duration::from_secs(10);
/// The longest pause that a provider may request, because a request can be wrong by years. The job's time does
/// not run during the pause.
const MAX_MODEL_OUTAGE_PAUSE: Duration = Duration::from_secs(60 * 60);
/// The pause after the first internal error, and after the first outage of the database or the asset store.
const FAILURE_PAUSE: Duration = Duration::from_secs(1);
/// The maximum number of doublings of the pause after an outage of the database or the asset store.
const MAX_OUTAGE_DOUBLINGS: i16 = 5;

/// Returns the pause after `earlier` previous outages of the provider. A longer pause that the provider requested
/// takes precedence, up to the maximum.
pub(super) fn after_model_outage(earlier: i16, retry_after: Option<Duration>) -> Duration {
    let asked = retry_after.unwrap_or_default();
    doubled(MODEL_OUTAGE_PAUSE, earlier)
        .max(asked)
        .min(MAX_MODEL_OUTAGE_PAUSE)
}

/// Returns the pause until the provider allows requests again, up to the maximum.
pub(super) fn after_provider_pause(retry_after: Duration) -> Duration {
    retry_after.min(MAX_MODEL_OUTAGE_PAUSE)
}

/// Returns the pause after an outage of the database or the asset store, after `earlier` previous attempts.
pub(super) fn after_outage(earlier: i16) -> Duration {
    doubled(FAILURE_PAUSE, earlier.min(MAX_OUTAGE_DOUBLINGS))
}

/// Returns the pause after `earlier` previous internal errors.
pub(super) fn after_failure(earlier: i16) -> Duration {
    doubled(FAILURE_PAUSE, earlier)
}

fn doubled(pause: Duration, times: i16) -> Duration {
    pause.saturating_mul(1 << times.clamp(0, 10))
}
