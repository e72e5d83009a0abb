//! Appending to logs: the one statement through which every job moves once it is queued.

mod finish;
mod written;

pub use finish::finish;
pub use written::list_written;

use chrono::{DateTime, Utc};
use sqlx::PgExecutor;
use uuid::Uuid;

use super::{EVENTS_CHANNEL, JsonText, WORK_CHANNEL};
use crate::approval::ApprovalStatus;
use crate::event::{EventData, RetryCause};
use crate::id::{AssetId, JobId};
use crate::job::Outcome;

/// The right to write for a job. The number only grows, and a write under an old one changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    /// The job.
    pub job: JobId,
    /// The number.
    pub number: i64,
}

/// What one holder of a lease appends in one go.
pub struct Append {
    /// Under which right.
    pub lease: Lease,
    /// The last entry so far. An append that was written although its answer got lost does not match
    /// when it is tried again.
    pub base: i64,
    /// In order; never empty.
    pub events: Vec<EventData>,
    /// What becomes of the run.
    pub next: Next,
}

/// What becomes of a run with an append.
pub enum Next {
    /// It goes on.
    Continue,
    /// The lease ends, and another worker may begin at `run_at`.
    Requeue {
        /// Which counter this raises.
        cause: RetryCause,
        /// The earliest start.
        run_at: DateTime<Utc>,
    },
    /// The lease ends, and there is nothing to do until its approvals are answered.
    Wait,
    /// They are answered, and a worker may go on.
    Resume,
    /// The job ends; the last of the events is its terminal one.
    Finish {
        /// How.
        outcome: Outcome,
        /// When.
        at: DateTime<Utc>,
        /// The `JobResult` as JSON.
        result: String,
        /// SHA-256 of the skill that ran, hexadecimal.
        skill_digest: Option<String>,
    },
}

