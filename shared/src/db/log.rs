//! Appends to the logs of jobs, in one statement that also updates their runs.

mod columns;
mod finish;
mod written;

pub use finish::finish;
pub use written::list_written;

use chrono::{DateTime, Utc};
use columns::Columns;
use sqlx::PgExecutor;

use super::notifier::{self, DueNotifications};
use super::{Connection, JsonText};
use crate::event::{ApprovalStatus, EventData, EventKind, RetryCause};
use crate::id::JobId;
use crate::job::Outcome;

/// The right to write for a job. The number increases with each lease, and a write under an old number changes
/// nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    /// The job.
    pub job: JobId,
    /// The number.
    pub number: i64,
}

/// An append under one lease.
pub struct Append {
    /// The lease.
    pub lease: Lease,
    /// The sequence number of the last event before this append. If an append is repeated because its response was
    /// lost, the number no longer matches.
    pub base: i64,
    /// The events in order. Never empty.
    pub events: Vec<EventData>,
    /// The transition of the run.
    pub next: RunTransition,
}

/// The transition of a run in an append.
pub enum RunTransition {
    /// The run continues.
    Continue,
    /// The lease ends, and another worker may begin at `run_at`.
    Requeue {
        /// The counter to increment.
        cause: RetryCause,
        /// The earliest start.
        run_at: DateTime<Utc>,
    },
    /// The lease ends, and the job waits for its approvals.
    Wait,
    /// The approvals are resolved, and a worker may continue.
    Resume,
    /// The job ends. The last event is its terminal event.
    Finish {
        /// The outcome.
        outcome: Outcome,
        /// The time of the end.
        at: DateTime<Utc>,
        /// The `JobResult` as JSON.
        result: String,
        /// SHA-256 of the skill that ran, hexadecimal.
        skill_digest: Option<String>,
    },
}

/// The outcome of an append.
#[derive(Debug, Default)]
pub struct Appended {
    /// The leases that were still valid.
    pub valid: Vec<Lease>,
    /// The notifications to send after the commit.
    pub due: DueNotifications,
}

/// Appends in a transaction, which sends the notifications when it commits. Only for rare writes: the log writer sends
/// notifications on another connection.
pub async fn append_and_notify(db: &mut Connection, batch: &[Append]) -> sqlx::Result<Vec<Lease>> {
    let Appended { valid, due } = append(&mut *db, batch).await?;
    notifier::send(db, &due).await?;
    Ok(valid)
}

