//! Files that are used again at the moment of their deletion.

use chrono::{TimeDelta, Utc};
use serde_json::json;
use shared::db;
use shared::id::{AssetId, JobId, TenantId};
use uuid::Uuid;

use super::age;
use crate::support::{Service, bash, until};

/// Whether a request waits for a file.
const WAITS: &str = "select exists (select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and query like '%stale%')";

#[tokio::test]
async fn a_file_is_either_taken_by_a_new_job_or_removed() {
    let service = Service::with_maker().await;
    let prompt = bash("printf made > own.txt") + "\noutput document: own.txt";
    let body = json!({"skill": "maker", "model": "script/bash", "prompt": prompt});
    let mut old = Vec::new();
    for _ in 0..2 {
        let made = service.run(&body).await;
        let asset = made["outputs"][0]["asset"]["id"].as_str().unwrap();
        let asset = asset.parse::<AssetId>().unwrap();
        let job = age(&service, made["id"].as_str().unwrap(), 50).await;
        old.push((job.parse::<JobId>().unwrap(), asset));
    }
    let pool = &service.pool;
    let tenant = sqlx::query_scalar("select id from tenant where name = 'default'");
    let tenant = TenantId(tenant.fetch_one(pool).await.unwrap());
    let cutoff = Utc::now() - TimeDelta::days(30);

    let mut transaction = pool.begin().await.unwrap();
    let none = JobId(Uuid::nil());
    let found = db::job::lock_old(&mut transaction, cutoff, &[], none, 10).await;
    assert_eq!(found.unwrap().len(), 2);
    let [(first, first_asset), (second, second_asset)] = old[..] else {
        unreachable!("there are two")
    };
    // Another request takes one of the files between the query and the deletion.
    let taken = db::asset::use_as_inputs(pool, tenant, &[first_asset]).await;
    assert_eq!(taken.unwrap().len(), 1);
    let jobs = [first, second];
    let again = db::job::list_used_since(&mut transaction, cutoff, &jobs).await;
    assert_eq!(again.unwrap(), [first]);

    // From here on, a request for the other file waits, and then finds it deleted.
    let taker = {
        let pool = pool.clone();
        tokio::spawn(async move { db::asset::use_as_inputs(&pool, tenant, &[second_asset]).await })
    };
    until(async || sqlx::query_scalar(WAITS).fetch_one(pool).await.unwrap()).await;
    db::job::delete(&mut transaction, &[second]).await.unwrap();
    transaction.commit().await.unwrap();
    assert_eq!(taker.await.unwrap().unwrap(), []);
}

#[tokio::test]
async fn a_file_that_two_requests_use_at_once_is_found_by_both() {
    let service = Service::without_worker().await;
    let asset = service.upload("a.txt", "a").await;
    let asset = asset["id"].as_str().unwrap().parse::<AssetId>().unwrap();
    let pool = &service.pool;
    let age = "update asset set used_at = now() - interval '1 hour' returning tenant_id";
    let tenant = TenantId(sqlx::query_scalar(age).fetch_one(pool).await.unwrap());
    let mut transaction = pool.begin().await.unwrap();
    let first = db::asset::use_as_inputs(&mut *transaction, tenant, &[asset]).await;
    assert_eq!(first.unwrap().len(), 1);
    let second = {
        let pool = pool.clone();
        tokio::spawn(async move { db::asset::use_as_inputs(&pool, tenant, &[asset]).await })
    };
    until(async || sqlx::query_scalar(WAITS).fetch_one(pool).await.unwrap()).await;
    transaction.commit().await.unwrap();
    assert_eq!(second.await.unwrap().unwrap().len(), 1);
}
