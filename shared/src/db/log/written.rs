//! What to ask when the answer to an append got lost.

use sqlx::PgExecutor;
use uuid::Uuid;

use super::Append;
use crate::event::EventData;
use crate::id::JobId;

/// Which of these appends, each with the attempt that made it, are written. The last entries are compared as they
/// are: whoever took a job over wrote under its last attempt too.
pub async fn list_written(
    db: impl PgExecutor<'_>,
    appends: &[(&Append, i32)],
) -> sqlx::Result<Vec<JobId>> {
    let mut entries = Entries::default();
    for (append, attempt) in appends {
        let last = append.events.last().map(EventData::to_stored);
        entries.jobs.push(append.lease.job.0);
        entries.seqs.push(append.base + append.events.len() as i64);
        entries.attempts.push(*attempt);
        let (kind, data) = last.unwrap_or_default();
        entries.types.push(kind);
        entries.data.push(data);
    }
    let written = sqlx::query_scalar!(
        r#"select event.job_id
           from unnest($1::uuid[], $2::bigint[], $3::int[], $4::text[], $5::text[]) as entry (job_id, seq, attempt, type, data)
           join job_event as event using (job_id, seq, attempt, type)
           where event.data::text = entry.data"#,
        &entries.jobs,
        &entries.seqs,
        &entries.attempts,
        &entries.types,
        &entries.data,
    )
    .fetch_all(db)
    .await?;
    Ok(written.into_iter().map(JobId).collect())
}

/// The last entries of appends, as the arrays that a query takes.
#[derive(Default)]
struct Entries {
    jobs: Vec<Uuid>,
    seqs: Vec<i64>,
    attempts: Vec<i32>,
    types: Vec<String>,
    data: Vec<String>,
}
