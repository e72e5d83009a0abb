//! Queries of job logs.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::value::RawValue;
use sqlx::PgExecutor;
use uuid::Uuid;

use super::Connection;
use crate::event::{Event, EventData, EventKind, JobEvent, Progress, ToolCompleted};
use crate::id::JobId;

/// The page size for computing the progress of a job. Each event may hold a whole model reply.
const PROGRESS_PAGE: i64 = 100;
/// The maximum number of tool results to read for one model reply. No provider allows that many calls per reply.
const MAX_CALLS: i64 = 10_000;

/// Lists a page of a job's log after `after`, in order. An empty `types` means all types.
pub async fn list(
    db: impl PgExecutor<'_>,
    job: JobId,
    after: i64,
    types: &[EventKind],
    limit: i64,
) -> sqlx::Result<Vec<Event>> {
    let rows = sqlx::query_as!(
        StoredEventRow,
        r#"select job_id as "job_id!", seq as "seq!", type as "kind!", at as "at!", attempt as "attempt!",
               data as "data!: sqlx::types::Json<Box<RawValue>>"
           from list_job_log($1, $2, $3, $4)"#,
        job.0,
        after,
        types as &[EventKind],
        limit,
    )
    .fetch_all(db)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| JobEvent::from(row).event)
        .collect())
}

/// Returns the sequence number of the `count`-th last event of a type in a job's log.
pub async fn get_seq_from_end(
    db: impl PgExecutor<'_>,
    job: JobId,
    kind: EventKind,
    count: i64,
) -> sqlx::Result<Option<i64>> {
    sqlx::query_scalar!(
        "select seq from job_event where job_id = $1 and type = $2 order by seq desc offset $3 - 1::bigint limit 1",
        job.0,
        kind as EventKind,
        count,
    )
    .fetch_optional(db)
    .await
}

/// Computes the progress of a job from its log. Ignores events that this release cannot read.
pub async fn get_progress(db: &mut Connection, job: JobId) -> sqlx::Result<Progress> {
    let mut progress = Progress::default();
    let mut after = 0;
    loop {
        let page = list(&mut *db, job, after, &Progress::TYPES, PROGRESS_PAGE).await?;
        let Some(last) = page.last() else {
            break;
        };
        after = last.seq;
        page.iter()
            .filter_map(|event| parse(job, event))
            .for_each(|event| progress.add(event));
    }
    let calls = sqlx::query_scalar!(
        r#"select count(*) as "count!" from job_event where job_id = $1 and type = 'tool.completed'"#,
        job.0,
    )
    .fetch_one(db)
    .await?;
    progress.usage.tool_calls = u32::try_from(calls).unwrap_or(u32::MAX);
    Ok(progress)
}

/// Returns a result for each unanswered tool call of a job's last reply, for a job that ends without a worker. If this
/// release cannot read the reply, its tool calls are unknown.
pub async fn list_unanswered(db: &mut Connection, job: JobId) -> sqlx::Result<Vec<EventData>> {
    let types = [EventKind::MessageCompleted, EventKind::ToolCompleted];
    let Some(last) = get_seq_from_end(&mut *db, job, EventKind::MessageCompleted, 1).await? else {
        return Ok(Vec::new());
    };
    let mut calls = Vec::new();
    let page = list(db, job, last - 1, &types, MAX_CALLS).await?;
    for event in page.iter().filter_map(|event| parse(job, event)) {
        match event {
            EventData::MessageCompleted(reply) => {
                calls.extend(reply.tool_calls().map(|call| call.call_id.clone()));
            }
            EventData::ToolCompleted(completed) => calls.retain(|id| *id != completed.call_id),
            _ => {}
        }
    }
    let results = calls.into_iter().map(ToolCompleted::unanswered);
    Ok(results.map(EventData::ToolCompleted).collect())
}

/// Parses the data of an event. Logs a warning and returns `None` if this release cannot read it.
fn parse(job: JobId, event: &Event) -> Option<EventData> {
    let parsed = event.parse();
    if let Err(error) = &parsed {
        let error = error as &dyn std::error::Error;
        tracing::warn!(%job, seq = event.seq, kind = event.kind, error, "skipping an unreadable event");
    }
    parsed.ok()
}

/// Lists new events of many jobs, each after its position, in order, with at most `limit` events per job.
///
/// Returns live output from the last `unread_for` and the hour before, in which its transaction may have begun.
/// Therefore it reads the partition of one day, or of two around midnight. If the database clock is set back by more
/// than an hour, live output is missing for that time. Later events repeat it as a whole.
pub async fn follow(
    db: impl PgExecutor<'_>,
    positions: &[(JobId, i64)],
    unread_for: Duration,
    limit: i64,
) -> sqlx::Result<Vec<JobEvent>> {
    let (jobs, after): (Vec<Uuid>, Vec<i64>) =
        positions.iter().map(|(job, after)| (job.0, *after)).unzip();
    let rows = sqlx::query_as!(
        StoredEventRow,
        r#"select event.job_id as "job_id!", event.seq as "seq!", event.type as "kind!", event.at as "at!",
               event.attempt as "attempt!", event.data as "data!: sqlx::types::Json<Box<RawValue>>"
           from unnest($1::uuid[], $2::bigint[]) as followed (job_id, after)
           cross join lateral (
               (
                   select job_id, seq, type, at, attempt, data from job_event
                   where job_event.job_id = followed.job_id and seq > followed.after
                   order by seq
                   limit $3
               )
               union all
               (
                   select job_id, seq, type, at, attempt, data from job_delta
                   where job_delta.job_id = followed.job_id and seq > followed.after
                     and at > now() - interval '1 hour' - $4::bigint * interval '1 second'
                     and at < now() + interval '1 hour'
                   order by seq
                   limit $3
               )
               order by seq
               limit $3
           ) as event
           order by event.job_id, event.seq"#,
        &jobs,
        &after,
        limit,
        unread_for.as_secs().cast_signed(),
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(JobEvent::from).collect())
}

/// Deletes a job's log.
pub async fn delete(db: impl PgExecutor<'_>, job: JobId) -> sqlx::Result<()> {
    sqlx::query!(
        "with deltas as (delete from job_delta where job_id = $1)
         delete from job_event where job_id = $1",
        job.0
    )
    .execute(db)
    .await?;
    Ok(())
}

struct StoredEventRow {
    job_id: Uuid,
    seq: i64,
    kind: String,
    at: DateTime<Utc>,
    attempt: i32,
    data: sqlx::types::Json<Box<RawValue>>,
}

impl From<StoredEventRow> for JobEvent {
    fn from(row: StoredEventRow) -> Self {
        let event = Event {
            seq: row.seq,
            kind: row.kind,
            at: row.at,
            attempt: row.attempt,
            data: row.data.0,
        };
        Self {
            job_id: JobId(row.job_id),
            event,
        }
    }
}
