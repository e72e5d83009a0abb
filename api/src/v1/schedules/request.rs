//! The settings of a schedule, as clients send them.

use std::ops::RangeInclusive;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use shared::db::schedule::{ScheduleSettings, StoredSchedule};
use shared::schedule::{CatchUp, Overlap, RecurrenceError, ScheduleTiming};
use shared::whole_number::WholeNumber;
use utoipa::ToSchema;

use crate::name;
use crate::number;
use crate::problem::{ApiError, FieldError};
use crate::v1::jobs::{CreateJob, instant};

/// The valid intervals. The minimum prevents a schedule that creates jobs in a loop. The maximum is a year.
const INTERVAL_SECONDS: RangeInclusive<i32> = 10..=31_536_000;
const JITTER_SECONDS: RangeInclusive<i32> = 0..=3600;
const CATCH_UP_LIMIT: RangeInclusive<i32> = 1..=100;
const DEFAULT_CATCH_UP_LIMIT: i32 = 10;
pub(super) const DEFAULT_ZONE: &str = "UTC";

/// The request to create a schedule.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateSchedule {
    /// A name, unique within the tenant: 1 to 100 characters, without control characters.
    #[schema(example = "morning report", min_length = 1, max_length = 100)]
    name: String,
    /// A cron pattern of five fields (minute, hour, day of month, month, day of week), or one of `@hourly`, `@daily`,
    /// `@weekly`, `@monthly`, `@yearly`. Exactly one of `cron` and `interval_seconds`.
    #[schema(example = "30 9 * * 1-5")]
    cron: Option<String>,
    /// The IANA time zone of the pattern; `UTC` by default.
    #[schema(example = "Europe/Berlin")]
    time_zone: Option<String>,
    /// The seconds from one time to the next, counted from `starts_at`, or else from the creation of the schedule.
    #[schema(value_type = Option<i32>, minimum = 10, maximum = 31_536_000)]
    interval_seconds: Option<WholeNumber>,
    /// The request of the schedule's jobs, as for `POST /v1/jobs`. `run_at` and inputs with `data` are not allowed.
    pub(super) job: CreateJob,
    /// Whether the schedule is paused; false by default.
    #[serde(default)]
    paused: bool,
    /// The behavior when a run is due while the job of an earlier run has not ended; `skip` by default.
    #[serde(default)]
    overlap: Overlap,
    /// The handling of times that passed while no worker could start them; `one` by default.
    #[serde(default)]
    catch_up: CatchUp,
    /// The maximum number of missed times that run if `catch_up` is `all`; 10 by default.
    #[schema(value_type = Option<i32>, minimum = 1, maximum = 100)]
    catch_up_limit: Option<WholeNumber>,
    /// The maximum random delay of a run, in seconds; 0 by default. A run is never delayed beyond the next time.
    #[schema(value_type = Option<i32>, minimum = 0, maximum = 3600)]
    jitter_seconds: Option<WholeNumber>,
    /// The first time is not earlier than this.
    #[serde(default, deserialize_with = "instant")]
    starts_at: Option<DateTime<Utc>>,
    /// The last time is not later than this.
    #[serde(default, deserialize_with = "instant")]
    ends_at: Option<DateTime<Utc>>,
}

/// The request to change a schedule. Fields that are not given stay unchanged.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateSchedule {
    /// The new name.
    #[schema(min_length = 1, max_length = 100)]
    name: Option<String>,
    /// The new cron pattern. It replaces the earlier pattern or interval.
    cron: Option<String>,
    /// The new IANA time zone of the pattern.
    time_zone: Option<String>,
    /// The new interval in seconds. It replaces the earlier interval or pattern.
    #[schema(value_type = Option<i32>, minimum = 10, maximum = 31_536_000)]
    interval_seconds: Option<WholeNumber>,
    /// The new request of the schedule's jobs. It replaces the earlier request.
    pub(super) job: Option<CreateJob>,
    /// Whether the schedule is paused. Times during the pause are not caught up.
    paused: Option<bool>,
    /// The behavior when a run is due while the job of an earlier run has not ended.
    overlap: Option<Overlap>,
    /// The handling of times that passed while no worker could start them.
    catch_up: Option<CatchUp>,
    /// The maximum number of missed times that run if `catch_up` is `all`.
    #[schema(value_type = Option<i32>, minimum = 1, maximum = 100)]
    catch_up_limit: Option<WholeNumber>,
    /// The maximum random delay of a run, in seconds.
    #[schema(value_type = Option<i32>, minimum = 0, maximum = 3600)]
    jitter_seconds: Option<WholeNumber>,
    /// The first time is not earlier than this. Null removes the limit.
    #[serde(default, deserialize_with = "given_instant")]
    #[schema(value_type = Option<DateTime<Utc>>)]
    starts_at: Option<Option<DateTime<Utc>>>,
    /// The last time is not later than this. Null removes the limit.
    #[serde(default, deserialize_with = "given_instant")]
    #[schema(value_type = Option<DateTime<Utc>>)]
    ends_at: Option<Option<DateTime<Utc>>>,
}

/// Distinguishes null from a missing field.
fn given_instant<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<DateTime<Utc>>>, D::Error> {
    instant(deserializer).map(Some)
}

