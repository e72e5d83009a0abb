//! The whole queue: its depth, pauses, and the reasons why a queued job does not run.

use chrono::{DateTime, Utc};
use sqlx::PgExecutor;

use super::WORK_CHANNEL;
use crate::id::JobId;

/// The depth of the queue. All counts are capped at 10,000.
pub struct Depth {
    /// Whether the queue is paused.
    pub paused: bool,
    /// The number of jobs that are ready for a free slot.
    pub ready: i64,
    /// The number of jobs whose earliest start is in the future.
    pub scheduled: i64,
    /// The number of jobs that wait for an earlier job of their conversation.
    pub blocked: i64,
    /// The number of jobs that workers are running.
    pub running: i64,
    /// The number of jobs that wait for approval.
    pub waiting: i64,
    /// The earliest due time of a ready job, among the 10,000 jobs that were created first.
    pub oldest: Option<DateTime<Utc>>,
    /// The paused skills.
    pub paused_skills: Vec<String>,
    /// The number of tenants at their cap of running jobs.
    pub at_capacity: i64,
    /// The time of the database's clock.
    pub now: DateTime<Utc>,
}

/// Counts the jobs of each state with a separate index, up to a limit, so that the cost does not grow with the queue.
///
/// The limits are literals. With parameters, the planner expects to need a whole index and reads all of it first.
pub async fn get_depth(db: impl PgExecutor<'_>) -> sqlx::Result<Depth> {
    sqlx::query_as!(
        Depth,
        r#"select
               (select paused from queue) as "paused!",
               (select count(*) from (select from run where state = 'ready' limit 10000) as one) as "ready!",
               (select count(*) from (select from run where state = 'scheduled' limit 10000) as one) as "scheduled!",
               (select count(*) from (select from run where state = 'blocked' limit 10000) as one) as "blocked!",
               (select count(*) from (select from run where state = 'running' limit 10000) as one) as "running!",
               (select count(*) from (select from run where state = 'waiting' limit 10000) as one) as "waiting!",
               (select min(run_at) from (
                   select run_at, state from run order by job_id limit 10000
               ) as early where state = 'ready') as oldest,
               array(select name from paused_skill order by name) as "paused_skills!",
               (select count(*) from (select from tenant where lane = 'at_cap' limit 10000) as one) as "at_capacity!",
               now() as "now!""#,
    )
    .fetch_one(db)
    .await
}

/// Pauses or resumes the queue and notifies the workers.
pub async fn set_paused(db: impl PgExecutor<'_>, paused: bool) -> sqlx::Result<()> {
    sqlx::query!(
        "with set as (update queue set paused = $1)
         select pg_notify($2, '')",
        paused,
        WORK_CHANNEL,
    )
    .fetch_one(db)
    .await?;
    Ok(())
}

