//! Retention of logs.

use serde_json::json;
use tests::model_server::Reply;

use super::{age, forget, is_gone, job_path, weeks};
use crate::support::{Service, scripted};
use shared::id::JobId;

#[tokio::test]
async fn the_logs_of_a_week_are_dropped_with_its_last_job_while_others_are_followed() {
    let mut service = Service::start().await;
    let old = service.create_shell("true").await;
    service.finished(&old).await;
    let old = age(&service, &old, 60).await;
    let before = weeks(&service).await;
    service
        .model
        .script("slow", [Reply::stall().then_text("Done.")]);
    let running = service
        .create(&scripted("anthropic/claude-test", "slow"))
        .await;
    let mut stream = service.follow(&running, 0).await;
    while stream.next().await.unwrap()["type"] != "job.started" {}
    service.model.stalled("slow").await;
    forget(&mut service, &[]).await;
    assert!(is_gone(&service, &job_path(&old)).await);
    assert_eq!(weeks(&service).await, before - 1);
    service.model.release("slow");
    let rest = stream.rest_raw().await;
    assert!(rest.last().unwrap().contains("job.completed"), "{rest:#?}");
    assert_eq!(forgotten(&service).await, 0);
}

#[tokio::test]
async fn an_unfinished_job_keeps_its_log_however_old_and_its_week_loses_the_others() {
    let mut service = Service::start().await;
    let ended = service.create_shell("true").await;
    service.finished(&ended).await;
    let waits = json!({"skill": "shell", "model": "script/bash", "prompt": "x", "run_at": "2126-01-01T00:00:00Z"});
    let waits = service.create(&waits).await;
    let (ended, waits) = (
        age(&service, &ended, 60).await,
        age(&service, &waits, 60).await,
    );
    let (before, log) = (weeks(&service).await, service.events(&waits).await);
    forget(&mut service, &[]).await;
    assert!(is_gone(&service, &job_path(&ended)).await);
    assert_eq!(weeks(&service).await, before);
    assert_eq!((service.events(&waits).await, log.len()), (log, 1));
    let left: Vec<JobId> = sqlx::query_scalar("select distinct job_id from job_event")
        .fetch_all(&service.pool)
        .await
        .unwrap();
    assert_eq!(left, [waits.parse().unwrap()]);
    assert_eq!(forgotten(&service).await, 0);

    // The job runs in the end, and its weekly partition is dropped after the retention period.
    let due = "update run set run_at = now()";
    sqlx::query(due).execute(&service.pool).await.unwrap();
    service.finished(&waits).await;
    forget(&mut service, &[]).await;
    assert!(!is_gone(&service, &job_path(&waits)).await);
    let past = "update job_end set finished_at = finished_at - interval '31 days'";
    sqlx::query(past).execute(&service.pool).await.unwrap();
    forget(&mut service, &[]).await;
    assert!(is_gone(&service, &job_path(&waits)).await);
    assert_eq!(weeks(&service).await, before - 1);
}

/// While a long statement uses the table, readers and writers of logs do not wait for the drop.
#[tokio::test]
async fn a_week_that_cannot_be_dropped_now_goes_the_next_time() {
    let mut service = Service::start().await;
    let old = service.create_shell("true").await;
    service.finished(&old).await;
    age(&service, &old, 60).await;
    let before = weeks(&service).await;
    let mut reader = service.pool.begin().await.unwrap();
    let read = sqlx::query("select from job_event limit 1");
    read.execute(&mut *reader).await.unwrap();
    forget(&mut service, &[]).await;
    assert_eq!(weeks(&service).await, before);
    let job = service.create_shell("true").await;
    service.finished(&job).await;
    reader.commit().await.unwrap();
    // Vacuum may block one round.
    for _ in 0..5 {
        if weeks(&service).await == before {
            forget(&mut service, &[]).await;
        }
    }
    assert_eq!(weeks(&service).await, before - 1);
}

/// Returns the number of expired logs that are not deleted yet.
async fn forgotten(service: &Service) -> i64 {
    let count = sqlx::query_scalar("select count(*) from expired_log");
    count.fetch_one(&service.pool).await.unwrap()
}
