//! Weekly partitions of the log: creation in advance, and repair.

use shared::db;
use sqlx::AssertSqlSafe;

use crate::support::log::assert_whole;
use crate::support::{Service, until};

/// Returns the name of the partition for the week that is `weeks_ahead` weeks ahead.
async fn partition(service: &Service, weeks_ahead: i32) -> String {
    let name = "select 'job_event_' || to_char(now() at time zone 'utc' + $1 * interval '7 days', 'IYYY_IW')";
    let name = sqlx::query_scalar(name).bind(weeks_ahead);
    name.fetch_one(&service.pool).await.unwrap()
}

async fn is_there(service: &Service, partition: &str) -> bool {
    let there = "select exists (select from event_week where partition = $1)";
    let there = sqlx::query_scalar(there).bind(partition);
    there.fetch_one(&service.pool).await.unwrap()
}

async fn execute(service: &Service, statement: String) {
    let statement = sqlx::query(AssertSqlSafe(statement));
    statement.execute(&service.pool).await.unwrap();
}

async fn count_outside(service: &Service) -> i64 {
    let count = sqlx::query_scalar("select count(*) from job_event_other");
    count.fetch_one(&service.pool).await.unwrap()
}

/// Restarts the API and waits until it responds.
async fn restart(service: &mut Service) {
    service.api.kill();
    service.restart_api();
    assert_eq!(service.get("/v1/queue").await.0, 200);
}

/// Starts a service without workers, whose API has created the partitions.
async fn without_maintenance() -> Service {
    let service = Service::without_worker().await;
    assert_eq!(service.get("/v1/queue").await.0, 200);
    execute(
        &service,
        "update maintenance set started_at = now()".to_owned(),
    )
    .await;
    service
}

#[tokio::test]
async fn events_outside_of_the_weeks_move_to_their_week_while_jobs_go_on() {
    let mut service = without_maintenance().await;
    let this_week = partition(&service, 0).await;
    execute(&service, format!("drop table {this_week}")).await;
    service.add_worker(&[]).await;
    let first = service.create_shell("true").await;
    service.finished(&first).await;
    assert!(count_outside(&service).await > 0);
    let making = until(async || {
        db::event_week::create_upcoming(&service.pool)
            .await
            .unwrap();
        is_there(&service, &this_week).await
    });
    let creating = async {
        let mut jobs = vec![first];
        for _ in 0..20 {
            jobs.push(service.create_shell("echo 1; echo 2").await);
        }
        jobs
    };
    let ((), jobs) = tokio::join!(making, creating);
    for job in &jobs {
        let ended = service.finished(job).await;
        assert_eq!(ended["status"], "completed", "{ended:#}");
        assert_whole(&service.events(job).await);
    }
    assert_eq!(count_outside(&service).await, 0);
}

#[tokio::test]
async fn an_api_starts_although_there_are_events_of_a_week_to_come() {
    let mut service = without_maintenance().await;
    let last = partition(&service, 2).await;
    let id = "select first_id from event_week where partition = $1";
    let id = sqlx::query_scalar::<_, uuid::Uuid>(id).bind(&last);
    let id = id.fetch_one(&service.pool).await.unwrap();
    execute(&service, format!("drop table {last}")).await;
    let event = format!("insert into job_event values ('{id}', 1, 'job.queued', now(), 0, '{{}}')");
    execute(&service, event).await;
    assert_eq!(count_outside(&service).await, 1);
    restart(&mut service).await;
    assert!(is_there(&service, &last).await);
    assert_eq!(count_outside(&service).await, 0);
    let moved = AssertSqlSafe(format!("select count(*) from {last} where job_id = $1"));
    let moved = sqlx::query_scalar::<_, i64>(moved).bind(id);
    assert_eq!(moved.fetch_one(&service.pool).await.unwrap(), 1);
}

#[tokio::test]
async fn a_week_that_cannot_be_made_keeps_nothing_else_from_being_done() {
    let mut service = without_maintenance().await;
    // A table with another name occupies the range of the partition.
    let [next, last] = [partition(&service, 1).await, partition(&service, 2).await];
    execute(
        &service,
        format!("alter table {next} rename to job_event_odd"),
    )
    .await;
    execute(&service, format!("drop table {last}")).await;
    restart(&mut service).await;
    assert!(is_there(&service, &last).await);

    execute(&service, format!("drop table {last}")).await;
    let key = "insert into idempotency_key (tenant_id, key, digest, job_id, created_at)
        select id, 'old', '', id, 'epoch' from tenant limit 1";
    execute(&service, key.to_owned()).await;
    execute(
        &service,
        "update maintenance set started_at = 'epoch'".to_owned(),
    )
    .await;
    service.add_worker(&[]).await;
    until(async || {
        let count = sqlx::query_scalar::<_, i64>("select count(*) from idempotency_key");
        count.fetch_one(&service.pool).await.unwrap() == 0
    })
    .await;
    assert!(is_there(&service, &last).await);
    assert!(!is_there(&service, &next).await);
    assert!(service.logs().contains("a step of maintenance failed"));
}
