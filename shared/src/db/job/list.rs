//! Lists of jobs, and counts by status.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sqlx::types::Json;
use sqlx::{PgExecutor, query};

use super::JobRow;
use crate::id::{ConversationId, JobId, TenantId};
use crate::job::{Job, Outcome, Status};

/// The number of newest jobs that are counted.
const MAX_COUNTED: i64 = 10_000;

/// A filter of jobs. An empty filter matches all jobs.
#[derive(Default)]
pub struct JobFilter {
    /// Only jobs with one of these statuses, or any status if empty.
    pub statuses: Vec<Status>,
    /// Only jobs of this skill.
    pub skill: Option<String>,
    /// Only jobs of this agent.
    pub agent: Option<String>,
    /// Only jobs of this conversation.
    pub conversation: Option<ConversationId>,
    /// Only jobs with this `external_id`.
    pub external_id: Option<String>,
    /// Only jobs that were accepted at this time or later.
    pub created_after: Option<DateTime<Utc>>,
    /// Only jobs that were accepted before this time.
    pub created_before: Option<DateTime<Utc>>,
    /// Only jobs with these metadata values. At most three.
    pub metadata: Vec<(String, String)>,
}

impl JobFilter {
    fn statuses(&self) -> Option<Vec<String>> {
        let names = self
            .statuses
            .iter()
            .map(|status| status.as_str().to_owned());
        (!self.statuses.is_empty()).then(|| names.collect())
    }

    /// Returns objects of which the metadata of a job must contain at least one. A text that parses as a number or a
    /// boolean also matches that value.
    fn metadata(&self, place: usize) -> Option<Vec<String>> {
        let (key, text) = self.metadata.get(place)?;
        let scalar = serde_json::from_str::<Value>(text).ok();
        let scalar = scalar.filter(|value| value.is_number() || value.is_boolean());
        let values = [Some(Value::from(text.as_str())), scalar];
        let objects = values.into_iter().flatten();
        Some(
            objects
                .map(|value| json!({ key: value }).to_string())
                .collect(),
        )
    }
}

/// Builds a query of the tenant's jobs that match a filter, ignoring its statuses. The parameters are `$1` to `$10`,
/// and `$tail` uses the ones after them.
macro_rules! filtered {
    ($query:ident!($head:literal, $tail:literal), $tenant:expr, $filter:expr, $($more:expr),+ $(,)?) => {{
        let metadata = [0, 1, 2].map(|place| $filter.metadata(place));
        $query!(
            $head
                + r#"
                where job.tenant_id = $1
                  and ($2::text is null or job.skill = $2)
                  and ($3::text is null or job.agent = $3)
                  and ($4::uuid is null or job.conversation_id = $4)
                  and ($5::text is null or job.external_id = $5)
                  and ($6::timestamptz is null or job.created_at >= $6 and job.id >= first_job_id(greatest($6 - interval '1 day', 'epoch')))
                  and ($7::timestamptz is null or job.created_at < $7 and job.id < first_job_id($7 + interval '1 day'))
                  and ($8::text[] is null or job.metadata::text <> '{}' and job.metadata::jsonb @> any($8::jsonb[]))
                  and ($9::text[] is null or job.metadata::text <> '{}' and job.metadata::jsonb @> any($9::jsonb[]))
                  and ($10::text[] is null or job.metadata::text <> '{}' and job.metadata::jsonb @> any($10::jsonb[]))
                "#
                + $tail,
            $tenant.0,
            $filter.skill,
            $filter.agent,
            $filter.conversation.map(|id| id.0),
            $filter.external_id,
            $filter.created_after,
            $filter.created_before,
            metadata[0].as_deref(),
            metadata[1].as_deref(),
            metadata[2].as_deref(),
            $($more),+
        )
    }};
}

/// Lists the tenant's jobs before `before`, newest first.
pub async fn list(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    filter: &JobFilter,
    before: Option<JobId>,
    limit: i64,
) -> sqlx::Result<Vec<Job>> {
    let statuses = filter.statuses();
    let rows = filtered!(
        select_jobs!(
            "",
            r#"
            and ($11::uuid is null or job.id < $11)
            and ($12::text[] is null or coalesce(
                job_end.outcome::text,
                case run.state when 'running' then 'running' when 'waiting' then 'waiting' else 'queued' end
            ) = any($12))
            order by job.id desc
            limit $13
            "#
        ),
        tenant,
        filter,
        before.map(|id| id.0),
        statuses.as_deref(),
        limit,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(Job::from).collect())
}

/// Counts jobs by status among the newest 10,000 that match the filter, ignoring its statuses.
pub async fn count(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    filter: &JobFilter,
) -> sqlx::Result<BTreeMap<String, i64>> {
    let rows = filtered!(
        query!(
            r#"
            select status as "status!", count(*) as "count!"
            from (
                select coalesce(
                    job_end.outcome::text,
                    case run.state when 'running' then 'running' when 'waiting' then 'waiting' else 'queued' end
                ) as status
                from job
                left join run on run.job_id = job.id
                left join job_end on job_end.job_id = job.id
            "#,
            r#"
                order by job.id desc
                limit $11
            ) as newest
            group by status
            "#
        ),
        tenant,
        filter,
        MAX_COUNTED,
    )
    .fetch_all(db)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| (row.status, row.count))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_reads_as_a_number_stands_for_both() {
        let filter = JobFilter {
            metadata: vec![
                ("order".to_owned(), "4711".to_owned()),
                ("name".to_owned(), "null".to_owned()),
            ],
            ..JobFilter::default()
        };
        let objects = |place| filter.metadata(place).unwrap_or_default();
        assert_eq!(objects(0), [r#"{"order":"4711"}"#, r#"{"order":4711}"#]);
        assert_eq!(objects(1), [r#"{"name":"null"}"#]);
        assert!(filter.metadata(2).is_none());
    }
}
