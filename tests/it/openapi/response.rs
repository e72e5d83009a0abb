//! Responses: real responses match their schemas, without additional fields.

use std::collections::BTreeSet;

use reqwest::Method;
use rustix::process::Signal;
use serde_json::{Value, json};
use shared::event::{EventData, EventKind};
use tests::model_server::Reply;

use super::document;
use crate::support::problem::Problem;
use crate::support::{Service, bash, scripted};

const CLAUDE: &str = "anthropic/claude-test";

/// The document, changed so that its schemas allow no additional fields.
struct Schemas(Value);

impl Schemas {
    async fn of(service: &Service) -> Self {
        let mut document = document(service).await;
        let parts = parts(&document);
        let schemas = document["components"]["schemas"].as_object_mut().unwrap();
        for (name, schema) in schemas {
            let is_object = schema.get("properties").is_some() || schema.get("allOf").is_some();
            // A schema that is part of another does not know the fields that the other adds.
            if is_object && !parts.contains(name) {
                schema["unevaluatedProperties"] = json!(false);
            }
        }
        Self(document)
    }

    /// Returns the validation errors of the value.
    fn errors(&self, schema: &str, value: &Value) -> Vec<String> {
        let mut root = self.0.clone();
        root["$ref"] = json!(format!("#/components/schemas/{schema}"));
        let validator = jsonschema::validator_for(&root).unwrap();
        let errors = validator.iter_errors(value);
        errors.map(|error| error.to_string()).collect()
    }

    fn check(&self, schema: &str, value: &Value) {
        assert_eq!(self.errors(schema, value), [""; 0], "{schema}: {value:#}");
    }

    fn check_all(&self, schema: &str, values: &Value) {
        let values = values.as_array().unwrap();
        assert!(!values.is_empty(), "no {schema} to look at");
        values.iter().for_each(|value| self.check(schema, value));
    }
}

#[tokio::test]
async fn a_wrong_answer_would_be_seen() {
    let service = Service::without_worker().await;
    let schemas = Schemas::of(&service).await;
    let job = service.create_shell("true").await;
    let (_, job) = service.get(&format!("/v1/jobs/{job}")).await;
    schemas.check("Job", &job);
    for (field, value) in [
        ("status", json!("done")),
        ("extra", json!(1)),
        ("created_at", json!(5)),
    ] {
        let mut wrong = job.clone();
        wrong[field] = value;
        assert_ne!(schemas.errors("Job", &wrong), [""; 0], "{field}");
    }
}

#[tokio::test]
async fn what_is_listed_and_refused_is_as_the_document_says() {
    let service = Service::start().await;
    let schemas = Schemas::of(&service).await;
    service.create_shell("true").await;
    let tomorrow = json!({"skill": "shell", "model": "script/bash", "prompt": "x", "run_at": "2126-01-01T00:00:00Z"});
    let scheduled = service.create(&tomorrow).await;
    let secret = service.request(Method::PUT, "/v1/secrets/API_KEY");
    let secret = secret.json(&json!({"value": "correct horse"})).send().await;
    assert_eq!(secret.unwrap().status(), 204);
    let (_, conversation) = service.post("/v1/conversations", &json!({})).await;
    schemas.check("Conversation", &conversation);
    let agent = service.request(Method::PUT, "/v1/agents/own");
    let agent = agent.json(&json!({"soul": "I am."})).send().await;
    assert_eq!(agent.unwrap().status(), 201);
    schemas.check(
        "Job",
        &service.get(&format!("/v1/jobs/{scheduled}")).await.1,
    );
    for (path, page) in [
        ("/v1/jobs?limit=1", "JobPage"),
        ("/v1/jobs", "JobPage"),
        ("/v1/skills", "SkillPage"),
        ("/v1/agents", "AgentPage"),
        ("/v1/agents/default", "Agent"),
        ("/v1/agents/own", "Agent"),
        ("/v1/conversations", "ConversationPage"),
        ("/v1/secrets", "SecretPage"),
        ("/v1/keys", "ApiKeyPage"),
        ("/v1/tenants", "TenantPage"),
        ("/v1/workers", "WorkerPage"),
        ("/v1/assets", "AssetPage"),
        ("/v1/models", "ModelPage"),
        ("/v1/me", "Me"),
        ("/v1/jobs?counts=true", "JobPage"),
        (&*format!("/v1/jobs/{scheduled}/request"), "JobRequest"),
        ("/v1/queue", "Queue"),
        ("/v1/approvals", "ApprovalPage"),
        ("/v1/skills/shell", "Skill"),
    ] {
        let (_, answer) = service.get(path).await;
        schemas.check(page, &answer);
    }
    schemas.check_all("Secret", &service.get("/v1/secrets").await.1["data"]);
    schemas.check("Asset", &service.upload("a.txt", "x").await);
    let (_, tenants) = service.get("/v1/tenants").await;
    let key = json!({"tenant_id": tenants["data"][0]["id"], "name": "ci"});
    let path = format!(
        "/v1/tenants/{}/budget",
        tenants["data"][0]["id"].as_str().unwrap()
    );
    schemas.check("TenantBudget", &service.get(&path).await.1);
    schemas.check("CreatedKey", &service.post("/v1/keys", &key).await.1);
    for body in [json!({}), json!({"prompt": "", "skill": "none"})] {
        let refused = Problem::of(service.request(Method::POST, "/v1/jobs").json(&body)).await;
        schemas.check("Problem", &refused.body);
    }
    schemas.check(
        "Problem",
        &Problem::of(service.request(Method::GET, "/none"))
            .await
            .body,
    );
}

