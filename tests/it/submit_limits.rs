//! Submit limits of tenants.

use std::time::Duration;

use futures_util::future::join_all;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use shared::key::Scope;

use crate::support::problem::Problem;
use crate::support::{Service, create_key};

#[tokio::test]
async fn limits_are_set_and_shown_and_taken_away_again() {
    let service = Service::without_worker().await;
    let none = json!({"max_queued": null, "submit_rate": null});
    let path = path(&service).await;
    assert_eq!(service.get(&path).await.1, none);
    let given = json!({"max_queued": 7, "submit_rate": {"per_minute": 60}});
    let expected = json!({"max_queued": 7, "submit_rate": {"per_minute": 60, "burst": 60}});
    assert_eq!(limit(&service, &given).await, expected);
    assert_eq!(service.get(&path).await.1, expected);
    assert_eq!(limit(&service, &json!({})).await, none);
    for _ in 0..10 {
        assert_eq!(post(&service).send().await.unwrap().status(), 202);
    }
}

#[tokio::test]
async fn only_an_administrator_sets_limits_that_make_sense_for_a_tenant_that_there_is() {
    let service = Service::without_worker().await;
    let path = path(&service).await;
    let put = |body: &Value| service.request(Method::PUT, &path).json(body);
    for (body, pointer) in [
        (json!({"max_queued": 0}), "/max_queued"),
        (json!({"max_queued": 1_000_001}), "/max_queued"),
        (
            json!({"submit_rate": {"per_minute": 0}}),
            "/submit_rate/per_minute",
        ),
        (
            json!({"submit_rate": {"per_minute": 1, "burst": 0}}),
            "/submit_rate/burst",
        ),
        (
            json!({"submit_rate": {"burst": 5}}),
            "/submit_rate/per_minute",
        ),
        (json!({"max_running": 5}), "/max_running"),
    ] {
        let refused = Problem::of(put(&body)).await;
        assert_eq!(refused.kind(), (422, "invalid_request"), "{body}");
        assert_eq!(refused.errors()[0].0, pointer, "{body}");
    }
    let body = json!({"max_queued": 5});
    let unknown = format!(
        "/v1/tenants/{}/submission_limits",
        shared::id::TenantId::new()
    );
    let key = create_key(&service.pool, "default", &[Scope::Jobs]).await;
    for method in [Method::PUT, Method::GET] {
        let absent = service.request(method.clone(), &unknown).json(&body);
        assert_eq!(Problem::of(absent).await.kind(), (404, "not_found"));
        let refused = service.anonymous(method, &path).bearer_auth(&key);
        let refused = Problem::of(refused.json(&body)).await;
        assert_eq!(refused.kind(), (403, "forbidden"));
    }
}

#[tokio::test]
async fn who_comes_too_fast_is_told_how_long_to_wait_and_gets_in_then() {
    let service = Service::without_worker().await;
    let slow = json!({"submit_rate": {"per_minute": 1, "burst": 3}});
    limit(&service, &slow).await;
    for _ in 0..3 {
        assert_eq!(post(&service).send().await.unwrap().status(), 202);
    }
    let (seconds, refused) = refused(post(&service)).await;
    assert_eq!(refused.kind(), (429, "submit_rate_exceeded"));
    assert_eq!(refused.body["retryable"], true);
    assert!((2..=60).contains(&seconds), "{seconds}");
    pass(&service, seconds / 2).await;
    let (rest, refused) = self::refused(post(&service)).await;
    assert_eq!(refused.kind(), (429, "submit_rate_exceeded"));
    assert!(rest <= seconds - seconds / 2, "{rest} of {seconds}");
    pass(&service, rest).await;
    let first = post(&service).send().await.unwrap();
    assert_eq!(first.status(), 202);
    // Only one request is accepted.
    let job: Value = first.json().await.unwrap();
    let job = format!("/v1/jobs/{}", job["id"].as_str().unwrap());
    service.post(&format!("{job}/cancel"), &Value::Null).await;
    let retry = service.request(Method::POST, &format!("{job}/retry"));
    for request in [post(&service), retry] {
        let (seconds, refused) = self::refused(request).await;
        assert_eq!(refused.kind(), (429, "submit_rate_exceeded"));
        assert!(seconds > 1, "{seconds}");
    }
    assert_eq!(jobs(&service).await, 4);
}

