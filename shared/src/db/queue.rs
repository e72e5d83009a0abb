//! The queue as a whole: how much is in it, whether it moves, and why a job in it does not.

use chrono::{DateTime, Utc};
use sqlx::PgExecutor;

use super::WORK_CHANNEL;
use crate::id::JobId;

/// What is queued and running now.
pub struct Depth {
    /// Whether no job is begun.
    pub paused: bool,
    /// Jobs that a free slot could take.
    pub ready: i64,
    /// Jobs that may not start yet.
    pub scheduled: i64,
    /// Jobs behind another of their conversation.
    pub blocked: i64,
    /// Jobs with a worker.
    pub running: i64,
    /// Jobs that wait for a person.
    pub waiting: i64,
    /// When the longest waiting ready job became due.
    pub oldest: Option<DateTime<Utc>>,
    /// Skills whose jobs are not begun.
    pub paused_skills: Vec<String>,
    /// Tenants of which as many jobs run as may.
    pub at_capacity: i64,
}

/// Counts the queue.
pub async fn get_depth(db: impl PgExecutor<'_>) -> sqlx::Result<Depth> {
    sqlx::query_as!(
        Depth,
        r#"select
               (select paused from queue) as "paused!",
               (select count(*) from run where state = 'ready') as "ready!",
               (select count(*) from run where state = 'scheduled') as "scheduled!",
               (select count(*) from run where conversation_id is not null and state = 'blocked') as "blocked!",
               (select count(*) from run where state = 'running') as "running!",
               (select count(*) from run where state = 'waiting') as "waiting!",
               (select min(run_at) from run where state = 'ready') as oldest,
               array(select name from paused_skill order by name) as "paused_skills!",
               (select count(*) from tenant where lane = 'full') as "at_capacity!""#,
    )
    .fetch_one(db)
    .await
}

/// Has no more jobs begun, or has them begun again. Workers hear of it.
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

/// Has no more jobs of a skill begun, whosesoever they are.
pub async fn pause_skill(db: impl PgExecutor<'_>, skill: &str) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into paused_skill (name) values ($1) on conflict do nothing",
        skill,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Has jobs of a skill begun again. Workers hear of it.
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

/// The skills whose jobs are not begun.
pub async fn list_paused_skills(db: impl PgExecutor<'_>) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!("select name from paused_skill order by name")
        .fetch_all(db)
        .await
}

/// What keeps a queued job.
pub struct Obstacles {
    /// The job right before it in its conversation, which has not ended.
    pub earlier: Option<JobId>,
    /// Whether its time has not come.
    pub is_early: bool,
    /// The earliest start.
    pub run_at: DateTime<Utc>,
    /// Whether the queue is paused.
    pub is_paused: bool,
    /// Its skill, if it has one.
    pub skill: Option<String>,
    /// Whether its skill is paused.
    pub is_skill_paused: bool,
    /// Whether a live worker has all that it needs.
    pub is_runnable: bool,
    /// What it needs if its tenant has uploaded its skill, alternatives with `|` between them.
    pub needs: Option<Vec<String>>,
    /// How many jobs of its tenant may run at once, if as many do.
    pub reached_cap: Option<i32>,
    /// How many jobs are likely to be begun before it.
    pub ahead: i64,
}

/// What keeps a job from running; `None` if it is not queued.
///
/// How many jobs go before it is an estimate: those before it in its lane, and of each other lane those whose turn
/// comes earlier by today's virtual times. Nothing is counted beyond 1,000.
pub async fn get_obstacles(db: impl PgExecutor<'_>, job: JobId) -> sqlx::Result<Option<Obstacles>> {
    sqlx::query_as!(
        Obstacles,
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
                    cross join lateral charged(mine.virtual_time, before.jobs * 1.0 / mine.weight) as start
                    join tenant on tenant.lane = 'open' and tenant.virtual_time < start and tenant.id <> mine.tenant_id
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
                where mine.state = 'blocked' and conversation_id = mine.conversation_id and place < mine.place
                order by place desc
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
            case when room(mine.tenant_id, mine.max_running, 1) <= 0 then mine.max_running end as reached_cap,
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