impl CreateSchedule {
    /// Returns the settings. The job is validated separately.
    pub(super) fn parse(
        self,
        job: Box<RawValue>,
        errors: &mut Vec<FieldError>,
    ) -> ScheduleSettings {
        let has_cron = self.cron.is_some();
        ScheduleSettings {
            name: check_name(&self.name, errors),
            time_zone: self
                .time_zone
                .or_else(|| has_cron.then(|| DEFAULT_ZONE.to_owned())),
            cron: self.cron,
            interval_seconds: check_interval(self.interval_seconds, errors),
            job,
            paused: self.paused,
            overlap: self.overlap,
            catch_up: self.catch_up,
            catch_up_limit: check_catch_up_limit(self.catch_up_limit, errors)
                .unwrap_or(DEFAULT_CATCH_UP_LIMIT),
            jitter_seconds: check_jitter(self.jitter_seconds, errors).unwrap_or_default(),
            starts_at: self.starts_at,
            ends_at: self.ends_at,
        }
    }
}

impl UpdateSchedule {
    /// Whether the change affects the times of the schedule.
    pub(super) fn moves_times(&self) -> bool {
        self.cron.is_some()
            || self.time_zone.is_some()
            || self.interval_seconds.is_some()
            || self.starts_at.is_some()
            || self.ends_at.is_some()
    }

    /// Whether the change starts or ends a pause.
    pub(super) fn pauses_or_resumes(&self) -> bool {
        self.paused.is_some()
    }

    /// Returns the settings after the change. The job is validated separately.
    pub(super) fn apply(
        self,
        stored: &StoredSchedule,
        job: Option<Box<RawValue>>,
        errors: &mut Vec<FieldError>,
    ) -> ScheduleSettings {
        let before = stored.settings.clone();
        let interval = check_interval(self.interval_seconds, errors);
        let (kept_cron, kept_interval) = match (&self.cron, self.interval_seconds) {
            (None, None) => (before.cron, before.interval_seconds),
            _ => (None, None),
        };
        let cron = self.cron.or(kept_cron);
        let has_cron = cron.is_some();
        let kept_zone = before.time_zone.or_else(|| Some(DEFAULT_ZONE.to_owned()));
        ScheduleSettings {
            name: self
                .name
                .map_or(before.name, |name| check_name(&name, errors)),
            cron,
            time_zone: self.time_zone.or_else(|| kept_zone.filter(|_| has_cron)),
            interval_seconds: interval.or(kept_interval),
            job: job.unwrap_or(before.job),
            paused: self.paused.unwrap_or(before.paused),
            overlap: self.overlap.unwrap_or(before.overlap),
            catch_up: self.catch_up.unwrap_or(before.catch_up),
            catch_up_limit: check_catch_up_limit(self.catch_up_limit, errors)
                .unwrap_or(before.catch_up_limit),
            jitter_seconds: check_jitter(self.jitter_seconds, errors)
                .unwrap_or(before.jitter_seconds),
            starts_at: self.starts_at.unwrap_or(before.starts_at),
            ends_at: self.ends_at.unwrap_or(before.ends_at),
        }
    }
}

/// Returns the timing of a schedule with these settings, and adds an error for settings that contradict each other.
pub(super) fn check_timing(
    settings: &ScheduleSettings,
    created_at: DateTime<Utc>,
    now: DateTime<Utc>,
    errors: &mut Vec<FieldError>,
) -> Option<ScheduleTiming> {
    let error = match (&settings.cron, settings.interval_seconds) {
        (Some(_), Some(_)) => FieldError::new(
            "/interval_seconds",
            "a schedule has `cron` or `interval_seconds`, not both",
        ),
        // An interval that is out of range already has an error.
        (None, None)
            if errors
                .iter()
                .any(|error| error.pointer == "/interval_seconds") =>
        {
            return None;
        }
        (None, None) => FieldError::new("", "say when it runs: set `cron` or `interval_seconds`"),
        (None, Some(_)) if settings.time_zone.is_some() => FieldError::new(
            "/time_zone",
            "only a cron pattern has a time zone; leave it out",
        ),
        _ => match settings.timing(created_at) {
            Ok(timing) if timing.next_after(now).is_some() => return Some(timing),
            Ok(_) => FieldError::new("/ends_at", "the schedule would end before its next run"),
            Err(error @ RecurrenceError::Zone) => FieldError::new("/time_zone", error.to_string()),
            Err(error) => FieldError::new("/cron", error.to_string()),
        },
    };
    errors.push(error);
    None
}

/// Returns the request in its stored form: the fields that the client gave, without null fields.
pub(super) fn to_stored(job: &CreateJob) -> Result<Box<RawValue>, ApiError> {
    let mut value = serde_json::to_value(job).map_err(|error| ApiError::Internal(error.into()))?;
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    serde_json::value::to_raw_value(&value).map_err(|error| ApiError::Internal(error.into()))
}

fn check_name(text: &str, errors: &mut Vec<FieldError>) -> String {
    match name::parse(text) {
        Ok(name) => name,
        Err(error) => {
            errors.push(error);
            String::new()
        }
    }
}

pub(super) fn check_interval(
    given: Option<WholeNumber>,
    errors: &mut Vec<FieldError>,
) -> Option<i32> {
    number::check(given, INTERVAL_SECONDS, "/interval_seconds", errors)
}

fn check_catch_up_limit(given: Option<WholeNumber>, errors: &mut Vec<FieldError>) -> Option<i32> {
    number::check(given, CATCH_UP_LIMIT, "/catch_up_limit", errors)
}

fn check_jitter(given: Option<WholeNumber>, errors: &mut Vec<FieldError>) -> Option<i32> {
    number::check(given, JITTER_SECONDS, "/jitter_seconds", errors)
}
