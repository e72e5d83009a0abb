//! A preview of the times of a schedule.

use actix_web::post;
use actix_web::web::{Data, Json as JsonResponse};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use shared::db::schedule::ScheduleSettings;
use shared::db::{self, Pool};
use shared::schedule::{CatchUp, Overlap};
use shared::whole_number::WholeNumber;
use utoipa::ToSchema;

use super::request::{DEFAULT_ZONE, check_interval, check_timing};
use super::view::NEXT_TIMES;
use crate::auth::Caller;
use crate::body::Json;
use crate::problem::{ApiError, FieldError, Problem};
use crate::v1::jobs::instant;

/// The request to preview the times of a schedule. The fields are those of a schedule.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PreviewSchedule {
    /// A cron pattern. Exactly one of `cron` and `interval_seconds`.
    #[schema(example = "30 9 * * 1-5")]
    cron: Option<String>,
    /// The IANA time zone of the pattern; `UTC` by default.
    #[schema(example = "Europe/Berlin")]
    time_zone: Option<String>,
    /// The seconds from one time to the next, counted from `starts_at`, or else from now.
    #[schema(value_type = Option<i32>, minimum = 10, maximum = 31_536_000)]
    interval_seconds: Option<WholeNumber>,
    /// The first time is not earlier than this.
    #[serde(default, deserialize_with = "instant")]
    starts_at: Option<DateTime<Utc>>,
    /// The last time is not later than this.
    #[serde(default, deserialize_with = "instant")]
    ends_at: Option<DateTime<Utc>>,
}

impl PreviewSchedule {
    /// Returns the settings of a schedule with these times. The other settings do not matter.
    fn parse(self, errors: &mut Vec<FieldError>) -> ScheduleSettings {
        let has_cron = self.cron.is_some();
        let default_zone = || has_cron.then(|| DEFAULT_ZONE.to_owned());
        ScheduleSettings {
            name: String::new(),
            time_zone: self.time_zone.or_else(default_zone),
            cron: self.cron,
            interval_seconds: check_interval(self.interval_seconds, errors),
            job: RawValue::NULL.to_owned(),
            paused: false,
            overlap: Overlap::default(),
            catch_up: CatchUp::default(),
            catch_up_limit: 1,
            jitter_seconds: 0,
            starts_at: self.starts_at,
            ends_at: self.ends_at,
        }
    }
}

/// The times of a previewed schedule.
#[derive(Serialize, ToSchema)]
pub(crate) struct SchedulePreview {
    /// The next times, at most five, without jitter.
    next_times: Vec<DateTime<Utc>>,
}

/// Returns the next five times of a schedule that does not exist yet. Nothing is stored.
#[utoipa::path(tag = "schedules",
    request_body(content = PreviewSchedule, example = json!({"cron": "30 9 * * 1-5", "time_zone": "Europe/Berlin"})),
    responses(
        (status = 200, description = "The times", body = SchedulePreview),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[post("/schedules/preview")]
pub(crate) async fn preview_schedule(
    _: Caller,
    body: Json<PreviewSchedule>,
    pool: Data<Pool>,
) -> Result<JsonResponse<SchedulePreview>, ApiError> {
    let now = db::now(&**pool).await?;
    let mut errors = Vec::new();
    let settings = body.0.parse(&mut errors);
    let timing = check_timing(&settings, now, now, &mut errors);
    match timing.filter(|_| errors.is_empty()) {
        Some(timing) => Ok(JsonResponse(SchedulePreview {
            next_times: timing.next_times(now, NEXT_TIMES),
        })),
        None => Err(ApiError::Invalid(errors)),
    }
}
