//! Usage over time, and the history of the queue.

use reqwest::Method;
use serde_json::{Value, json};
use tests::model_server::Reply;

use crate::support::{Service, until};

const CLAUDE: &str = "anthropic/claude-test";

/// Dollars per million input and output tokens.
const PRICES: &str = "anthropic/claude-*=3:15";

async fn usage(service: &Service, query: &str) -> Vec<Value> {
    let (status, page) = service.get(&format!("/v1/usage{query}")).await;
    assert_eq!(status, 200, "{page:#}");
    page["data"].as_array().unwrap().clone()
}

/// Waits until this number of jobs is counted.
async fn counted(service: &Service, jobs: i64) {
    until(async || {
        let days = usage(service, "").await;
        let counts = ["completed", "failed", "cancelled"];
        let count = |day: &Value| {
            counts
                .map(|count| day[count].as_i64().unwrap())
                .iter()
                .sum::<i64>()
        };
        days.iter().map(count).sum::<i64>() == jobs
    })
    .await;
}

async fn service() -> Service {
    let mut service = Service::with_environment(&[("SKILLET_PRICES", PRICES)]).await;
    service.add_worker(&[]).await;
    service
        .model
        .script_with("counted", |_| Reply::text("Done.").usage(1000, 100));
    service
}

async fn ended(service: &Service, request: &Value) -> String {
    let job = service.create(request).await;
    service.finished(&job).await;
    job
}

#[tokio::test]
async fn usage_adds_up_by_day_skill_and_model_and_outlives_the_jobs() {
    let service = service().await;
    let asks = json!({"skill": "shell", "model": CLAUDE, "prompt": "Do it. #counted"});
    let first = ended(&service, &asks).await;
    ended(&service, &asks).await;
    let shell = service.create_shell("true").await;
    service.finished(&shell).await;
    // The job is deleted at once, perhaps before it is counted.
    let deletion = service.request(Method::DELETE, &format!("/v1/jobs/{first}"));
    assert_eq!(deletion.send().await.unwrap().status(), 204);
    counted(&service, 3).await;

    let today: String = sqlx::query_scalar("select (now() at time zone 'utc')::date::text")
        .fetch_one(&service.pool)
        .await
        .unwrap();
    let [day] = &usage(&service, "?by=day").await[..] else {
        panic!("more than a day")
    };
    assert_eq!(day["key"], json!(today));
    assert_eq!(
        (&day["input_tokens"], &day["output_tokens"]),
        (&json!(2000), &json!(200))
    );
    assert_eq!(day["cost_usd"], json!(0.009));
    let models = usage(&service, "?by=model").await;
    let keys: Vec<_> = models
        .iter()
        .map(|group| group["key"].as_str().unwrap())
        .collect();
    assert_eq!(keys, [CLAUDE, "script/bash"], "the most expensive first");
    assert_eq!(models[0]["completed"], 2);
    let [shell] = &usage(&service, "?by=skill").await[..] else {
        panic!("more than a skill")
    };
    assert_eq!(
        (&shell["key"], &shell["completed"]),
        (&json!("shell"), &json!(3))
    );
    let [no_agent] = &usage(&service, "?by=agent").await[..] else {
        panic!("more than jobs without an agent")
    };
    assert_eq!(no_agent["key"], Value::Null);
    assert_eq!(usage(&service, "?to=2020-01-01").await, [Value::Null; 0]);
}

#[tokio::test]
async fn every_end_is_counted_once_by_several_workers() {
    let mut service = service().await;
    for _ in 0..2 {
        service.add_worker(&[]).await;
    }
    let mut jobs = Vec::new();
    for _ in 0..60 {
        jobs.push(service.create_shell("true").await);
    }
    for job in &jobs {
        service.finished(job).await;
    }
    counted(&service, 60).await;
    let left: i64 = sqlx::query_scalar("select count(*) from uncounted_end")
        .fetch_one(&service.pool)
        .await
        .unwrap();
    assert_eq!(left, 0);
    let in_history = async || {
        let (_, history) = service.get("/v1/queue/history?minutes=60").await;
        let periods = history["data"].as_array().unwrap().clone();
        periods
            .iter()
            .map(|period| period["completed"].as_i64().unwrap())
            .sum::<i64>()
    };
    assert_eq!(in_history().await, 60);
}

