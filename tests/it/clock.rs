//! Hosts with wrong clocks. Only the time of the database counts.

use std::process::Command;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;
use shared::db;
use shared::id::JobId;
use tests::new_job::new_job;
use uuid::{NoContext, Timestamp, Uuid};

use crate::support::log::assert_whole;
use crate::support::{Service, has_program};

fn time_of(job: &str) -> DateTime<Utc> {
    let made = job.parse::<JobId>().unwrap().0.get_timestamp().unwrap();
    let (seconds, nanos) = made.to_unix();
    DateTime::from_timestamp(seconds.cast_signed(), nanos).unwrap()
}

/// Returns a command prefix that runs a program with a wrong clock. It replaces `faketime`, which would stay as the
/// parent process of the program.
fn with_clock_off(offset: &str) -> Vec<String> {
    let faketime = Command::new("faketime")
        .args(["--exclude-monotonic", "-f", offset, "env"])
        .output();
    let variables = String::from_utf8(faketime.unwrap().stdout).unwrap();
    let wanted = [
        "LD_PRELOAD=",
        "FAKETIME=",
        "FAKETIME_DONT_FAKE_MONOTONIC=",
        "DONT_FAKE_MONOTONIC=",
    ];
    let wanted = |line: &&str| wanted.iter().any(|name| line.starts_with(name));
    let variables = variables.lines().filter(wanted).map(str::to_owned);
    std::iter::once("env".to_owned()).chain(variables).collect()
}

async fn run_with_clocks_off(offset: &str) {
    if !has_program("faketime") {
        return;
    }
    let wrong = with_clock_off(offset);
    let wrong: Vec<_> = wrong.iter().map(String::as_str).collect();
    let mut service = Service::without_worker().await;
    let before = service.create_shell("true").await;
    service.api.kill();
    service.restart_api_through(&wrong);
    service.add_worker_through(&wrong, &[]).await;
    let with_it = service.create_shell("true").await;
    service.api.kill();
    service.restart_api();
    let after = service.create_shell("true").await;
    assert!(service.logs().contains("this machine's clock is wrong"));
    for job in [&before, &with_it, &after] {
        let ended = service.finished(job).await;
        assert_eq!(ended["status"], "completed", "{ended:#}");
        assert_eq!(ended["attempt"], 1, "{ended:#}");
        assert_whole(&service.events(job).await);
        let now = db::now(&service.pool).await.unwrap();
        assert!((now - time_of(job)).abs() < TimeDelta::minutes(5));
        let started: DateTime<Utc> = ended["started_at"].as_str().unwrap().parse().unwrap();
        let finished: DateTime<Utc> = ended["finished_at"].as_str().unwrap().parse().unwrap();
        assert!(started <= finished && finished <= now, "{ended:#}");
    }
    let (_, page) = service.get("/v1/jobs").await;
    let listed = page["data"].as_array().unwrap().iter();
    let listed: Vec<_> = listed.map(|job| job["id"].as_str().unwrap()).collect();
    assert_eq!(listed, [&after, &with_it, &before]);
    let outside: i64 = sqlx::query_scalar("select count(*) from job_event_other")
        .fetch_one(&service.pool)
        .await
        .unwrap();
    assert_eq!(outside, 0);
}

#[tokio::test]
async fn jobs_run_where_the_clocks_of_api_and_worker_are_three_weeks_ahead() {
    run_with_clocks_off("+21d").await;
}

#[tokio::test]
async fn jobs_run_where_the_clocks_of_api_and_worker_are_three_weeks_behind() {
    run_with_clocks_off("-21d").await;
}

#[tokio::test]
async fn a_job_whose_id_is_of_another_time_is_refused() {
    let service = Service::without_worker().await;
    let tenants = service.get("/v1/tenants").await.1;
    let tenant = tenants["data"][0]["id"].as_str().unwrap().parse().unwrap();
    for (hours, is_refused) in [(-36, true), (-12, false), (12, false), (36, true)] {
        let at = (Utc::now() + TimeDelta::hours(hours)).timestamp();
        let at = Timestamp::from_unix(NoContext, at.unsigned_abs(), 0);
        let mut job = new_job(tenant);
        job.id = JobId(Uuid::new_v7(at));
        let others = [new_job(tenant), job, new_job(tenant)];
        let inserted = db::job::insert(&service.pool, false, &others).await;
        match inserted {
            Ok(_) => assert!(!is_refused, "{hours}"),
            Err(error) => assert!(is_refused && db::job::is_clock_skew(&error), "{error}"),
        }
    }
    let (_, page) = service.get("/v1/jobs").await;
    assert_eq!(page["data"].as_array().map(Vec::len), Some(6));
    assert_eq!(page["next_cursor"], Value::Null);
}
