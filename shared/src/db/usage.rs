//! Usage over time: the usage of a tenant's ended jobs by day, skill, agent and model.

mod count;

pub use count::{count_ended, count_jobs};

use chrono::NaiveDate;
use sqlx::PgExecutor;

use crate::id::TenantId;
use crate::money::Usd;
use crate::usage::{UsageGroup, UsageGrouping};

/// Lists the usage of a tenant between two days, both included. Days are in chronological order. Other groups are
/// ordered by cost, highest first.
pub async fn list(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    by: UsageGrouping,
    (first, last): (NaiveDate, NaiveDate),
    (offset, limit): (i64, i64),
) -> sqlx::Result<Vec<UsageGroup>> {
    let rows = sqlx::query!(
        r#"select
               nullif(key, '') as key,
               sum(completed)::bigint as "completed!",
               sum(failed)::bigint as "failed!",
               sum(cancelled)::bigint as "cancelled!",
               sum(input_tokens)::bigint as "input_tokens!",
               sum(output_tokens)::bigint as "output_tokens!",
               sum(cost)::bigint as "cost!",
               sum(duration_ms)::bigint as "duration_ms!"
           from usage
           cross join lateral (
               select case $2 when 'day' then day::text when 'skill' then skill when 'agent' then agent else model end as key
           ) as grouping
           where tenant_id = $1 and day between $3 and $4
           group by key
           order by case when $2 = 'day' then key end, sum(cost) desc, sum(input_tokens + output_tokens) desc, key
           offset $5
           limit $6"#,
        tenant.0,
        by.as_str(),
        first,
        last,
        offset,
        limit,
    )
    .fetch_all(db)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| UsageGroup {
            key: row.key,
            completed: row.completed,
            failed: row.failed,
            cancelled: row.cancelled,
            input_tokens: row.input_tokens.unsigned_abs(),
            output_tokens: row.output_tokens.unsigned_abs(),
            cost_usd: Usd::from_nanos(row.cost.unsigned_abs()),
            duration_ms: row.duration_ms,
        })
        .collect())
}
