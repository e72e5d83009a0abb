//! A schedule as clients see it.

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::value::RawValue;
use shared::db::schedule::StoredSchedule;
use shared::id::ScheduleId;
use shared::schedule::{CatchUp, Overlap};
use utoipa::ToSchema;

use crate::v1::jobs::CreateJob;

/// The next times that are shown.
pub(super) const NEXT_TIMES: usize = 5;

/// A schedule.
#[derive(Serialize, ToSchema)]
#[schema(as = Schedule)]
pub(crate) struct ScheduleView {
    /// The schedule's identifier.
    id: ScheduleId,
    /// Its name, unique in the tenant.
    name: String,
    /// The cron pattern; null if it has an interval.
    #[schema(required)]
    cron: Option<String>,
    /// The IANA time zone of the pattern.
    #[schema(required)]
    time_zone: Option<String>,
    /// The interval; null if it has a cron pattern.
    #[schema(required)]
    interval_seconds: Option<i32>,
    /// The request of its jobs, as for `POST /v1/jobs`.
    #[schema(value_type = CreateJob)]
    job: Box<RawValue>,
    /// Whether it is paused.
    paused: bool,
    /// What happens when a run is due while the job of an earlier run has not ended.
    overlap: Overlap,
    /// What happens with times that passed while no worker could start them.
    catch_up: CatchUp,
    /// The most of those times that run, with `catch_up` of `all`.
    catch_up_limit: i32,
    /// The longest random delay of a run.
    jitter_seconds: i32,
    /// The first time is no earlier.
    #[schema(required)]
    starts_at: Option<DateTime<Utc>>,
    /// The last time is no later.
    #[schema(required)]
    ends_at: Option<DateTime<Utc>>,
    /// The next times, at most five, without jitter. None while it is paused, and after its last time.
    next_times: Vec<DateTime<Utc>>,
    /// When it was created.
    created_at: DateTime<Utc>,
    /// When its settings changed last.
    updated_at: DateTime<Utc>,
}

impl ScheduleView {
    /// The schedule with its next times after `now`.
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