#[tokio::test]
async fn every_type_of_event_is_as_the_document_says() {
    let mut service = Service::with_maker().await;
    let schemas = Schemas::of(&service).await;
    let mut jobs = vec![
        made(&service).await,
        cut_short(&service).await,
        summed_up(&service).await,
        allowed(&service, &schemas).await,
        paid(&service).await,
        looked(&service).await,
    ];
    let unreachable = json!([{"url": "http://10.0.0.1/"}]);
    let mut failing = scripted(CLAUDE, "none");
    failing["inputs"] = unreachable;
    jobs.push(service.create(&failing).await);
    for job in &jobs {
        service.finished(job).await;
    }
    let (_, page) = service.get("/v1/conversations").await;
    let path = format!(
        "/v1/conversations/{}",
        page["data"][0]["id"].as_str().unwrap()
    );
    let (_, conversation) = service.get(&path).await;
    schemas.check("ConversationWithMessages", &conversation);
    schemas.check_all("Message", &conversation["messages"]["data"]);
    jobs.push(handed_over(&mut service).await);

    let mut seen = BTreeSet::new();
    for job in &jobs {
        let (_, page) = service
            .get(&format!("/v1/jobs/{job}/events?limit=1000"))
            .await;
        schemas.check("EventPage", &page);
        schemas.check_all("Event", &page["data"]);
        schemas.check("Job", &service.get(&format!("/v1/jobs/{job}")).await.1);
        let types = page["data"].as_array().unwrap().iter();
        seen.extend(types.map(|event| event["type"].as_str().unwrap().to_owned()));
    }
    // The event that replaces live output after its retention. Other tests check it.
    seen.insert(EventKind::LogTrimmed.as_str().to_owned());
    let known: BTreeSet<_> = EventData::TYPES
        .iter()
        .map(|known| known.name.to_owned())
        .collect();
    let unseen: Vec<_> = known.difference(&seen).collect();
    assert_eq!(unseen, [""; 0], "{}", service.logs());
}

/// Creates a job that waits for an approval.
async fn allowed(service: &Service, schemas: &Schemas) -> String {
    let script = [
        Reply::call("shell_exec", json!({"command": "true"})),
        Reply::text("Done."),
    ];
    service.model.script("allowed", script);
    let job = service
        .create(&json!({
            "agent": "default", "model": CLAUDE, "prompt": "#allowed", "hooks": {"confirm": ["*"]},
        }))
        .await;
    let waiting = service.until_status(&job, &["waiting"]).await;
    schemas.check("Job", &waiting);
    let path = format!("/v1/jobs/{job}/approvals");
    let (_, page) = service.get(&path).await;
    schemas.check("ApprovalPage", &page);
    let approval = &page["data"][0];
    schemas.check("Approval", approval);
    let path = format!("/v1/approvals/{}", approval["id"].as_str().unwrap());
    schemas.check("Approval", &service.get(&path).await.1);
    let (_, answered) = service.post(&path, &json!({"decision": "approve"})).await;
    schemas.check("Approval", &answered);
    job
}

