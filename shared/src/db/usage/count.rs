//! The count of ended jobs in the usage of their tenants and in the history of the queue. Each job counts once.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use chrono::{DateTime, NaiveDate, Timelike, Utc};
use serde::Deserialize;
use serde_json::value::RawValue;
use sqlx::types::Json;
use uuid::Uuid;

use super::super::Connection;
use super::super::columns::columns;
use super::super::queue_history::{EndsInMinute, add_ends};
use crate::id::JobId;
use crate::job::{Outcome, Usage};
use crate::stored::read_or_else;

/// Counts up to `limit` ended jobs, each once, and returns them. Several processes may call this concurrently.
pub async fn count_ended(db: &mut Connection, limit: i64) -> sqlx::Result<Vec<JobId>> {
    let taken = sqlx::query_scalar!(
        "delete from uncounted_end
         where ctid = any(array(select ctid from uncounted_end limit $1 for update skip locked))
         returning job_id",
        limit,
    )
    .fetch_all(&mut *db)
    .await?;
    add(db, &taken).await?;
    Ok(taken.into_iter().map(JobId).collect())
}

/// Counts the jobs that were not counted yet, before they are deleted.
pub async fn count_jobs(db: &mut Connection, jobs: &[JobId]) -> sqlx::Result<()> {
    let jobs: Vec<_> = jobs.iter().map(|job| job.0).collect();
    let taken = sqlx::query_scalar!(
        "delete from uncounted_end where job_id = any($1) returning job_id",
        &jobs,
    )
    .fetch_all(&mut *db)
    .await?;
    add(db, &taken).await
}

/// A job to count.
struct CountedEnd {
    id: JobId,
    tenant_id: Uuid,
    skill: String,
    agent: String,
    model: String,
    outcome: Outcome,
    started_at: Option<DateTime<Utc>>,
    finished_at: DateTime<Utc>,
    result: Json<Box<RawValue>>,
}

/// The part of a result that is counted.
#[derive(Default, Deserialize)]
struct CountedResult {
    #[serde(default)]
    usage: Usage,
}

columns! {
    /// The amounts to add to a row of `usage`.
    struct UsageColumns of UsageRow {
        tenant_id: Uuid,
        day: NaiveDate,
        skill: String,
        agent: String,
        model: String,
        completed: i64,
        failed: i64,
        cancelled: i64,
        input_tokens: i64,
        output_tokens: i64,
        cost: i64,
        duration_ms: i64,
    }
}

impl UsageRow {
    fn of(end: &CountedEnd) -> Self {
        let stored: CountedResult =
            read_or_else("the job's usage", end.id, &end.result, Default::default);
        let Usage {
            tokens, presumed, ..
        } = stored.usage;
        let cost = tokens.cost_usd.unwrap_or_default() + presumed.cost;
        let started = end.started_at.unwrap_or(end.finished_at);
        let [completed, failed, cancelled] = by_outcome(end.outcome);
        Self {
            tenant_id: end.tenant_id,
            day: end.finished_at.date_naive(),
            skill: end.skill.clone(),
            agent: end.agent.clone(),
            model: end.model.clone(),
            completed,
            failed,
            cancelled,
            input_tokens: to_stored(tokens.input_tokens),
            output_tokens: to_stored(tokens.output_tokens),
            cost: to_stored(cost.nanos()),
            duration_ms: (end.finished_at - started).num_milliseconds().max(0),
        }
    }

    fn add(&mut self, other: &Self) {
        self.completed += other.completed;
        self.failed += other.failed;
        self.cancelled += other.cancelled;
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cost = self.cost.saturating_add(other.cost);
        self.duration_ms = self.duration_ms.saturating_add(other.duration_ms);
    }
}

/// Adds the jobs to the rows of their groups and minutes. The rows are updated in order, so that concurrent processes
/// do not deadlock.
async fn add(db: &mut Connection, jobs: &[Uuid]) -> sqlx::Result<()> {
    let ended = list_ended(db, jobs).await?;
    if ended.is_empty() {
        return Ok(());
    }
    let mut groups: BTreeMap<_, UsageRow> = BTreeMap::new();
    let mut minutes: BTreeMap<DateTime<Utc>, EndsInMinute> = BTreeMap::new();
    for end in &ended {
        let row = UsageRow::of(end);
        let ends = minutes.entry(minute_of(end.finished_at)).or_default();
        ends.completed += row.completed as i32;
        ends.failed += row.failed as i32;
        ends.cancelled += row.cancelled as i32;
        let key = (end.tenant_id, row.day, &end.skill, &end.agent, &end.model);
        match groups.entry(key) {
            Entry::Occupied(mut group) => group.get_mut().add(&row),
            Entry::Vacant(group) => _ = group.insert(row),
        }
    }
    let mut columns = UsageColumns::default();
    groups.into_values().for_each(|row| columns.push(row));
    insert(db, &columns).await?;
    add_ends(db, &minutes).await
}

async fn list_ended(db: &mut Connection, jobs: &[Uuid]) -> sqlx::Result<Vec<CountedEnd>> {
    sqlx::query_as!(
        CountedEnd,
        r#"select
               id as "id: JobId", tenant_id, coalesce(skill, '') as "skill!", coalesce(agent, '') as "agent!", model,
               outcome as "outcome: Outcome", started_at, finished_at, result as "result: Json<Box<RawValue>>"
           from job
           join job_end on job_end.job_id = job.id
           where job.id = any($1)"#,
        jobs,
    )
    .fetch_all(db)
    .await
}

async fn insert(db: &mut Connection, rows: &UsageColumns) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into usage as known (tenant_id, day, skill, agent, model, completed, failed, cancelled, input_tokens,
             output_tokens, cost, duration_ms)
         select * from unnest($1::uuid[], $2::date[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[],
             $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[])
         on conflict (tenant_id, day, skill, agent, model) do update set
             completed = known.completed + excluded.completed,
             failed = known.failed + excluded.failed,
             cancelled = known.cancelled + excluded.cancelled,
             input_tokens = known.input_tokens + excluded.input_tokens,
             output_tokens = known.output_tokens + excluded.output_tokens,
             cost = known.cost + excluded.cost,
             duration_ms = known.duration_ms + excluded.duration_ms",
        &rows.tenant_id,
        &rows.day,
        &rows.skill,
        &rows.agent,
        &rows.model,
        &rows.completed,
        &rows.failed,
        &rows.cancelled,
        &rows.input_tokens,
        &rows.output_tokens,
        &rows.cost,
        &rows.duration_ms,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Returns the number of completed, failed and cancelled jobs for one job with this outcome.
fn by_outcome(outcome: Outcome) -> [i64; 3] {
    match outcome {
        Outcome::Completed => [1, 0, 0],
        Outcome::Failed => [0, 1, 0],
        Outcome::Cancelled => [0, 0, 1],
    }
}

fn minute_of(at: DateTime<Utc>) -> DateTime<Utc> {
    let minute = at.with_second(0).and_then(|at| at.with_nanosecond(0));
    minute.unwrap_or(at)
}

/// Converts an amount to its stored type, with a cap that prevents overflow when rows are added up.
fn to_stored(amount: u64) -> i64 {
    const MAX: u64 = 1 << 52;
    amount.min(MAX) as i64
}