/// Appends for many jobs at once, and returns the leases that were still good. For each of those all
/// of it has happened (events numbered and written, announced assets visible, approvals asked for and
/// answered, run moved or gone, result stored, the next of its conversation admitted), for the others nothing.
///
/// Of two leases of one job at most one is good; what the other brings is left out. One notification a call, however
/// many jobs.
#[expect(
    clippy::too_many_lines,
    reason = "it is one statement, or nothing of what it says would hold"
)]
pub async fn append(db: impl PgExecutor<'_>, batch: &[Append]) -> sqlx::Result<Vec<Lease>> {
    let runs = Runs::of(batch);
    let events = Events::of(batch);
    let approvals = Approvals::of(batch);
    let good = sqlx::query!(
        r#"
        with entry as materialized (
            select *
            from unnest($1::uuid[], $2::bigint[], $15::bigint[], $3::int[], $4::text[], $5::timestamptz[], $6::job_outcome[], $7::json[], $25::text[])
                with ordinality as t (job_id, lease, base, events, turn, moment, outcome, result, skill_digest, number)
        ),
        kept as (
            update run set
                last_seq = run.last_seq + entry.events,
                lease = case when entry.turn is null then run.lease else run.lease + 1 end,
                state = case
                    when entry.turn is null then run.state
                    when entry.turn = 'wait' then 'waiting'
                    when entry.turn = 'resume' or entry.moment <= now() then 'ready'
                    else 'scheduled'
                end,
                -- Nobody works on it while it waits.
                spent = case
                    when entry.turn is null or run.state = 'waiting' then run.spent
                    else run.spent + (now() - run.claimed_at)
                end,
                worker_id = case when entry.turn is null then run.worker_id end,
                run_at = coalesce(entry.moment, run.run_at),
                rank = run.rank + (coalesce(entry.moment, run.run_at) - run.run_at),
                crashes = run.crashes + (entry.turn is not distinct from 'crash')::int::smallint,
                drains = run.drains + (entry.turn is not distinct from 'drain')::int::smallint,
                model_outages = run.model_outages + (entry.turn is not distinct from 'model_outage')::int::smallint,
                failures = run.failures + (entry.turn is not distinct from 'failure')::int::smallint,
                unreadable = run.unreadable + (entry.turn is not distinct from 'unreadable')::int::smallint
            from entry
            where run.job_id = entry.job_id and run.lease = entry.lease and run.last_seq = entry.base and entry.outcome is null
            returning entry.number, run.job_id, run.tenant_id, entry.lease, entry.base, run.attempt, entry.turn, run.state
        ),
        ended as (
            delete from run
            using entry
            where run.job_id = entry.job_id and run.lease = entry.lease and run.last_seq = entry.base and entry.outcome is not null
            returning entry.number, run.job_id, run.tenant_id, entry.lease, entry.base, run.attempt, run.started_at, run.conversation_id, run.state,
                entry.outcome, entry.moment, entry.result, entry.skill_digest
        ),
        finished as (
            insert into job_end (job_id, outcome, started_at, finished_at, result, skill_digest)
            select job_id, outcome, started_at, moment, result, decode(skill_digest, 'hex') from ended
        ),
        next as (
            select head.job_id
            from ended
            cross join lateral (
                select job_id from run
                where run.conversation_id = ended.conversation_id and run.state = 'blocked'
                order by place
                limit 1
                -- One that is being cancelled is waited for, and then the next one is it.
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
        -- Lanes into which something came, and those that may be full no more.
        opened as (
            select open_lanes(array_agg(tenant_id) filter (where is_ready), array_agg(tenant_id) filter (where not is_ready))
            from (
                select tenant_id, true as is_ready from kept where turn is not null and state = 'ready'
                union
                select tenant_id, true from admitted where state = 'ready'
                union
                select id, false
                from (select tenant_id from kept where turn is not null union all select tenant_id from ended) as gone
                join tenant on tenant.id = gone.tenant_id and max_running is not null
            ) as stirred
            having count(*) > 0
        ),
        called as (
            select pg_notify($16, '') from admitted limit 1
        ),
        good as (
            select number, job_id, lease, base, attempt from kept
            union all
            select number, job_id, lease, base, attempt from ended
        ),
        shown as (
            update asset set visible = true
            from unnest($12::uuid[], $13::bigint[]) as announced (asset_id, entry)
            join good on good.number = announced.entry
            where asset.id = announced.asset_id and asset.job_id = good.job_id
        ),
        asked as (
            insert into approval (id, tenant_id, job_id, requested_seq, expires_at)
            select call.approval_id, kept.tenant_id, kept.job_id, kept.base + call.place, call.expires_at
            from unnest($17::uuid[], $18::bigint[], $19::int[], $20::timestamptz[]) as call (approval_id, entry, place, expires_at)
            join kept on kept.number = call.entry
        ),
        answered as (
            update approval set status = answer.status, resolved_seq = good.base + answer.place
            from unnest($21::uuid[], $22::bigint[], $23::int[], $24::approval_status[]) as answer (approval_id, entry, place, status)
            join good on good.number = answer.entry
            where approval.id = answer.approval_id and approval.job_id = good.job_id and approval.status = 'pending'
        ),
        written as (
            insert into job_event (job_id, seq, type, at, attempt, data)
            select good.job_id, good.base + event.place, event.type, now(), good.attempt, event.data
            from unnest($8::bigint[], $9::int[], $10::text[], $11::json[]) as event (entry, place, type, data)
            join good on good.number = event.entry
        ),
        told as (
            select pg_notify($14, string_agg(job_id::text, ',')) from good
        )
        select good.job_id as "job_id!", good.lease as "lease!"
        from good, told left join called on true left join opened on true
        "#,
        &runs.jobs,
        &runs.leases,
        &runs.events,
        &runs.turns as &[Option<&str>],
        &runs.moments as &[Option<DateTime<Utc>>],
        &runs.outcomes as &[Option<Outcome>],
        &runs.results as &[Option<JsonText>],
        &events.entries,
        &events.places,
        &events.types,
        &events.data as &[JsonText],
        &events.assets,
        &events.asset_entries,
        EVENTS_CHANNEL,
        &runs.bases,
        WORK_CHANNEL,
        &approvals.asked,
        &approvals.asking_entries,
        &approvals.asked_places,
        &approvals.expiries,
        &approvals.answered,
        &approvals.answered_entries,
        &approvals.answered_places,
        &approvals.statuses as &[ApprovalStatus],
        &runs.skill_digests as &[Option<String>],
    )
    .fetch_all(db)
    .await?;
    Ok(good
        .into_iter()
        .map(|row| Lease {
            job: JobId(row.job_id),
            number: row.lease,
        })
        .collect())
}

/// How many jobs one batch may touch, so that their ids fit into a notification of 8,000 bytes.
pub const MAX_BATCH_JOBS: usize = 200;

/// One row a job, as the arrays that the statement takes.
#[derive(Default)]
struct Runs {
    jobs: Vec<Uuid>,
    leases: Vec<i64>,
    bases: Vec<i64>,
    events: Vec<i32>,
    turns: Vec<Option<&'static str>>,
    moments: Vec<Option<DateTime<Utc>>>,
    outcomes: Vec<Option<Outcome>>,
    results: Vec<Option<JsonText>>,
    skill_digests: Vec<Option<String>>,
}

impl Runs {
    fn of(batch: &[Append]) -> Self {
        let mut runs = Self::default();
        for append in batch {
            let (turn, moment, outcome, result) = match &append.next {
                Next::Continue => (None, None, None, None),
                Next::Wait => (Some("wait"), None, None, None),
                Next::Resume => (Some("resume"), None, None, None),
                Next::Requeue { cause, run_at } => {
                    (Some(cause.as_str()), Some(*run_at), None, None)
                }
                Next::Finish {
                    outcome,
                    at,
                    result,
                    ..
                } => (
                    None,
                    Some(*at),
                    Some(*outcome),
                    Some(JsonText(result.clone())),
                ),
            };
            let skill_digest = match &append.next {
                Next::Finish { skill_digest, .. } => skill_digest.clone(),
                _ => None,
            };
            runs.jobs.push(append.lease.job.0);
            runs.leases.push(append.lease.number);
            runs.bases.push(append.base);
            runs.events
                .push(i32::try_from(append.events.len()).expect("a batch is capped"));
            runs.turns.push(turn);
            runs.moments.push(moment);
            runs.outcomes.push(outcome);
            runs.results.push(result);
            runs.skill_digests.push(skill_digest);
        }
        runs
    }
}

/// One row an event, and one an announced asset, each with the number of its append, from 1. Not with its job: that may
/// have another append in the batch, under another lease.
#[derive(Default)]
struct Events {
    entries: Vec<i64>,
    places: Vec<i32>,
    types: Vec<String>,
    data: Vec<JsonText>,
    assets: Vec<Uuid>,
    asset_entries: Vec<i64>,
}

impl Events {
    fn of(batch: &[Append]) -> Self {
        let mut rows = Self::default();
        for (number, append) in (1..).zip(batch) {
            for (place, event) in (1..).zip(&append.events) {
                let (kind, data) = event.to_stored();
                rows.entries.push(number);
                rows.places.push(place);
                rows.types.push(kind);
                rows.data.push(JsonText(data));
                if let EventData::AssetCreated(created) = event {
                    let AssetId(asset) = created.asset.id;
                    rows.assets.push(asset);
                    rows.asset_entries.push(number);
                }
            }
        }
        rows
    }
}

/// One row an approval that is asked for, and one an approval that is answered, each with the number of its append.
#[derive(Default)]
struct Approvals {
    asked: Vec<Uuid>,
    asking_entries: Vec<i64>,
    asked_places: Vec<i32>,
    expiries: Vec<DateTime<Utc>>,
    answered: Vec<Uuid>,
    answered_entries: Vec<i64>,
    answered_places: Vec<i32>,
    statuses: Vec<ApprovalStatus>,
}

impl Approvals {
    fn of(batch: &[Append]) -> Self {
        let mut rows = Self::default();
        for (number, append) in (1..).zip(batch) {
            for (place, event) in (1..).zip(&append.events) {
                match event {
                    EventData::ApprovalRequested(requested) => {
                        rows.asked.push(requested.approval_id.0);
                        rows.asking_entries.push(number);
                        rows.asked_places.push(place);
                        rows.expiries.push(requested.expires_at);
                    }
                    EventData::ApprovalResolved(resolved) => {
                        rows.answered.push(resolved.approval_id.0);
                        rows.answered_entries.push(number);
                        rows.answered_places.push(place);
                        rows.statuses.push(resolved.status);
                    }
                    _ => {}
                }
            }
        }
        rows
    }
}
