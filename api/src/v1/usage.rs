//! `/v1/usage`

use actix_web::get;
use actix_web::web::{Data, Json};
use chrono::{Datelike, Days, NaiveDate};
use serde::Deserialize;
use shared::db::{self, Pool};
use shared::usage::{UsageGroup, UsageGrouping};
use utoipa::IntoParams;

use crate::auth::Caller;
use crate::cursor::{self, Page};
use crate::problem::{ApiError, Problem};
use crate::query::Query;
use crate::v1::jobs::YEARS;

type UsageGroupPage = Page<UsageGroup>;

/// The default number of days before the last day.
const DEFAULT_DAYS: Days = Days::new(29);

/// Query parameters for usage.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListUsage {
    /// The grouping; `day` by default.
    #[param(inline)]
    by: Option<UsageGrouping>,
    /// The first day (UTC), such as `2026-11-01`; 29 days before `to` by default.
    from: Option<NaiveDate>,
    /// The last day (UTC), inclusive; today by default.
    to: Option<NaiveDate>,
    /// The number of entries per page, 1 to 100; 20 by default.
    limit: Option<i64>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// Returns the usage of the tenant's jobs, by day, skill, agent or model.
///
/// A job counts on the day on which it ended, a few seconds after its end. Deleted jobs stay counted. Days are in
/// order, and days on which no job ended are omitted. Skills, agents and models are sorted by cost, the highest
/// first.
#[utoipa::path(tag = "jobs", params(ListUsage), responses(
    (status = 200, description = "A page of usage", body = UsageGroupPage),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[get("/usage")]
pub(crate) async fn list_usage(
    caller: Caller,
    pool: Data<Pool>,
    query: Query<ListUsage>,
) -> Result<Json<UsageGroupPage>, ApiError> {
    let ListUsage {
        by,
        from,
        to,
        limit,
        cursor,
    } = query.into_inner();
    for (name, day) in [("from", from), ("to", to)] {
        if day.is_some_and(|day| !YEARS.contains(&day.year())) {
            let detail = format!("`{name}` must have a year of four digits");
            return Err(ApiError::Malformed(detail));
        }
    }
    let limit = cursor::limit(limit)?;
    // The cursor is an offset, because the sort order has no key for a cursor.
    let offset: u32 = cursor::parse(cursor.as_deref())?.unwrap_or_default();
    let offset = i64::from(offset);
    let last = match to {
        Some(to) => to,
        None => db::now(&**pool).await?.date_naive(),
    };
    let first = from.unwrap_or_else(|| last.checked_sub_days(DEFAULT_DAYS).unwrap_or(last));
    if first > last {
        return Err(ApiError::Malformed(format!(
            "`from` ({first}) must not be after `to` ({last})"
        )));
    }
    let groups = db::usage::list(
        &**pool,
        caller.tenant,
        by.unwrap_or_default(),
        (first, last),
        (offset, limit + 1),
    )
    .await?;
    let next = (offset + limit).to_string();
    Ok(Json(Page::of(groups, limit, |_| next.clone())))
}
