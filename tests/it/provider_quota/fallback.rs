//! Fallback to the next model of a job when a provider is unavailable.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::{Value, json};
use tests::model_server::{Provider, Reply, Request};

use super::{CLAUDE, GPT, service, with_fallback};
use crate::support::log::{assert_whole, data};
use crate::support::{Service, scripted};

#[tokio::test]
async fn the_next_model_answers_at_once_and_no_attempt_is_lost() {
    // Nothing listens on this port.
    let mut service = Service::with_environment(&[
        ("ANTHROPIC_BASE_URL", "http://127.0.0.1:1"),
        (
            "SKILLET_PRICES",
            "anthropic/claude-test=3:15,openai/gpt-test=1:10",
        ),
    ])
    .await;
    service.add_worker(&[]).await;
    let reply = Reply::text("Here I am.").usage(1_000, 100);
    service.model.script("down", [reply]);
    let mut body = with_fallback("down");
    body["limits"] = json!({"max_cost_usd": 1});
    let job = service.run(&body).await;
    assert_eq!(job["status"], "completed", "{job:#}");
    assert_eq!((&job["model"], &job["attempt"]), (&json!(GPT), &json!(1)));
    // 1,000 input tokens at $1 per million, and 100 output tokens at $10 per million.
    assert_eq!(job["usage"]["cost_usd"], 0.002);
    let id = job["id"].as_str().unwrap();
    let events = service.events(id).await;
    assert_whole(&events);
    assert_eq!(data(&events, "job.retrying"), [&Value::Null; 0]);
    let lines = data(&events, "log");
    let line = lines.iter().find(|line| line["level"] == "warning");
    let message = line.unwrap()["message"].as_str().unwrap();
    let start = format!("the model `{CLAUDE}` is replaced by `{GPT}`: ");
    assert!(message.starts_with(&start), "{message}");
    assert_eq!(data(&events, "message.completed")[0]["model"], GPT);
    assert_eq!(data(&events, "job.completed")[0]["model"], GPT);
    let at = |kind: &str| {
        let event = events.iter().find(|event| event["type"] == kind).unwrap();
        let at = event["at"].as_str().unwrap();
        at.parse::<chrono::DateTime<chrono::Utc>>().unwrap()
    };
    let took = (at("message.completed") - at("job.started"))
        .to_std()
        .unwrap();
    assert!(took < Duration::from_secs(10), "{took:?}");

    let (_, request) = service.get(&format!("/v1/jobs/{id}/request")).await;
    assert_eq!(request["model"], json!([CLAUDE, GPT]));
    service.model.script("down", [Reply::text("Again.")]);
    let (_, again) = service
        .post(&format!("/v1/jobs/{id}/retry"), &json!({}))
        .await;
    let again = service.finished(again["id"].as_str().unwrap()).await;
    assert_eq!(
        (&again["status"], &again["model"]),
        (&json!("completed"), &json!(GPT))
    );
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_conversation_goes_from_one_wire_format_to_the_other_and_back() {
    let mut service = service("").await;
    let url = service.model.openai_base_url();
    service.set_variable("OPENAI_BASE_URL", &url);
    service.add_worker(&[]).await;
    let run = |command: &str| json!({"command": command});
    let rule = move |request: &Request| match (request.provider, request.turn()) {
        (Provider::Anthropic, 0) => Reply::thinking("Hm.")
            .then_text("One.")
            .then_call("shell.exec", run("echo fir''st")),
        (Provider::Anthropic, 1) => Reply::status(503),
        (Provider::OpenAi, 1) => {
            Reply::text("Two.").then_call("shell.exec", run("echo sec''ond; exit 3"))
        }
        (Provider::Anthropic, 2) => Reply::text("Three."),
        (_, turn) => Reply::text(format!("turn {turn} is not expected")),
    };
    service.model.script_conversation("both-wires", rule);
    let job = service.run(&with_fallback("both-wires")).await;
    assert_eq!(
        (&job["text"], &job["model"]),
        (&json!("Three."), &json!(CLAUDE)),
        "{job:#}"
    );
    let events = service.events(job["id"].as_str().unwrap()).await;
    assert_whole(&events);
    let models = data(&events, "message.completed");
    let models: Vec<_> = models.iter().map(|message| &message["model"]).collect();
    assert_eq!(models, [CLAUDE, GPT, CLAUDE]);
    // Each model receives the messages of the other one, but only its own thoughts.
    let requests = service.model.requests("both-wires");
    let sent: Vec<_> = requests
        .iter()
        .map(|request| (request.provider, request.body.to_string()))
        .collect();
    let [_, _, (Provider::OpenAi, gpt), (Provider::Anthropic, claude)] = &sent[..] else {
        panic!("{sent:#?}")
    };
    assert!(
        ["One.", "fir''st", "first"]
            .iter()
            .all(|it| gpt.contains(it)),
        "{gpt}"
    );
    assert!(!gpt.contains("Hm."), "{gpt}");
    let told = ["Hm.", "One.", "Two.", "sec''ond", "second"];
    assert!(told.iter().all(|it| claude.contains(it)), "{claude}");
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn agents_name_fallbacks_and_what_is_wrong_with_a_list_is_named() {
    let mut service = service("").await;
    service.add_worker(&[]).await;
    let agent = service.request(reqwest::Method::PUT, "/v1/agents/careful");
    let agent = agent.json(&json!({"soul": "I care.", "model": [CLAUDE, GPT]}));
    let agent: Value = agent.send().await.unwrap().json().await.unwrap();
    assert_eq!(agent["model"], json!([CLAUDE, GPT]));
    let rule = |request: &Request| match request.provider {
        Provider::Anthropic => Reply::status(503),
        Provider::OpenAi => Reply::text("Yes."),
    };
    service.model.script_with("agent", rule);
    let job = json!({"agent": "careful", "prompt": "Say yes. #agent"});
    let job = service.run(&job).await;
    assert_eq!(
        (&job["text"], &job["model"]),
        (&json!("Yes."), &json!(GPT)),
        "{job:#}"
    );

    for (model, pointer, detail) in [
        (
            json!([CLAUDE, "nowhere/x"]),
            "/model/1",
            "there is no provider `nowhere`",
        ),
        (json!([CLAUDE, "script/bash"]), "/model/1", "name it alone"),
        (json!([CLAUDE, CLAUDE]), "/model", "twice"),
        (json!([]), "/model", "1 to 5 models"),
    ] {
        let mut body = scripted(CLAUDE, "wrong");
        body["model"] = model.clone();
        let request = service.request(reqwest::Method::POST, "/v1/jobs");
        let response = request.json(&body).send().await.unwrap();
        assert!(
            [StatusCode::UNPROCESSABLE_ENTITY, StatusCode::BAD_REQUEST]
                .contains(&response.status()),
            "{model}"
        );
        let problem: Value = response.json().await.unwrap();
        let error = &problem["errors"][0];
        assert_eq!(error["pointer"], pointer, "{problem:#}");
        assert!(
            error["detail"].as_str().unwrap().contains(detail),
            "{problem:#}"
        );
    }
}
