//! Requests: the examples of the document succeed, and its bounds are accepted.

use reqwest::Method;
use serde_json::{Value, json};
use shared::id::ScheduleId;
use shared::key::Scope;
use tests::model_server::Reply;

use super::document;
use crate::support::problem::Problem;
use crate::support::{Service, create_key, send};

/// An integer in a body: its pointer and its range.
struct IntegerField {
    pointer: String,
    low: i64,
    high: i64,
}

#[tokio::test]
async fn a_whole_number_may_be_written_with_a_fraction_and_has_a_range() {
    let service = Service::without_worker().await;
    let document = document(&service).await;
    let mut checked = 0;
    for (path, method, schema) in bodies(&document) {
        let mut found = Vec::new();
        find_whole(&document, schema, String::new(), &mut found);
        for IntegerField { pointer, low, high } in found {
            let path = fill(&service, &service.key, &path).await;
            let send = async |number: Value| {
                let body = with(base(&path), &pointer, number);
                service.request(method.clone(), &path).json(&body)
            };
            for edge in [low, high] {
                let response = send(json!(edge as f64)).await.send().await.unwrap();
                let status = response.status();
                let text = response.text().await.unwrap();
                assert!(status.is_success(), "{path} {pointer} {edge}.0: {text}");
            }
            for number in [
                json!(low - 1),
                json!(high + 1),
                json!(low as f64 + 0.5),
                json!(1e300),
            ] {
                let refused = Problem::of(send(number.clone()).await).await;
                let detail = format!("must be a whole number from {low} to {high}");
                assert_eq!(refused.errors(), [(&*pointer, &*detail)], "{path} {number}");
            }
            checked += 1;
        }
    }
    assert!(checked >= 20, "{checked} numbers");
}

/// Returns the JSON bodies of operations, with their schemas.
fn bodies(document: &Value) -> Vec<(String, Method, &Value)> {
    let mut bodies = Vec::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let body = &operation["requestBody"]["content"]["application/json"];
            if body.is_object() {
                let method = method.to_uppercase().parse().unwrap();
                bodies.push((path.clone(), method, body));
            }
        }
    }
    bodies
}

fn find_whole(document: &Value, schema: &Value, pointer: String, found: &mut Vec<IntegerField>) {
    let schema = schema.get("schema").unwrap_or(schema);
    if let Some(reference) = schema["$ref"].as_str() {
        let target = document.pointer(&reference[1..]).unwrap();
        return find_whole(document, target, pointer, found);
    }
    for part in ["oneOf", "allOf", "anyOf"] {
        for variant in schema[part].as_array().into_iter().flatten() {
            find_whole(document, variant, pointer.clone(), found);
        }
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        find_whole(document, property, format!("{pointer}/{name}"), found);
    }
    if schema["items"].is_object() {
        find_whole(document, &schema["items"], format!("{pointer}/0"), found);
    }
    let is_integer = |kind: &Value| kind == "integer";
    let kinds = schema["type"].as_array();
    if is_integer(&schema["type"]) || kinds.is_some_and(|kinds| kinds.iter().any(is_integer)) {
        let bound = |name: &str| {
            let bound = schema[name].as_f64();
            bound.unwrap_or_else(|| panic!("{pointer} has no {name}")) as i64
        };
        let (low, high) = (bound("minimum"), bound("maximum"));
        found.push(IntegerField { pointer, low, high });
    }
}

/// Returns a valid body with all objects that contain numbers.
fn base(path: &str) -> Value {
    let job = json!({"skill": "shell", "model": "script/bash", "prompt": "x", "limits": {}});
    let last = path.rsplit('/').next().unwrap();
    match last {
        "jobs" => job,
        "batch" => json!({"jobs": [job]}),
        "submission_limits" => json!({"submit_rate": {"per_minute": 1}}),
        "example" => {
            json!({"soul": "I am.", "limits": {}, "mcp_servers": [{"name": "a", "command": ["true"]}]})
        }
        "schedules" => schedule(&job),
        "preview" => json!({}),
        _ if path.contains("/schedules/") => json!({"job": job}),
        _ => json!({}),
    }
}

