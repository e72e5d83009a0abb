//! The minimum work of a queue for the same jobs, on tables of the same shape.

use shared::db::Pool;
use tokio::task::JoinSet;
use uuid::Uuid;

use super::{BATCH, WORKERS, all};

/// The result of a no-op job, about as long as a real one.
const RESULT: &str = concat!(
    r#"{"id": "01a1fd99-adf8-76d5-888b-6b497373c320", "status": "completed", "skill": "shell", "#,
    r#""model": "script/bash", "attempt": 1, "created_at": "2026-11-21T10:14:29.710995Z", "#,
    r#""started_at": "2026-11-21T10:14:29.710995Z", "finished_at": "2026-11-21T10:14:29.710995Z", "#,
    r#""text": null, "outputs": [], "stop_reason": null, "error": null, "#,
    r#""usage": {"input_tokens": 0, "output_tokens": 0, "iterations": 0, "tool_calls": 0}}"#,
);

/// The minimum work that is done for a job.
#[derive(Clone, Copy)]
pub(super) enum MinimumWork {
    /// Claim and commit, then delete, insert a result and commit. Any queue needs this.
    Queue,
    /// The same, but a claim also reads the request, and each job leaves a result that can be found by its id and two
    /// entries of a log: its start and its end.
    QueueWithLog,
}

impl MinimumWork {
    fn claim(self) -> &'static str {
        match self {
            Self::Queue => {
                "with head as materialized (
                     select job_id from limit_run
                     where state = 'ready'
                     order by rank
                     limit $1
                     for update skip locked
                 )
                 update limit_run set state = 'running', worker_id = $2
                 from head
                 where limit_run.job_id = head.job_id
                 returning limit_run.job_id, null"
            }
            Self::QueueWithLog => {
                "with head as materialized (
                     select job_id from limit_log_run
                     where state = 'ready'
                     order by rank
                     limit $1
                     for update skip locked
                 ),
                 taken as (
                     update limit_log_run set state = 'running', worker_id = $2
                     from head
                     where limit_log_run.job_id = head.job_id
                     returning limit_log_run.job_id
                 )
                 select taken.job_id, request::text from taken join job on job.id = taken.job_id"
            }
        }
    }

    fn end(self) -> &'static str {
        match self {
            Self::Queue => {
                "with ended as (delete from limit_run where job_id = any($1) returning job_id)
                 insert into limit_result (job_id, seq, type, at, attempt, data)
                 select job_id, 2, 'job.completed', now(), 1, $2::json from ended"
            }
            Self::QueueWithLog => {
                "with ended as (delete from limit_log_run where job_id = any($1) returning job_id),
                 kept as (
                     insert into limit_end (job_id, outcome, finished_at, result)
                     select job_id, 'completed', now(), $2::json from ended
                 )
                 insert into limit_log (job_id, seq, type, at, attempt, data)
                 select job_id, seq, type, now(), 1, $2::json
                 from ended, (values (2, 'job.started'), (3, 'job.completed')) as entry (seq, type)"
            }
        }
    }

    fn tables(self) -> &'static [&'static str] {
        match self {
            Self::Queue => &[
                "drop table if exists limit_run, limit_result",
                "create table limit_run (like run including defaults including storage) with (fillfactor = 60)",
                "create table limit_result (like job_event including defaults including storage)",
                "insert into limit_run select * from run",
                "alter table limit_run add primary key (job_id)",
                "alter table limit_result add primary key (job_id, seq)",
                "create index on limit_run (rank) where state = 'ready'",
            ],
            Self::QueueWithLog => &[
                "drop table if exists limit_log_run, limit_end, limit_log",
                "create table limit_log_run (like run including defaults including storage) with (fillfactor = 60)",
                "create table limit_end (like job_end including defaults including storage)",
                "create table limit_log (like job_event including defaults including storage)",
                "insert into limit_log_run select * from run",
                "alter table limit_log_run add primary key (job_id)",
                "alter table limit_end add primary key (job_id)",
                "alter table limit_log add primary key (job_id, seq)",
                "create index on limit_log_run (rank) where state = 'ready'",
            ],
        }
    }
}

/// Creates tables with the jobs of the queue and with only the indexes that this minimum needs.
pub(super) async fn prepare(pool: &Pool, work_kind: MinimumWork) -> anyhow::Result<()> {
    for statement in work_kind.tables() {
        sqlx::query(*statement).execute(pool).await?;
    }
    Ok(())
}

/// Runs two workers that claim and end jobs until none are left.
pub(super) async fn work(pool: &Pool, work_kind: MinimumWork) -> anyhow::Result<()> {
    let mut workers = JoinSet::new();
    for _ in 0..WORKERS {
        let mut connection = pool.acquire().await?;
        workers.spawn(async move {
            loop {
                let claimed: Vec<(Uuid, Option<String>)> = sqlx::query_as(work_kind.claim())
                    .bind(BATCH)
                    .bind(Uuid::nil())
                    .fetch_all(&mut connection)
                    .await?;
                if claimed.is_empty() {
                    return anyhow::Ok(());
                }
                let ids: Vec<Uuid> = claimed.into_iter().map(|(id, _)| id).collect();
                sqlx::query(work_kind.end())
                    .bind(&ids)
                    .bind(RESULT)
                    .execute(&mut connection)
                    .await?;
            }
        });
    }
    all(workers).await
}
