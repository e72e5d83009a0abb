//! Metrics: correct numbers in a format that Prometheus reads.

mod exposition;

use std::time::{Duration, Instant};

use reqwest::{Method, StatusCode};
use rustix::process::Signal;
use serde_json::json;
use shared::key::Scope;
use tests::model_server::Reply;

use crate::support::{Service, create_key, scripted, until};
use exposition::{Samples, check_plain, parse};

const CLAUDE: &str = "anthropic/claude-test";
/// The `Accept` header of Prometheus.
const OPEN_METRICS: &str =
    "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.4,*/*;q=0.1";
const ANYWHERE: (&str, &str) = ("SKILLET_METRICS_LISTEN", "127.0.0.1:0");

impl Service {
    /// Returns the metrics that the API shows to an admin.
    async fn scrape_api(&self) -> Samples {
        let request = self.request(Method::GET, "/metrics");
        let response = request.header("Accept", OPEN_METRICS).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        let kind = response.headers()["content-type"].to_str().unwrap();
        assert_eq!(
            kind,
            "application/openmetrics-text; version=1.0.0; charset=utf-8"
        );
        parse(&response.text().await.unwrap())
    }

    /// Starts a worker with a metrics endpoint, and returns its URL.
    async fn add_measured_worker(&mut self) -> String {
        self.add_worker(&[ANYWHERE]).await;
        let line = self.workers.last_mut().unwrap().first_line();
        line.strip_prefix("metrics at ").unwrap().to_owned()
    }
}

async fn scrape(url: &str) -> Samples {
    let request = reqwest::Client::new()
        .get(url)
        .header("Accept", OPEN_METRICS);
    parse(&request.send().await.unwrap().text().await.unwrap())
}

#[tokio::test]
async fn who_does_not_ask_for_openmetrics_gets_the_text_that_all_tools_read() {
    let service = Service::without_worker().await;
    service.get("/v1/jobs").await;
    for accept in [
        None,
        Some("*/*"),
        Some("text/plain"),
        Some("application/openmetrics-text;q=0"),
        Some("application/openmetrics-text;q=0.2,text/plain;q=0.7"),
    ] {
        let mut request = service.request(Method::GET, "/metrics");
        if let Some(accept) = accept {
            request = request.header("Accept", accept);
        }
        let response = request.send().await.unwrap();
        let kind = response.headers()["content-type"].to_str().unwrap();
        assert_eq!(
            kind, "text/plain; version=0.0.4; charset=utf-8",
            "{accept:?}"
        );
        let text = response.text().await.unwrap();
        assert!(text.contains("\nskillet_http_requests_total{"), "{text}");
        check_plain(&text);
    }
}

#[tokio::test]
async fn both_processes_show_what_they_use_of_the_machine() {
    let mut service = Service::without_worker().await;
    let url = service.add_measured_worker().await;
    let now = std::time::SystemTime::now();
    let now = now
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs_f64();
    for samples in [scrape(&url).await, service.scrape_api().await] {
        assert!(samples["process_cpu_seconds_total"] > 0.0, "{samples:?}");
        assert!(samples["process_resident_memory_bytes"] > 1e6);
        assert!(samples["process_virtual_memory_bytes"] > samples["process_resident_memory_bytes"]);
        assert!((1.0..1000.0).contains(&samples["process_threads"]));
        assert!((3.0..samples["process_max_fds"]).contains(&samples["process_open_fds"]));
        let age = now - samples["process_start_time_seconds"];
        assert!((-5.0..600.0).contains(&age), "{age}");
    }
    let plain = reqwest::get(&url).await.unwrap();
    let kind = plain.headers()["content-type"].to_str().unwrap();
    assert_eq!(kind, "text/plain; version=0.0.4; charset=utf-8");
    let plain = plain.text().await.unwrap();
    assert!(
        plain.contains("# TYPE process_cpu_seconds_total counter\n"),
        "{plain}"
    );
    check_plain(&plain);
}

