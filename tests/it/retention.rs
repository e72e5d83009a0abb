//! Retention: deletion of old jobs, logs, uploads and blobs.

mod blobs;
mod bucket;
mod deltas;
mod jobs;
mod logs;
mod nul;
mod race;
mod uploads;

use chrono::{DateTime, Utc};
use reqwest::Method;
use serde_json::Value;
use uuid::Uuid;

use crate::support::problem::Problem;
use crate::support::{Service, until};
use shared::id::{AssetId, JobId};

/// Makes a job this many days older. Returns its new id, because an id contains the creation time.
async fn age(service: &Service, job: &str, days: i64) -> String {
    let (seconds, _) = job
        .parse::<JobId>()
        .unwrap()
        .0
        .get_timestamp()
        .unwrap()
        .to_unix();
    let seconds = seconds - 24 * 3600 * days.unsigned_abs();
    let at = DateTime::from_timestamp(seconds.cast_signed(), 0).unwrap();
    ensure_week(service, at).await;
    let aged = uuid::Timestamp::from_unix(uuid::NoContext, seconds, 0);
    let aged = JobId(Uuid::new_v7(aged));
    let past = "created_at = created_at - $3 * interval '1 day'";
    for change in [
        format!("update job set id = $2, {past} where id = $1"),
        "update job_end set job_id = $2, finished_at = finished_at - $3 * interval '1 day' where job_id = $1"
            .to_owned(),
        "update run set job_id = $2 where job_id = $1".to_owned(),
        "update job_event set job_id = $2 where job_id = $1".to_owned(),
        "update job_delta set job_id = $2 where job_id = $1".to_owned(),
        format!(
            "update asset set job_id = $2, {past}, used_at = used_at - $3 * interval '1 day' where job_id = $1"
        ),
        "update idempotency_key set job_id = $2 where job_id = $1".to_owned(),
    ] {
        let change = sqlx::query(sqlx::AssertSqlSafe(change));
        let change = change
            .bind(job.parse::<JobId>().unwrap())
            .bind(aged)
            .bind(days);
        change.execute(&service.pool).await.unwrap();
    }
    let saved = |job: &str| service.home.path().join("assets/workspaces").join(job);
    let aged = aged.to_string();
    if saved(job).exists() {
        std::fs::rename(saved(job), saved(&aged)).unwrap();
    }
    aged
}

/// Creates the partition of a past week.
async fn ensure_week(service: &Service, at: DateTime<Utc>) {
    let week = "select format(
            'create table if not exists job_event_%s partition of job_event for values from (%L) to (%L)',
            to_char(week, 'IYYY_IW'), first_job_id(week at time zone 'utc'), first_job_id((week + interval '7 days') at time zone 'utc')
        )
        from date_trunc('week', $1 at time zone 'utc') as week";
    let week: String = sqlx::query_scalar(week)
        .bind(at)
        .fetch_one(&service.pool)
        .await
        .unwrap();
    let week = sqlx::query(sqlx::AssertSqlSafe(week)).execute(&service.pool);
    week.await.unwrap();
}

/// Returns the number of weekly partitions.
async fn weeks(service: &Service) -> i64 {
    let count = sqlx::query_scalar("select count(*) from event_week");
    count.fetch_one(&service.pool).await.unwrap()
}

/// Starts a worker with these variables that runs all maintenance, and waits until the maintenance has run. Its last
/// step deletes an upload that was not used for years.
async fn forget(service: &mut Service, more: &[(&str, &str)]) {
    let witness = service.upload("witness.txt", "witness").await;
    let past = sqlx::query("update asset set used_at = 'epoch' where id = $1");
    let past = past.bind(witness["id"].as_str().unwrap().parse::<AssetId>().unwrap());
    past.execute(&service.pool).await.unwrap();
    let due = sqlx::query("update maintenance set started_at = 'epoch'");
    due.execute(&service.pool).await.unwrap();
    service.add_worker(more).await;
    let path = format!("/v1/assets/{}", witness["id"].as_str().unwrap());
    until(async || service.get(&path).await.0 == 404).await;
}

async fn is_gone(service: &Service, path: &str) -> bool {
    let request = service.request(Method::GET, path);
    let status = request.send().await.unwrap().status();
    if status == 404 {
        let gone = Problem::of(service.request(Method::GET, path)).await;
        assert_eq!(gone.kind(), (404, "not_found"), "{path}");
    }
    status == 404
}

fn job_path(job: &str) -> String {
    format!("/v1/jobs/{job}")
}

fn asset_path(asset: &Value) -> String {
    format!("/v1/assets/{}", asset["id"].as_str().unwrap())
}