/// Pauses a skill for all tenants.
pub async fn pause_skill(db: impl PgExecutor<'_>, skill: &str) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into paused_skill (name) values ($1) on conflict do nothing",
        skill,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Resumes a skill and notifies the workers.
pub async fn resume_skill(db: impl PgExecutor<'_>, skill: &str) -> sqlx::Result<()> {
    sqlx::query!(
        "with resumed as (delete from paused_skill where name = $1)
         select pg_notify($2, '')",
        skill,
        WORK_CHANNEL,
    )
    .fetch_one(db)
    .await?;
    Ok(())
}

/// Lists the paused skills.
pub async fn list_paused_skills(db: impl PgExecutor<'_>) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!("select name from paused_skill order by name")
        .fetch_all(db)
        .await
}

/// The reasons why a queued job does not run.
pub struct QueueBlockers {
    /// The unfinished job right before this one in its conversation.
    pub earlier: Option<JobId>,
    /// Whether the job is scheduled for later.
    pub is_early: bool,
    /// The earliest start.
    pub run_at: DateTime<Utc>,
    /// Whether the queue is paused.
    pub is_paused: bool,
    /// The skill, if the job has one.
    pub skill: Option<String>,
    /// Whether the skill is paused.
    pub is_skill_paused: bool,
    /// Whether a live worker meets all requirements of the job.
    pub is_runnable: bool,
    /// The programs that the uploaded skill needs; `|` separates alternatives.
    pub needs: Option<Vec<String>>,
    /// The tenant's cap of running jobs, if it is reached.
    pub reached_cap: Option<i32>,
    /// The estimated number of jobs that will start earlier.
    pub ahead: i64,
}

/// Returns the reasons why a job does not run, or `None` if the job is not queued.
///
/// The number of jobs ahead is an estimate: the earlier jobs of the same lane, and the jobs of other lanes that come
/// first by the current virtual times. Counting stops at 1,000.
pub async fn get_blockers(
    db: impl PgExecutor<'_>,
    job: JobId,
) -> sqlx::Result<Option<QueueBlockers>> {
    sqlx::query_as!(
        QueueBlockers,
        r#"
        with mine as materialized (
            select run.*, tenant.virtual_time, tenant.weight, tenant.max_running
            from run
            join tenant on tenant.id = run.tenant_id
            where job_id = $1 and state in ('scheduled', 'ready', 'blocked')
        ),
        live as materialized (
            select skills, programs, isolation from worker where stopped_at is null and not draining
        ),
        able as materialized (
            select
                array(select distinct unnest(skills) from live) as skills,
                array(select distinct unnest(programs) from live) as programs,
                exists (select from live where isolation <> 'landlocked') as has_network
        ),
        before as materialized (
            select count(*) as jobs
            from (
                select
                from mine
                cross join able
                cross join unnest(runnable_kinds(mine.tenant_id, able.skills, able.programs, able.has_network)) as kind
                cross join lateral (
                    select from run
                    where tenant_id = mine.tenant_id and state = 'ready' and rank < mine.rank
                      and coalesce(skill, '') = kind.skill
                      and coalesce(hash_array_extended(needs, 0), 0) = kind.needs
                      and needs_network = kind.needs_network
                    limit 1000
                ) as earlier
                limit 1000
            ) as earlier
        ),
        others as (
            select count(*) as jobs
            from (
                select
                from (
                    select tenant.id, tenant.max_running,
                        1 + floor(tenant.weight * seconds_between(tenant.virtual_time, start)) as jobs
                    from mine
                    cross join before
                    cross join lateral virtual_time_after(mine.virtual_time, before.jobs * 1.0 / mine.weight) as start
                    join tenant on tenant.lane = 'ready' and tenant.virtual_time < start and tenant.id <> mine.tenant_id
                    order by tenant.virtual_time
                    limit 1000
                ) as lane
                cross join able
                cross join lateral (
                    select
                    from unnest(runnable_kinds(lane.id, able.skills, able.programs, able.has_network)) as kind
                    join run on run.tenant_id = lane.id and run.state = 'ready'
                      and coalesce(run.skill, '') = kind.skill
                      and coalesce(hash_array_extended(run.needs, 0), 0) = kind.needs
                      and run.needs_network = kind.needs_network
                    limit least(lane.jobs, lane.max_running, 1000)
                ) as earlier
                limit 1000
            ) as earlier
        )
        select
            (
                select job_id from run
                where mine.state = 'blocked' and conversation_id = mine.conversation_id and position < mine.position
                order by position desc
                limit 1
            ) as "earlier: JobId",
            mine.state = 'scheduled' as "is_early!",
            mine.run_at,
            (select paused from queue) as "is_paused!",
            mine.skill,
            exists (select from paused_skill where name = mine.skill) as "is_skill_paused!",
            exists (
                select from live
                where case
                      when mine.needs is null then mine.skill is null or mine.skill = any(live.skills)
                      else needs_met(mine.needs, live.programs)
                  end
                  and (not mine.needs_network or live.isolation <> 'landlocked')
            ) as "is_runnable!",
            mine.needs,
            case when free_capacity(mine.tenant_id, mine.max_running, 1) <= 0 then mine.max_running end as reached_cap,
            least(before.jobs + others.jobs, 1000) as "ahead!"
        from mine
        cross join before
        cross join others
        "#,
        job.0,
    )
    .fetch_optional(db)
    .await
}