/// Appends for many jobs at once and returns the leases that were still valid. For a valid lease, all effects are
/// applied: events are numbered and inserted, announced assets become visible, approvals are requested and resolved,
/// the run is updated or deleted, the result is stored, milestones are added to the feed, and the next job of the
/// conversation is admitted. For an invalid lease, nothing is changed.
///
/// At most one lease of a job is valid. Appends under its other leases are ignored. The caller sends the notifications
/// after the commit.
#[expect(
    clippy::too_many_lines,
    reason = "it is one statement, or nothing of what it says would hold"
)]
pub async fn append(db: impl PgExecutor<'_>, batch: &[Append]) -> sqlx::Result<Appended> {
    let Columns {
        appends,
        events,
        deltas,
        assets,
        requested,
        resolved,
        milestones,
    } = Columns::of(batch);
    let rows = sqlx::query!(
        r#"
        with append as materialized (
            select *
            from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::int[], $5::text[], $6::timestamptz[], $7::job_outcome[], $8::json[], $9::text[])
                with ordinality as t (job_id, lease, base, events, transition, at, outcome, result, skill_digest, number)
        ),
        continued as (
            update run set
                last_seq = run.last_seq + append.events,
                lease = case when append.transition is null then run.lease else run.lease + 1 end,
                state = case
                    when append.transition is null then run.state
                    when append.transition = 'wait' then 'waiting'
                    when append.transition = 'resume' or append.at <= now() then 'ready'
                    else 'scheduled'
                end,
                -- The time of waiting does not count.
                spent = case
                    when append.transition is null or run.state = 'waiting' then run.spent
                    else run.spent + (now() - run.claimed_at)
                end,
                worker_id = case when append.transition is null then run.worker_id end,
                run_at = coalesce(append.at, run.run_at),
                rank = run.rank + (coalesce(append.at, run.run_at) - run.run_at),
                crashes = run.crashes + (append.transition is not distinct from 'crash')::int::smallint,
                drains = run.drains + (append.transition is not distinct from 'drain')::int::smallint,
                model_outages = run.model_outages + (append.transition is not distinct from 'model_outage')::int::smallint,
                failures = run.failures + (append.transition is not distinct from 'failure')::int::smallint,
                unreadable = run.unreadable + (append.transition is not distinct from 'unreadable')::int::smallint
            from append
            where run.job_id = append.job_id and run.lease = append.lease and run.last_seq = append.base and append.outcome is null
            returning append.number, run.job_id, run.tenant_id, append.lease, append.base, run.attempt, append.transition, run.state, run.fed, run.followed_until
        ),
        ended as (
            delete from run
            using append
            where run.job_id = append.job_id and run.lease = append.lease and run.last_seq = append.base and append.outcome is not null
            returning append.number, run.job_id, run.tenant_id, append.lease, append.base, run.attempt, run.started_at, run.conversation_id, run.state, run.fed, run.followed_until,
                append.outcome, append.at, append.result, append.skill_digest
        ),
        finished as (
            insert into job_end (job_id, outcome, started_at, finished_at, result, skill_digest)
            select job_id, outcome, started_at, at, result, decode(skill_digest, 'hex') from ended
        ),
        uncounted as (
            insert into uncounted_end (job_id) select job_id from ended
        ),
        next as (
            select head.job_id
            from ended
            cross join lateral (
                select job_id from run
                where run.conversation_id = ended.conversation_id and run.state = 'blocked'
                order by position
                limit 1
                -- Waits for a transaction that cancels this job; then the next job is the head.
                for update
            ) as head
            where ended.conversation_id is not null and ended.state <> 'blocked'
        ),
        admitted as (
            update run set state = case when run.run_at <= now() then 'ready'::run_state else 'scheduled' end
            from next
            where run.job_id = next.job_id and run.state = 'blocked'
            returning run.tenant_id, run.state
        ),
        -- Lanes that received ready jobs, and those that may no longer be at their cap.
        marked as (
            select mark_lanes_ready(array_agg(tenant_id) filter (where is_filled), array_agg(tenant_id) filter (where not is_filled))
            from (
                select tenant_id, true as is_filled from continued where transition is not null and state = 'ready'
                union
                select tenant_id, true from admitted where state = 'ready'
                union
                select id, false
                from (select tenant_id from continued where transition is not null union select tenant_id from ended) as freed
                join tenant on tenant.id = freed.tenant_id and max_running is not null
            ) as lane
            having count(*) > 0
        ),
        valid as (
            select
                number, job_id, lease, base, attempt, tenant_id, fed, followed_until,
                case state when 'running' then 'running' when 'waiting' then 'waiting' else 'queued' end as status,
                -- Not the transaction's time: it may have begun before an event that it waited for.
                clock_timestamp() as written_at
            from continued
            union all
            select number, job_id, lease, base, attempt, tenant_id, fed, followed_until, outcome::text, clock_timestamp() from ended
        ),
        announced as (
            update asset set visible = true
            from unnest($14::bigint[], $15::uuid[]) as output (append, asset_id)
            join valid on valid.number = output.append
            where asset.id = output.asset_id and asset.job_id = valid.job_id
        ),
        requested as (
            insert into approval (id, tenant_id, job_id, requested_seq, expires_at)
            select call.approval_id, continued.tenant_id, continued.job_id, continued.base + call.position, call.expires_at
            from unnest($16::bigint[], $17::int[], $18::uuid[], $19::timestamptz[]) as call (append, position, approval_id, expires_at)
            join continued on continued.number = call.append
        ),
        resolved as (
            update approval set status = answer.status, resolved_seq = valid.base + answer.position
            from unnest($20::bigint[], $21::int[], $22::uuid[], $23::approval_status[]) as answer (append, position, approval_id, status)
            join valid on valid.number = answer.append
            where approval.id = answer.approval_id and approval.job_id = valid.job_id and approval.status = 'pending'
        ),
        inserted as (
            insert into job_event (job_id, seq, type, at, attempt, data)
            select valid.job_id, valid.base + event.position, event.type, valid.written_at, valid.attempt, event.data
            from unnest($10::bigint[], $11::int[], $12::text[], $13::json[]) as event (append, position, type, data)
            join valid on valid.number = event.append
        ),
        inserted_deltas as (
            insert into job_delta (job_id, seq, type, at, attempt, data)
            select valid.job_id, valid.base + event.position, event.type, valid.written_at, valid.attempt, event.data
            from unnest($27::bigint[], $28::int[], $29::text[], $30::json[]) as event (append, position, type, data)
            join valid on valid.number = event.append
        ),
        fed as (
            insert into feed (tenant_id, job_id, seq, type, at, status)
            select valid.tenant_id, valid.job_id, valid.base + milestone.position, milestone.type, valid.written_at, valid.status
            from unnest($24::bigint[], $25::int[], $26::text[]) as milestone (append, position, type)
            join valid on valid.number = milestone.append and valid.fed
            returning 1
        )
        select
            valid.job_id as "job_id!", valid.lease as "lease!",
            (
                coalesce(valid.followed_until > now(), false)
                or exists (select from followed_job where followed_job.job_id = valid.job_id and until > now())
            ) as "is_followed!",
            exists (select from admitted) as "has_admitted!",
            exists (select from fed) as "has_fed!"
        from valid left join marked on true
        "#,
        &appends.job_id,
        &appends.lease,
        &appends.base,
        &appends.events,
        &appends.transition as &[Option<&str>],
        &appends.at as &[Option<DateTime<Utc>>],
        &appends.outcome as &[Option<Outcome>],
        &appends.result as &[Option<JsonText>],
        &appends.skill_digest as &[Option<String>],
        &events.append,
        &events.position,
        &events.kind as &[EventKind],
        &events.data as &[JsonText],
        &assets.append,
        &assets.asset_id,
        &requested.append,
        &requested.position,
        &requested.approval_id,
        &requested.expires_at,
        &resolved.append,
        &resolved.position,
        &resolved.approval_id,
        &resolved.status as &[ApprovalStatus],
        &milestones.append,
        &milestones.position,
        &milestones.kind as &[EventKind],
        &deltas.append,
        &deltas.position,
        &deltas.kind as &[EventKind],
        &deltas.data as &[JsonText],
    )
    .fetch_all(db)
    .await?;
    let mut appended = Appended::default();
    for row in rows {
        let job = JobId(row.job_id);
        appended.valid.push(Lease {
            job,
            number: row.lease,
        });
        let due = &mut appended.due;
        due.followed.extend(row.is_followed.then_some(job));
        due.work |= row.has_admitted;
        due.feed |= row.has_fed;
    }
    Ok(appended)
}

/// The maximum number of jobs in a batch.
pub const MAX_BATCH_JOBS: usize = 200;
