//! HTTP requests of tests to their service.

use std::time::{Duration, Instant};

use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};

use super::super::TIMEOUT;
use super::super::stream::Stream;
use super::{Service, bash};

/// Returns a client that opens a connection for each request. A connection that was idle while a test created
/// something large could be closed at the moment when it is used again.
pub(super) fn new_client() -> reqwest::Client {
    let client = reqwest::Client::builder().pool_max_idle_per_host(0);
    client.build().expect("the settings are valid")
}

impl Service {
    /// Returns a request with the service's key.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.anonymous(method, path).bearer_auth(&self.key)
    }

    /// Returns a request without a key.
    pub(crate) fn anonymous(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url))
    }

    /// Sends a GET request, and returns the status and the body.
    pub(crate) async fn get(&self, path: &str) -> (StatusCode, Value) {
        send(self.request(Method::GET, path)).await
    }

    /// Sends a POST request with a JSON body.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> (StatusCode, Value) {
        send(self.request(Method::POST, path).json(body)).await
    }

    /// Sends a PATCH request with a JSON body.
    pub(crate) async fn patch(&self, path: &str, body: &Value) -> (StatusCode, Value) {
        send(self.request(Method::PATCH, path).json(body)).await
    }

    /// Creates a job and returns its id.
    pub(crate) async fn create(&self, body: &Value) -> String {
        let (status, job) = self.post("/v1/jobs", body).await;
        assert_eq!(status, 202, "{job:#}");
        job["id"].as_str().unwrap().to_owned()
    }

    /// Creates a job with `script/bash` that runs one command of the skill `shell`.
    pub(crate) async fn create_shell(&self, command: &str) -> String {
        self.create(&json!({"skill": "shell", "model": "script/bash", "prompt": bash(command)}))
            .await
    }

    /// Creates a job, waits for its end and returns it.
    pub(crate) async fn run(&self, body: &Value) -> Value {
        let job = self.create(body).await;
        self.finished(&job).await
    }

    /// Waits until the job has ended, and returns it.
    pub(crate) async fn finished(&self, job: &str) -> Value {
        self.until_status(job, &["completed", "failed", "cancelled"])
            .await
    }

    /// Waits until the job has one of these statuses, and returns it.
    pub(crate) async fn until_status(&self, job: &str, statuses: &[&str]) -> Value {
        let begun_at = Instant::now();
        loop {
            let (_, found) = self.get(&format!("/v1/jobs/{job}")).await;
            if statuses.iter().any(|status| found["status"] == *status) {
                return found;
            }
            assert!(
                begun_at.elapsed() < TIMEOUT,
                "waited for {statuses:?} of {found:#}\n{}",
                self.logs()
            );
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Returns the job's log so far.
    pub(crate) async fn events(&self, job: &str) -> Vec<Value> {
        let (_, page) = self.get(&format!("/v1/jobs/{job}/events?limit=1000")).await;
        page["data"].as_array().unwrap().clone()
    }

    /// Waits until the job's log has an event of this type, and returns the log.
    pub(crate) async fn until_event(&self, job: &str, kind: &str) -> Vec<Value> {
        let begun_at = Instant::now();
        loop {
            let events = self.events(job).await;
            if events.iter().any(|event| event["type"] == kind) {
                return events;
            }
            assert!(
                begun_at.elapsed() < TIMEOUT,
                "waited for {kind} in {events:#?}\n{}",
                self.logs()
            );
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Approves the only pending call of a job that waits, and returns the approval.
    pub(crate) async fn approve(&self, job: &str) -> Value {
        self.until_status(job, &["waiting"]).await;
        let path = format!("/v1/jobs/{job}/approvals?status=pending");
        let (_, page) = self.get(&path).await;
        let [approval] = &page["data"].as_array().unwrap()[..] else {
            panic!("{page:#}")
        };
        let path = format!("/v1/approvals/{}", approval["id"].as_str().unwrap());
        let (status, answered) = self.post(&path, &json!({"decision": "approve"})).await;
        assert_eq!(status, 200, "{answered:#}");
        approval.clone()
    }

    /// Follows a job as Server-Sent Events.
    pub(crate) async fn follow(&self, job: &str, after: i64) -> Stream {
        let request = self.request(Method::GET, &format!("/v1/jobs/{job}/stream"));
        Stream::open(request.header("Last-Event-ID", after)).await
    }

    /// Uploads a file and returns its asset.
    pub(crate) async fn upload(&self, name: &str, content: impl Into<Vec<u8>>) -> Value {
        let part = reqwest::multipart::Part::bytes(content.into()).file_name(name.to_owned());
        let form = reqwest::multipart::Form::new().part("file", part);
        let upload = self.request(Method::POST, "/v1/assets").multipart(form);
        let (status, asset) = send(upload).await;
        assert_eq!(status, 201, "{asset:#}");
        asset
    }

    /// Downloads an asset's content.
    pub(crate) async fn download(&self, asset: &Value) -> Vec<u8> {
        let path = asset["content_url"].as_str().unwrap();
        let response = self.request(Method::GET, path).send().await.unwrap();
        assert_eq!(response.status(), 200);
        response.bytes().await.unwrap().into()
    }
}

/// Sends a request, and returns the status and the JSON body of the response, or null without a body.
pub(crate) async fn send(request: RequestBuilder) -> (StatusCode, Value) {
    let response = request.send().await.unwrap();
    let status = response.status();
    let text = response.text().await.unwrap();
    let body = if text.is_empty() {
        Value::Null
    } else {
        serde_json::from_str(&text).expect(&text)
    };
    (status, body)
}
