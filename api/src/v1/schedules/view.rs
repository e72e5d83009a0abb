//! A schedule, as the API returns it.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::value::RawValue;
use shared::db::schedule::StoredSchedule;
use shared::id::ScheduleId;
use shared::schedule::{CatchUp, Overlap};
use utoipa::ToSchema;

use crate::v1::jobs::CreateJob;

/// The maximum number of next times in a response.
pub(super) const NEXT_TIMES: usize = 5;

/// A schedule.
#[derive(Serialize, ToSchema)]
#[schema(as = Schedule)]
pub(crate) struct ScheduleView {
    /// The identifier of the schedule.
    id: ScheduleId,
    /// The name, unique within the tenant.
    name: String,
    /// The cron pattern; null if the schedule has an interval.
    #[schema(required)]
    cron: Option<String>,
    /// The IANA time zone of the pattern; null if the schedule has an interval.
    #[schema(required)]
    time_zone: Option<String>,
    /// The interval in seconds; null if the schedule has a cron pattern.
    #[schema(required)]
    interval_seconds: Option<i32>,
    /// The request of the schedule's jobs, as for `POST /v1/jobs`.
    #[schema(value_type = CreateJob)]
    job: Box<RawValue>,
    /// Whether the schedule is paused.
    paused: bool,
    /// The behavior when a run is due while the job of an earlier run has not ended.
    overlap: Overlap,
    /// The handling of times that passed while no worker could start them.
    catch_up: CatchUp,
    /// The maximum number of missed times that run if `catch_up` is `all`.
    catch_up_limit: i32,
    /// The maximum random delay of a run, in seconds.
    jitter_seconds: i32,
    /// The first time is not earlier than this; null if there is no limit.
    #[schema(required)]
    starts_at: Option<DateTime<Utc>>,
    /// The last time is not later than this; null if there is no limit.
    #[schema(required)]
    ends_at: Option<DateTime<Utc>>,
    /// The next times, at most five, without jitter. Empty while the schedule is paused, and after its last time.
    next_times: Vec<DateTime<Utc>>,
    /// When the schedule was created.
    created_at: DateTime<Utc>,
    /// When the settings last changed.
    updated_at: DateTime<Utc>,
}

impl ScheduleView {
    /// Returns the view of a schedule, with its next times after `now`.
    pub(super) fn of(stored: StoredSchedule, now: DateTime<Utc>) -> Self {
        let timing = stored.timing().ok().filter(|_| !stored.settings.paused);
        let next_times = timing.map(|timing| timing.next_times(now, NEXT_TIMES));
        let settings = stored.settings;
        Self {
            id: stored.id,
            name: settings.name,
            cron: settings.cron,
            time_zone: settings.time_zone,
            interval_seconds: settings.interval_seconds,
            job: settings.job,
            paused: settings.paused,
            overlap: settings.overlap,
            catch_up: settings.catch_up,
            catch_up_limit: settings.catch_up_limit,
            jitter_seconds: settings.jitter_seconds,
            starts_at: settings.starts_at,
            ends_at: settings.ends_at,
            next_times: next_times.unwrap_or_default(),
            created_at: stored.created_at,
            updated_at: stored.updated_at,
        }
    }
}