#[tokio::test]
async fn a_page_of_usage_names_the_next() {
    let service = service().await;
    let rows = "insert into usage
                select id, date '2026-01-01' + n, 's' || n, '', 'm', n, 0, 0, 0, 0, n, 0
                from tenant, generate_series(1, 7) as n
                where name = 'default'";
    sqlx::query(rows).execute(&service.pool).await.unwrap();
    let mut path = "/v1/usage?by=skill&from=2026-01-01&to=2026-02-01&limit=3".to_owned();
    let mut keys = Vec::new();
    loop {
        let (status, page) = service.get(&path).await;
        assert_eq!(status, 200, "{page:#}");
        let data = page["data"].as_array().unwrap();
        keys.extend(
            data.iter()
                .map(|group| group["key"].as_str().unwrap().to_owned()),
        );
        let Some(cursor) = page["next_cursor"].as_str() else {
            break;
        };
        path = format!("/v1/usage?by=skill&from=2026-01-01&to=2026-02-01&limit=3&cursor={cursor}");
    }
    assert_eq!(keys, ["s7", "s6", "s5", "s4", "s3", "s2", "s1"]);
}

#[tokio::test]
async fn wrong_questions_are_explained() {
    let service = Service::without_worker().await;
    for (path, expected) in [
        ("/v1/usage?by=tool", "`by`"),
        ("/v1/usage?from=yesterday", "`from`"),
        (
            "/v1/usage?from=2026-02-02&to=2026-02-01",
            "`from` (2026-02-02) must not be after `to` (2026-02-01)",
        ),
        (
            "/v1/usage?from=-5000-01-01",
            "`from` must have a year of four digits",
        ),
        ("/v1/usage?cursor=x", "`cursor`"),
        (
            "/v1/queue/history?minutes=0",
            "`minutes` must be from 1 to 43200",
        ),
        (
            "/v1/queue/history?minutes=43201",
            "`minutes` must be from 1 to 43200",
        ),
    ] {
        let (status, problem) = service.get(path).await;
        let detail = problem["detail"].as_str().unwrap();
        assert!(
            status == 400 && detail.contains(expected),
            "{path}: {problem:#}"
        );
    }
}

#[tokio::test]
async fn the_history_has_a_depth_a_minute_and_steps_for_long_times() {
    let mut service = Service::without_worker().await;
    let job = service.create_shell("true").await;
    service.post("/v1/queue/pause", &json!({})).await;
    service.add_worker(&[]).await;
    let history = async |minutes: i32| {
        let (status, history) = service
            .get(&format!("/v1/queue/history?minutes={minutes}"))
            .await;
        assert_eq!(status, 200, "{history:#}");
        history
    };
    until(async || {
        let now = history(5).await;
        now["data"]
            .as_array()
            .unwrap()
            .iter()
            .any(|period| period["ready"] == 1)
    })
    .await;
    let old = "insert into queue_minute (minute, ready, completed)
               select date_trunc('minute', now()) - n * interval '1 minute', n, 1
               from generate_series(100, 1539) as n";
    sqlx::query(old).execute(&service.pool).await.unwrap();
    let day = history(1600).await;
    assert_eq!(day["step_minutes"], 3);
    let periods = day["data"].as_array().unwrap();
    assert!((480..=483).contains(&periods.len()), "{}", periods.len());
    let completed = periods
        .iter()
        .map(|period| period["completed"].as_i64().unwrap());
    assert_eq!(completed.sum::<i64>(), 1440);
    let (first, second) = (&periods[1], &periods[2]);
    assert_eq!(
        first["ready"].as_i64().unwrap() - second["ready"].as_i64().unwrap(),
        3
    );
    service.post("/v1/queue/resume", &json!({})).await;
    service.finished(&job).await;
}
