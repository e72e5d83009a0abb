//! Jobs of agents.

use reqwest::Method;
use serde_json::{Value, json};
use tests::model_server::{Reply, Request};

use super::put;
use crate::support::log::data;
use crate::support::{Service, bash};

const CLAUDE: &str = "anthropic/claude-test";
const GPT: &str = "openai/gpt-test";

/// Returns the system prompt of a request.
fn system(request: &Request) -> String {
    let system = match &request["system"] {
        Value::Null => &request["messages"][0]["content"],
        system => &system[0]["text"],
    };
    system.as_str().unwrap().to_owned()
}

/// Returns the names of the tools in a request.
fn tools(request: &Request) -> Vec<String> {
    let tools = request["tools"].as_array().into_iter().flatten();
    let name = |tool: &Value| {
        let name = tool.get("name").unwrap_or(&tool["function"]["name"]);
        name.as_str().unwrap().to_owned()
    };
    tools.map(name).collect()
}

fn of(agent: &str, model: &str, marker: &str) -> Value {
    json!({"agent": agent, "model": model, "prompt": format!("Do it. #{marker}")})
}

#[tokio::test]
async fn the_default_agent_works_with_the_general_tools() {
    let service = Service::start().await;
    for (number, model) in [CLAUDE, GPT].into_iter().enumerate() {
        let marker = format!("default-{number}");
        service.model.script(
            &marker,
            [
                Reply::call("file_write", json!({"path": "a.txt", "content": "one\n"})),
                Reply::call("shell_exec", json!({"command": "cat a.txt in.csv"})),
                Reply::text("It says one."),
            ],
        );
        let mut body = of("default", model, &marker);
        body["inputs"] = json!([{"name": "in.csv", "data": "YSxiCg=="}]);
        let job = service.run(&body).await;
        assert_eq!(
            (&job["status"], &job["text"]),
            (&json!("completed"), &json!("It says one.")),
            "{job:#}\n{}",
            service.logs()
        );
        assert_eq!(
            (&job["agent"], &job["agent_version"], &job["skill"]),
            (&json!("default"), &json!(0), &Value::Null)
        );
        let events = service.events(job["id"].as_str().unwrap()).await;
        let results = data(&events, "tool.completed");
        assert!(
            results[1]["output"]
                .as_str()
                .unwrap()
                .contains(r#""stdout":"one\na,b\n""#),
            "{results:#?}"
        );

        let requests = service.model.requests(&marker);
        let expected = [
            "shell_exec",
            "file_read",
            "file_write",
            "file_edit",
            "file_list",
            "look_at",
            "web_fetch",
        ];
        assert_eq!(tools(&requests[0]), expected);
        let (_, agent) = service.get("/v1/agents/default").await;
        let system = system(&requests[0]);
        assert!(
            system.starts_with(agent["soul"].as_str().unwrap()),
            "{system}"
        );
        assert!(
            system.contains("these files were there:\n\n- in.csv (4 bytes)\n\n# Limits\n\n"),
            "{system}"
        );
    }
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn an_agent_has_the_tools_it_was_given_and_the_prompt_names_no_other() {
    let service = Service::start().await;
    let body = json!({
        "soul": "# You are brief.",
        "tools": ["file.read", "set_output"],
        "instructions": "# Manners\n\nSay please.",
        "model": CLAUDE
    });
    put(&service, "brief", &body).await;
    service.model.script("brief", [Reply::text("Yes.")]);
    let job = service
        .run(&json!({"agent": "brief", "prompt": "Well? #brief"}))
        .await;
    assert_eq!(
        (&job["text"], &job["model"]),
        (&json!("Yes."), &json!(CLAUDE)),
        "{job:#}"
    );
    let request = &service.model.requests("brief")[0];
    assert_eq!(tools(request), ["file_read", "set_output"]);
    let system = system(request);
    assert!(
        system.starts_with("# You are brief.\n\n# Tools\n\n- `file.read` "),
        "{system}"
    );
    assert!(
        system.contains("\n\n# Manners\n\nSay please.\n\n# Workspace\n\n"),
        "{system}"
    );
    for other in [
        "shell",
        "file.write",
        "file.edit",
        "file.list",
        "look_at",
        "web.fetch",
        "shell.exec",
        "http_request",
        "ommands",
    ] {
        assert!(!system.contains(other), "{other} in {system}");
    }
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_job_runs_the_agent_as_it_was_when_the_job_was_accepted_and_so_does_its_retry() {
    let mut service = Service::without_worker().await;
    put(
        &service,
        "a",
        &json!({"soul": "First soul.", "limits": {"max_tokens": 100}}),
    )
    .await;
    service.model.script_with("old", |_| Reply::text("Done."));
    let job = service.create(&of("a", CLAUDE, "old")).await;
    put(&service, "a", &json!({"soul": "Second soul."})).await;
    let delete = service.request(Method::DELETE, "/v1/agents/a");
    assert_eq!(delete.send().await.unwrap().status(), 204);

    service.add_worker(&[]).await;
    let ended = service.finished(&job).await;
    assert_eq!(
        (&ended["agent"], &ended["agent_version"]),
        (&json!("a"), &json!(1))
    );
    let (status, retry) = service
        .post(&format!("/v1/jobs/{job}/retry"), &Value::Null)
        .await;
    assert_eq!(status, 202);
    let retry = service.finished(retry["id"].as_str().unwrap()).await;
    assert_eq!(
        (&retry["agent_version"], &retry["text"]),
        (&json!(1), &json!("Done."))
    );
    for request in service.model.requests("old") {
        assert!(system(&request).starts_with("First soul."));
        assert_eq!(request["max_tokens"], 100);
    }
    let (_, listed) = service.get("/v1/jobs?agent=a").await;
    assert_eq!(listed["data"].as_array().unwrap().len(), 2);
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn an_agent_is_handed_its_secrets_and_no_others() {
    let service = Service::start().await;
    for name in ["MINE_KEY", "OTHER_KEY"] {
        let value = json!({"value": format!("the value of {name}")});
        let set = service
            .request(Method::PUT, &format!("/v1/secrets/{name}"))
            .json(&value);
        assert_eq!(set.send().await.unwrap().status(), 204);
    }
    let body =
        json!({"soul": "I am.", "tools": ["shell.exec"], "secrets": ["MINE_KEY", "ABSENT_KEY?"]});
    put(&service, "keeper", &body).await;
    let command = r#"echo "${MINE_KEY:+mine} ${OTHER_KEY:+other} $MINE_KEY""#;
    let job = service
        .run(&json!({"agent": "keeper", "model": "script/bash", "prompt": bash(command)}))
        .await;
    assert_eq!(
        job["text"],
        "mine  [secret MINE_KEY]",
        "{job:#}\n{}",
        service.logs()
    );
}

#[tokio::test]
async fn an_agent_that_needs_a_network_waits_for_a_worker_that_has_one() {
    let mut service = Service::without_worker().await;
    put(
        &service,
        "online",
        &json!({"soul": "I am.", "tools": ["shell.exec"], "network": "example.com"}),
    )
    .await;
    service.add_worker(&[("SKILLET_SANDBOX", "off")]).await;
    let made_landlocked = sqlx::query("update worker set isolation = 'landlocked'");
    made_landlocked.execute(&service.pool).await.unwrap();
    service.workers[0].kill();
    let body = json!({"agent": "online", "model": "script/bash", "prompt": bash("true")});
    let job = service.create(&body).await;
    let (_, queued) = service.get(&format!("/v1/jobs/{job}")).await;
    assert_eq!(
        queued["queue"],
        json!({"reason": "no_network"}),
        "{queued:#}"
    );
    service.add_worker(&[]).await;
    assert_eq!(service.finished(&job).await["status"], "completed");
}