#[tokio::test]
async fn two_api_processes_keep_to_one_rate() {
    let service = Service::without_worker().await;
    let (_second, url) = service.start_second_api(&[]);
    let slow = json!({"submit_rate": {"per_minute": 1, "burst": 25}});
    limit(&service, &slow).await;
    assert_eq!(accepted(&service, &url).await, 25);
    assert_eq!(jobs(&service).await, 25);
}

#[tokio::test]
async fn two_api_processes_keep_to_one_number_of_unfinished_jobs() {
    let service = Service::without_worker().await;
    let (_second, url) = service.start_second_api(&[]);
    // Jobs that were created before the limit count as well.
    for _ in 0..5 {
        service.create(&body()).await;
    }
    limit(&service, &json!({"max_queued": 30})).await;
    assert_eq!(accepted(&service, &url).await, 25);
    assert_eq!(jobs(&service).await, 30);
}

#[tokio::test]
async fn a_job_that_is_locked_when_the_limit_is_set_counts() {
    let service = Service::without_worker().await;
    service.create(&body()).await;
    let mut lock = service.pool.begin().await.unwrap();
    let locking = sqlx::query("select from run for update");
    locking.execute(&mut *lock).await.unwrap();
    let unlock = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        lock.rollback().await.unwrap();
    };
    let limits = json!({"max_queued": 1});
    tokio::join!(limit(&service, &limits), unlock);
    let (_, refused) = refused(post(&service)).await;
    assert_eq!(refused.kind(), (429, "queue_full"));
}

#[tokio::test]
async fn a_job_that_ends_makes_room_for_another() {
    let service = Service::without_worker().await;
    limit(&service, &json!({"max_queued": 2})).await;
    let first = service.create(&body()).await;
    service.create(&body()).await;
    let (seconds, refused) = refused(post(&service)).await;
    assert_eq!(refused.kind(), (429, "queue_full"));
    assert_eq!((&refused.body["retryable"], seconds), (&json!(true), 1));
    let cancel = format!("/v1/jobs/{first}/cancel");
    service.post(&cancel, &Value::Null).await;
    pass(&service, seconds).await;
    service.create(&body()).await;
    let (_, refused) = self::refused(post(&service)).await;
    assert_eq!(refused.kind(), (429, "queue_full"));
}

#[tokio::test]
async fn who_has_room_for_one_runs_one_job_after_the_other_without_being_refused() {
    let service = Service::start().await;
    limit(&service, &json!({"max_queued": 1})).await;
    for _ in 0..5 {
        let job = service.create(&body()).await;
        service.finished(&job).await;
    }
}

#[tokio::test]
async fn each_job_of_a_batch_counts_and_a_batch_that_never_fits_is_wrong() {
    let service = Service::without_worker().await;
    let limits = json!({"max_queued": 10, "submit_rate": {"per_minute": 1, "burst": 8}});
    limit(&service, &limits).await;
    let batch = |size| {
        let request = service.request(Method::POST, "/v1/jobs/batch");
        request.json(&json!({"jobs": vec![body(); size]}))
    };
    let never = Problem::of(batch(9)).await;
    assert_eq!(never.kind(), (422, "invalid_request"));
    assert_eq!(
        never.errors(),
        [("/jobs", "this tenant may submit at most 8 jobs at once")]
    );
    assert_eq!(batch(5).send().await.unwrap().status(), 202);
    let (seconds, refused) = refused(batch(5)).await;
    assert_eq!(refused.kind(), (429, "submit_rate_exceeded"));
    assert!((62..=120).contains(&seconds), "two are missing: {seconds}");
    assert_eq!(batch(3).send().await.unwrap().status(), 202);
    pass(&service, 600).await;
    let (_, refused) = self::refused(batch(3)).await;
    assert_eq!(refused.kind(), (429, "queue_full"));
    pass(&service, 1).await;
    assert_eq!(batch(2).send().await.unwrap().status(), 202);
    assert_eq!(jobs(&service).await, 10);
}