/// Creates a job that thinks, replies, runs a command, creates one output and fails to create another.
async fn made(service: &Service) -> String {
    let script = [
        Reply::thinking("I need a file.")
            .then_text("I make it.")
            .then_call("shell.exec", json!({"command": "echo hello | tee a.txt"})),
        Reply::call("set_output", json!({"path": "a.txt"}))
            .then_call("set_output", json!({"path": "b.txt"})),
        Reply::text("Here it is."),
    ];
    service.model.script("made", script);
    let mut body = scripted(CLAUDE, "made");
    body["skill"] = json!("maker");
    service.create(&body).await
}

/// Creates a job with a token budget whose model breaks off its first reply and rejects the second request.
async fn paid(service: &Service) -> String {
    let script = [
        Reply::text("This will not be whole.").cut_after(3),
        Reply::status(400),
    ];
    service.model.script("paid", script);
    let mut body = scripted(CLAUDE, "paid");
    body["limits"] = json!({"max_total_tokens": 100_000});
    service.create(&body).await
}

/// Creates a job that looks at more images than stay in the context.
async fn looked(service: &Service) -> String {
    service
        .model
        .script_with("looked", |request| match request.turn() {
            0 => Reply::call(
                "shell.exec",
                json!({"command": "convert -size 20x10 xc:grey grey.png"}),
            ),
            turn @ 1..=9 => {
                Reply::call("look_at", json!({"path": "grey.png", "width": 300 + turn}))
            }
            _ => Reply::text("Seen."),
        });
    let mut body = scripted(CLAUDE, "looked");
    body["skill"] = json!("looker");
    service.create(&body).await
}

/// Creates a job that ends with a warning.
async fn cut_short(service: &Service) -> String {
    let mut body = json!({"skill": "shell", "model": "script/bash", "prompt": bash("true")});
    body["limits"] = json!({"max_iterations": 1});
    service.create(&body).await
}

/// Creates a job whose conversation is longer than the context of its model.
async fn summed_up(service: &Service) -> String {
    service.model.script_conversation("tiny", |request| {
        match (request["tools"].is_null(), request.turn()) {
            (true, _) => Reply::text("It went on and on."),
            (false, 0..2) => Reply::text("On. ".repeat(500))
                .then_call("shell_exec", json!({"command": "true"}))
                .usage(1_000, 500),
            (false, _) => Reply::text("Done."),
        }
    });
    let (_, conversation) = service.post("/v1/conversations", &json!({})).await;
    let body = json!({
        "agent": "default",
        "conversation_id": conversation["id"],
        "model": "anthropic/tiny",
        "prompt": "Talk. #tiny"
    });
    service.create(&body).await
}

/// Creates a job that its worker requeues on shutdown, and then cancels it.
async fn handed_over(service: &mut Service) -> String {
    service.model.script("long", [Reply::stall()]);
    let job = service.create(&scripted(CLAUDE, "long")).await;
    service.until_status(&job, &["running"]).await;
    service.model.stalled("long").await;
    service.workers[0].signal(Signal::TERM);
    service.until_event(&job, "job.retrying").await;
    let (_, cancelled) = service
        .post(&format!("/v1/jobs/{job}/cancel"), &Value::Null)
        .await;
    assert_eq!(cancelled["status"], "cancelled");
    job
}

/// Returns the schemas that other schemas include with `allOf`.
fn parts(document: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut values = vec![document];
    while let Some(value) = values.pop() {
        let all_of = value["allOf"].as_array().into_iter().flatten();
        let references = all_of.filter_map(|part| part["$ref"].as_str());
        found.extend(references.map(|reference| reference.rsplit('/').next().unwrap().to_owned()));
        match value {
            Value::Array(items) => values.extend(items),
            Value::Object(fields) => values.extend(fields.values()),
            _ => {}
        }
    }
    found
}