/// Returns a schedule with a unique name.
fn schedule(job: &Value) -> Value {
    json!({"name": ScheduleId::new().to_string(), "interval_seconds": 3600, "job": job})
}

fn with(mut body: Value, pointer: &str, value: Value) -> Value {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    body.pointer_mut(parent).unwrap()[name] = value;
    body
}

/// Replaces the placeholders of the path with names and ids that exist.
async fn fill(service: &Service, key: &str, path: &str) -> String {
    if path.contains("{job_id}") {
        let later = json!({"skill": "shell", "model": "script/bash", "prompt": "x", "run_at": "2126-01-01T00:00:00Z"});
        let create = service.anonymous(Method::POST, "/v1/jobs").bearer_auth(key);
        let (_, job) = send(create.json(&later)).await;
        return path.replace("{job_id}", job["id"].as_str().unwrap());
    }
    if path.contains("{schedule_id}") {
        let job = json!({"skill": "shell", "model": "script/bash", "prompt": "x"});
        let create = service
            .anonymous(Method::POST, "/v1/schedules")
            .bearer_auth(key);
        let (_, created) = send(create.json(&schedule(&job))).await;
        return path.replace("{schedule_id}", created["id"].as_str().unwrap());
    }
    if path.contains("{webhook_id}") {
        let create = service
            .anonymous(Method::POST, "/v1/webhooks")
            .bearer_auth(key);
        let (_, created) = send(create.json(&json!({"url": "https://example.com/hook"}))).await;
        return path.replace("{webhook_id}", created["id"].as_str().unwrap());
    }
    let (_, tenants) = service.get("/v1/tenants").await;
    let tenant = tenants["data"][0]["id"].as_str().unwrap();
    let name = if path.contains("secrets") {
        "EXAMPLE"
    } else {
        "example"
    };
    path.replace("{tenant_id}", tenant).replace("{name}", name)
}

#[tokio::test]
async fn every_example_can_be_sent_as_it_is() {
    let service = Service::start().await;
    let document = document(&service).await;
    service.model.script_with("page", |_| Reply::text("Done."));
    // The examples set limits on the first tenant. The requests use another tenant, so the limits do not apply.
    let key = create_key(&service.pool, "reader", &[Scope::Jobs, Scope::Admin]).await;
    let mut sent = 0;
    for (path, method, body) in bodies(&document) {
        let examples = body["examples"].as_object();
        let examples = examples.into_iter().flatten().map(|(_, it)| &it["value"]);
        let examples: Vec<_> = body.get("example").into_iter().chain(examples).collect();
        assert!(!examples.is_empty(), "{method} {path} has no example");
        let path = match path.contains("approval_id") {
            true => ask(&service, &key).await,
            false => fill(&service, &key, &path).await,
        };
        for example in examples {
            let request = service.anonymous(method.clone(), &path).bearer_auth(&key);
            let mut example = example.clone();
            if path == "/v1/session" {
                // The document does not contain a valid key.
                example["key"] = json!(key);
            }
            let answer = request.json(&example).send().await.unwrap();
            let status = answer.status();
            let text = answer.text().await.unwrap();
            assert!(status.is_success(), "{method} {path}: {text}");
            sent += 1;
        }
    }
    assert!(sent >= 12, "{sent} examples");
}

/// Returns the path of a pending approval.
async fn ask(service: &Service, key: &str) -> String {
    let script = [
        Reply::call("shell_exec", json!({"command": "true"})),
        Reply::text("Done."),
    ];
    service.model.script("asked", script);
    let body = json!({
        "agent": "default", "model": "anthropic/claude-test", "prompt": "#asked", "hooks": {"confirm": ["*"]},
    });
    let get = async |path: &str| {
        let request = service.anonymous(Method::GET, path).bearer_auth(key);
        send(request).await.1
    };
    let created = service.anonymous(Method::POST, "/v1/jobs").bearer_auth(key);
    let (_, job) = send(created.json(&body)).await;
    let path = format!("/v1/jobs/{}/approvals", job["id"].as_str().unwrap());
    let mut page = get(&path).await;
    while page["data"][0].is_null() {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        page = get(&path).await;
    }
    format!("/v1/approvals/{}", page["data"][0]["id"].as_str().unwrap())
}