#[tokio::test]
async fn a_request_that_is_sent_again_does_not_count() {
    let service = Service::without_worker().await;
    limit(
        &service,
        &json!({"submit_rate": {"per_minute": 1, "burst": 2}}),
    )
    .await;
    let keyed = |key: &str| post(&service).header("Idempotency-Key", key);
    for status in [202, 200, 200] {
        assert_eq!(keyed("a").send().await.unwrap().status(), status);
    }
    assert_eq!(keyed("b").send().await.unwrap().status(), 202);
    assert_eq!(
        refused(keyed("c")).await.1.kind(),
        (429, "submit_rate_exceeded")
    );
    assert_eq!(keyed("a").send().await.unwrap().status(), 200);
    // A client whose request was rejected can use the key again.
    pass(&service, 60).await;
    assert_eq!(keyed("c").send().await.unwrap().status(), 202);
}

#[tokio::test]
async fn limits_are_one_tenants_own() {
    let service = Service::without_worker().await;
    limit(
        &service,
        &json!({"max_queued": 1, "submit_rate": {"per_minute": 1}}),
    )
    .await;
    service.create(&body()).await;
    assert_eq!(refused(post(&service)).await.1.status, 429);
    let key = create_key(&service.pool, "other", &[Scope::Jobs]).await;
    for _ in 0..3 {
        let theirs = service
            .anonymous(Method::POST, "/v1/jobs")
            .bearer_auth(&key);
        let theirs = theirs.json(&body()).send().await.unwrap();
        assert_eq!(theirs.status(), 202);
    }
}

fn body() -> Value {
    json!({"skill": "shell", "model": "script/bash", "prompt": "Nothing."})
}

fn post(service: &Service) -> RequestBuilder {
    service.request(Method::POST, "/v1/jobs").json(&body())
}

async fn path(service: &Service) -> String {
    let (_, tenants) = service.get("/v1/tenants").await;
    let tenant = tenants["data"][0]["id"].as_str().unwrap();
    format!("/v1/tenants/{tenant}/submission_limits")
}

/// Sets the limits of the tenant.
async fn limit(service: &Service, limits: &Value) -> Value {
    let put = service.request(Method::PUT, &path(service).await);
    let put = put.json(limits).send().await.unwrap();
    assert_eq!(put.status(), 200);
    put.json().await.unwrap()
}

/// Sends a request that must be rejected. Returns its `Retry-After` delay in seconds, and the error.
async fn refused(request: RequestBuilder) -> (i64, Problem) {
    let refused = Problem::of(request).await;
    let seconds = refused.headers.get("retry-after");
    let seconds = seconds.map(|value| value.to_str().unwrap().parse().unwrap());
    (seconds.unwrap_or(0), refused)
}

/// Simulates that time passes for the limits.
async fn pass(service: &Service, seconds: i64) {
    let pass = "update submit_limit set
                    burst_full_at = burst_full_at - $1 * interval '1 second', no_room_at = no_room_at - $1 * interval '1 second'";
    let pass = sqlx::query(pass).bind(seconds).execute(&service.pool);
    pass.await.unwrap();
}

/// Sends 60 concurrent jobs to two API processes, and returns the number of accepted jobs.
async fn accepted(service: &Service, second: &str) -> usize {
    let requests = (0..60).map(|number| {
        let url = if number % 2 == 0 {
            &service.url
        } else {
            second
        };
        let request = reqwest::Client::new().post(format!("{url}/v1/jobs"));
        let request = request.bearer_auth(&service.key).json(&body());
        async move { request.send().await.unwrap().status().as_u16() }
    });
    let statuses = join_all(requests).await;
    assert!(statuses.iter().all(|status| [202, 429].contains(status)));
    statuses.iter().filter(|status| **status == 202).count()
}

async fn jobs(service: &Service) -> i64 {
    let count = sqlx::query_scalar("select count(*) from job");
    count.fetch_one(&service.pool).await.unwrap()
}
