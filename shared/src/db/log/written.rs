//! Recovery of an append whose response was lost.

use sqlx::PgExecutor;
use uuid::Uuid;

use super::{Append, Lease};
use crate::event::EventData;
use crate::id::JobId;

/// Returns the leases of the appends that were written. Each append comes with its attempt. The last events are
/// compared as text, because a worker that takes over a job also writes under its last attempt.
pub async fn list_written(
    db: impl PgExecutor<'_>,
    appends: &[(&Append, i32)],
) -> sqlx::Result<Vec<Lease>> {
    let mut entries = Entries::default();
    for (append, attempt) in appends {
        let last = append.events.last().map(EventData::to_stored);
        entries.jobs.push(append.lease.job.0);
        entries.leases.push(append.lease.number);
        entries.seqs.push(append.base + append.events.len() as i64);
        entries.attempts.push(*attempt);
        let (kind, data) = last.unwrap_or_default();
        entries.types.push(kind);
        entries.data.push(data);
    }
    let written = sqlx::query!(
        r#"select entry.job_id as "job_id!", entry.lease as "lease!"
           from unnest($1::uuid[], $2::bigint[], $3::int[], $4::text[], $5::text[], $6::bigint[]) as entry (job_id, seq, attempt, type, data, lease)
           join lateral (
               select data from job_event as event
               where event.job_id = entry.job_id and event.seq = entry.seq and event.attempt = entry.attempt and event.type = entry.type
               union all
               select data from job_delta as event
               where event.job_id = entry.job_id and event.seq = entry.seq and event.attempt = entry.attempt and event.type = entry.type
           ) as event on event.data::text = entry.data"#,
        &entries.jobs,
        &entries.seqs,
        &entries.attempts,
        &entries.types,
        &entries.data,
        &entries.leases,
    )
    .fetch_all(db)
    .await?;
    let leases = written.into_iter().map(|row| Lease {
        job: JobId(row.job_id),
        number: row.lease,
    });
    Ok(leases.collect())
}

/// The last events of appends, as arrays for a query.
#[derive(Default)]
struct Entries {
    jobs: Vec<Uuid>,
    leases: Vec<i64>,
    seqs: Vec<i64>,
    attempts: Vec<i32>,
    types: Vec<String>,
    data: Vec<String>,
}
