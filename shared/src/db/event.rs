//! Reading the logs of jobs.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::value::RawValue;
use sqlx::PgExecutor;
use uuid::Uuid;

use super::Connection;
use crate::event::{Event, EventData, EventKind, JobEvent, Progress, ToolCompleted};
use crate::id::JobId;

/// Events that are read at once to add them up: each may hold a whole reply.
const PROGRESS_PAGE: i64 = 100;
/// Results of one reply's calls that are read: more than a provider lets a reply have.
const MAX_CALLS: i64 = 10_000;

/// A page of a job's log after `after`, in order. `types` empty means all.
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

/// The number of the `count`-th last event of a type in a job's log.
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

/// The progress of a job, from its log. Entries that this release cannot read do not count.
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

/// A result for each call of a job's last reply that has none, for a job that ends without a worker. The calls of a
/// reply that this release cannot read are unknown.
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

/// The data of an event; `None`, with a log line, if this release cannot read it.
fn parse(job: JobId, event: &Event) -> Option<EventData> {
    let parsed = event.parse();
    if let Err(error) = &parsed {
        let error = error as &dyn std::error::Error;
        tracing::warn!(%job, seq = event.seq, kind = event.kind, error, "an entry of a log is left out");
    }
    parsed.ok()
}

/// New events of many jobs, each after its position, in order; at most `limit` events a job.
///
/// Of live output it returns what was written in the last `unread_for` and the hour before, in which its transaction
/// may have begun. So it reads the partition of one day, or of two around midnight. After the clock of the database was
/// set back by more than an hour, live output is missing for as long; later entries repeat it as a whole.
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

/// Removes a job's log.
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
