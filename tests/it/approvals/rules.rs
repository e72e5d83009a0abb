//! Hooks for tool calls that need approval and tool calls that write a log line.

use serde_json::{Value, json};
use tests::model_server::Reply;

use super::{CLAUDE, pending, shell, waiting};
use crate::support::Service;
use crate::support::log::data;

#[tokio::test]
async fn the_stricter_rule_of_agent_and_job_wins() {
    let service = Service::start().await;
    let agent = json!({
        "soul": "I am.", "tools": ["file.write", "file.list", "shell.exec"],
        "hooks": {"confirm": ["file.write"], "silent": ["shell.*"]},
        "limits": {"approval_timeout_seconds": 60},
    });
    let put = service
        .request(reqwest::Method::PUT, "/v1/agents/careful")
        .json(&agent);
    assert_eq!(put.send().await.unwrap().status(), 201);
    service.model.script(
        "rules",
        [
            Reply::text("All.")
                .then_call("file_list", json!({"path": "."}))
                .then_call("file_write", json!({"path": "a", "content": "x"}))
                .then_call("shell_exec", shell("true")),
            Reply::text("Done."),
        ],
    );
    let body = json!({
        "agent": "careful", "model": CLAUDE, "prompt": "Do it. #rules",
        "hooks": {"confirm": ["shell.exec"], "log": ["file.*"], "silent": ["*"]},
    });
    let job = service.create(&body).await;
    let asked = waiting(&service, &job).await;
    let tools: Vec<_> = asked
        .iter()
        .map(|it| it["tool"].as_str().unwrap())
        .collect();
    assert_eq!(tools, ["file.write", "shell.exec"]);
    let at = |name: &str| {
        chrono::DateTime::parse_from_rfc3339(asked[0][name].as_str().unwrap()).unwrap()
    };
    let patience = at("expires_at") - at("requested_at");
    assert!((58..=61).contains(&patience.num_seconds()), "{patience}");
}

#[tokio::test]
async fn a_call_that_is_to_be_logged_is_in_the_operators_log_whole_and_no_other_is() {
    let service = Service::start().await;
    service.model.script(
        "audit",
        [
            Reply::text("Both.")
                .then_call("shell_exec", shell("echo shown-$((40+2))"))
                .then_call(
                    "file_write",
                    json!({"path": "a", "content": "hidden-input"}),
                ),
            Reply::text("Done."),
        ],
    );
    let body = json!({
        "agent": "default", "model": CLAUDE, "prompt": "Do it. #audit", "hooks": {"log": ["shell.*"]},
    });
    let job = service.run(&body).await;
    assert_eq!(job["status"], "completed", "{job:#}");
    let logs = service.logs();
    let line = logs
        .lines()
        .find(|line| line.contains("a tool was called"))
        .unwrap_or_else(|| panic!("{logs}"));
    for part in [
        "shell.exec",
        "echo shown-$((40+2))",
        "shown-42",
        job["id"].as_str().unwrap(),
    ] {
        assert!(line.contains(part), "{part}: {line}");
    }
    assert!(!logs.contains("hidden-input"), "{logs}");
}

#[tokio::test]
async fn rules_for_tools_that_nobody_has_are_refused() {
    let service = Service::without_worker().await;
    let mut body = super::confirmed("refused");
    body["hooks"] =
        json!({"confirm": ["shell.*", "bash"], "log": [""], "silent": ["mcp.tracker.*"]});
    body["limits"] = json!({"approval_timeout_seconds": 0});
    let (status, problem) = service.post("/v1/jobs", &body).await;
    assert_eq!(status, 422, "{problem:#}");
    let pointers: Vec<_> = problem["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|error| error["pointer"].as_str().unwrap())
        .collect();
    assert_eq!(
        pointers,
        [
            "/limits/approval_timeout_seconds",
            "/hooks/confirm/1",
            "/hooks/log/0"
        ]
    );
}

#[tokio::test]
async fn a_skill_and_a_script_can_be_asked_about_too() {
    let service = Service::start().await;
    let body = json!({
        "skill": "shell", "model": "script/bash", "prompt": crate::support::bash("echo ran"),
        "hooks": {"confirm": ["shell.exec"]},
    });
    let job = service.create(&body).await;
    let asked = waiting(&service, &job).await;
    super::approve(&service, &asked[0]).await;
    assert_eq!(service.finished(&job).await["text"], "ran");
    assert_eq!(pending(&service, &job).await, [Value::Null; 0]);
    let events = service.events(&job).await;
    assert_eq!(data(&events, "approval.requested").len(), 1);
}