#[tokio::test]
async fn a_worker_counts_what_its_jobs_did() {
    let mut service = Service::without_worker().await;
    let url = service.add_measured_worker().await;
    // The worker is ready a moment before it reports its number of slots.
    until(async || scrape(&url).await.get("skillet_worker_slots") == Some(&32.0)).await;
    let before = scrape(&url).await;
    assert_eq!(before["skillet_attempts_total"], 0.0);

    let plain = service.create_shell("echo plain").await;
    service.finished(&plain).await;
    let call = Reply::call("shell.exec", json!({"command": "exit 3"}));
    let strange = Reply::call("no_such_tool", json!({}));
    let last = Reply::text("done").usage(700, 30).cached(200, 100);
    service.model.script(
        "counted",
        [
            call.usage(500, 20),
            Reply::status(429).retry_after(0),
            strange.usage(600, 10),
            last,
        ],
    );
    let counted = service.run(&scripted(CLAUDE, "counted")).await;
    service.model.script("refused", [Reply::status(400)]);
    let refused = service.run(&scripted(CLAUDE, "refused")).await;
    assert_eq!(
        (&counted["status"], &refused["status"]),
        (&json!("completed"), &json!("failed"))
    );

    let poor = json!({"skill": "shell", "model": CLAUDE, "prompt": "x", "limits": {"max_total_tokens": 1}});
    assert_eq!(service.run(&poor).await["stop_reason"], "max_total_tokens");

    // A job ends a moment before its worker counts it and frees its slot.
    until(async || scrape(&url).await["skillet_worker_slots_used"] == 0.0).await;
    let after = scrape(&url).await;
    for (name, value) in [
        (
            r#"jobs_ended_total{skill="shell",outcome="completed"}"#,
            3.0,
        ),
        (r#"jobs_ended_total{skill="shell",outcome="failed"}"#, 1.0),
        ("attempts_total", 4.0),
        ("job_queue_duration_seconds_count", 4.0),
        (r#"job_duration_seconds_count{outcome="completed"}"#, 3.0),
        (
            r#"model_calls_total{provider="anthropic",model="claude-test",outcome="ok"}"#,
            3.0,
        ),
        (
            r#"model_calls_total{provider="anthropic",model="claude-test",outcome="rate_limited"}"#,
            1.0,
        ),
        (
            r#"model_calls_total{provider="anthropic",model="claude-test",outcome="refused"}"#,
            1.0,
        ),
        (
            r#"model_call_duration_seconds_count{provider="anthropic",model="claude-test"}"#,
            3.0,
        ),
        (
            r#"model_tokens_total{provider="anthropic",model="claude-test",kind="input"}"#,
            1800.0,
        ),
        (
            r#"model_tokens_total{provider="anthropic",model="claude-test",kind="output"}"#,
            60.0,
        ),
        (
            r#"model_tokens_total{provider="anthropic",model="claude-test",kind="cache_read"}"#,
            200.0,
        ),
        (
            r#"model_tokens_total{provider="anthropic",model="claude-test",kind="cache_write"}"#,
            100.0,
        ),
        (
            r#"model_cost_dollars_total{provider="script",model="bash"}"#,
            0.0,
        ),
        (r#"tool_calls_total{tool="shell.exec",outcome="ok"}"#, 1.0),
        (
            r#"tool_calls_total{tool="shell.exec",outcome="error"}"#,
            1.0,
        ),
        (r#"tool_calls_total{tool="unknown",outcome="error"}"#, 1.0),
        (
            r#"tool_call_duration_seconds_count{tool="shell.exec"}"#,
            2.0,
        ),
        (r#"budget_refusals_total{limit="max_total_tokens"}"#, 1.0),
    ] {
        let name = format!("skillet_{name}");
        assert_eq!(after.get(&name), Some(&value), "{name} of {after:#?}");
    }
    // The worker tests its sandbox before it takes jobs.
    let starts = "skillet_sandbox_start_duration_seconds_count";
    assert_eq!(after[starts] - before[starts], 2.0);
    // Each job has at least one write for its start and one for its end.
    assert!(after["skillet_log_write_jobs_sum"] >= 8.0);
    assert!(after["skillet_log_write_events_sum"] > after["skillet_log_write_jobs_sum"]);
    assert!(after[r#"skillet_database_connections{part="worker",state="idle"}"#] > 0.0);
}

#[tokio::test]
async fn a_worker_looks_for_jobs_when_there_may_be_some() {
    const JOBS: u32 = 40;
    let mut service = Service::without_worker().await;
    let url = service.add_measured_worker().await;
    let claims = async || scrape(&url).await["skillet_claim_duration_seconds_count"];
    let (before, begun_at) = (claims().await, Instant::now());
    for _ in 0..JOBS {
        let job = service.create_shell("true").await;
        service.finished(&job).await;
    }
    // One claim for each notification, and one each second. The end of a job does not allow another job of this
    // tenant to start.
    let most = f64::from(JOBS) * 1.25 + begun_at.elapsed().as_secs_f64();
    let made = claims().await - before;
    assert!(made <= most, "{made} claims, more than {most}");
}

#[tokio::test]
async fn what_ended_attempts_is_counted_by_cause() {
    let mut service = Service::without_worker().await;
    service.add_worker(&[]).await;
    service.model.script_with("twice", |_| Reply::stall());
    let job = service.create(&scripted(CLAUDE, "twice")).await;
    service.model.stalled("twice").await;
    let url = service.add_measured_worker().await;
    service.workers[0].kill();
    service.until_event(&job, "job.retrying").await;
    let by = |cause: &str| format!(r#"skillet_attempts_retried_total{{cause="{cause}"}}"#);
    until(async || scrape(&url).await.get(&by("crash")) == Some(&1.0)).await;

    service.model.stalled("twice").await;
    let slots = scrape(&url).await["skillet_worker_slots_used"];
    assert_eq!(slots, 1.0);
    // The metrics are available until the worker exits.
    service.workers[1].signal(Signal::TERM);
    let status = service.workers[1].end_within(Duration::from_secs(30)).await;
    assert!(status.unwrap().success());
    assert!(reqwest::get(&url).await.is_err());
}

#[tokio::test]
async fn the_api_counts_requests_by_route_and_says_how_full_the_queue_is() {
    let service = Service::without_worker().await;
    for _ in 0..3 {
        service.create_shell("true").await;
    }
    let late = json!({"skill": "shell", "model": "script/bash", "prompt": "x", "run_at": "2100-01-01T00:00:00Z"});
    let late = service.create(&late).await;
    let mut stream = service.follow(&late, 0).await;
    stream.next().await.unwrap();
    service.get("/v1/jobs/nothing").await;
    service.get("/v1/nowhere/secret-path").await;
    let method = Method::from_bytes(b"BREW").unwrap();
    let strange = service.request(method, "/v1/jobs").send().await.unwrap();
    assert!(strange.status().is_client_error());

    let now = service.scrape_api().await;
    let requests = |method: &str, route: &str, status: u16| {
        let labels = format!(r#"method="{method}",route="{route}",status="{status}""#);
        now.get(&format!("skillet_http_requests_total{{{labels}}}"))
            .copied()
    };
    assert_eq!(requests("POST", "/v1/jobs", 202), Some(4.0), "{now:#?}");
    assert_eq!(
        requests("GET", "/v1/jobs/{job_id}", 404),
        Some(1.0),
        "{now:#?}"
    );
    assert_eq!(requests("GET", "", 404), Some(1.0), "{now:#?}");
    assert_eq!(
        requests("_OTHER", "/v1/jobs", strange.status().as_u16()),
        Some(1.0),
        "{now:#?}"
    );
    assert_eq!(requests("GET", "/v1/jobs/{job_id}/stream", 200), Some(1.0));
    for (state, count) in [
        ("ready", 3.0),
        ("scheduled", 1.0),
        ("running", 0.0),
        ("waiting", 0.0),
    ] {
        assert_eq!(
            now[&format!(r#"skillet_queue_jobs{{state="{state}"}}"#)],
            count,
            "{state}"
        );
    }
    assert!(now["skillet_queue_oldest_seconds"] > 0.0);
    assert_eq!(now["skillet_followers"], 1.0);
    assert_eq!(
        now[&format!(
            r#"skillet_build_info{{version="{}"}}"#,
            env!("CARGO_PKG_VERSION")
        )],
        1.0
    );

    let (status, _) = service
        .post(&format!("/v1/jobs/{late}/cancel"), &json!({}))
        .await;
    assert_eq!(status, 200);
    stream.rest_raw().await;
    drop(stream);
    until(async || service.scrape_api().await["skillet_followers"] == 0.0).await;
    let then = service.scrape_api().await;
    assert_eq!(
        then[r#"skillet_jobs_ended_total{skill="shell",outcome="cancelled"}"#],
        1.0
    );
    assert!(then["skillet_event_delivery_duration_seconds_count"] >= 1.0);
    // Labels have few distinct values.
    let names = then.keys().cloned().collect::<String>();
    assert!(!names.contains("secret-path") && !names.contains(&late) && !names.contains("BREW"));
}

#[tokio::test]
async fn only_an_admin_sees_metrics_where_everyone_may_knock() {
    let service = Service::without_worker().await;
    let anonymous = service
        .anonymous(Method::GET, "/metrics")
        .send()
        .await
        .unwrap();
    assert_eq!(anonymous.status(), StatusCode::UNAUTHORIZED);
    let key = create_key(&service.pool, "other", &[Scope::Jobs]).await;
    let request = service.anonymous(Method::GET, "/metrics").bearer_auth(&key);
    assert_eq!(
        request.send().await.unwrap().status(),
        StatusCode::FORBIDDEN
    );
}
