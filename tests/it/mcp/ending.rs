//! Cleanup of MCP servers at the end of an attempt.

use serde_json::{Value, json};

use super::{McpSetup, program};
use crate::support::{WAIT_AT_GATE, open_gates, processes_with, until};

/// Returns a server whose process can be found by its argument.
fn marked(mark: &str) -> Value {
    json!({"name": "srv", "command": ["python3", "server.py", mark]})
}

#[tokio::test]
async fn it_lives_as_long_as_the_job_and_no_longer() {
    let Some(setup) = McpSetup::start().await else {
        return;
    };
    setup.serve(&[marked("mark-of-a-job")], json!({})).await;
    let calls = [
        (
            "shell_exec",
            json!({"command": format!("echo one >> a; {WAIT_AT_GATE}")}),
        ),
        ("mcp_srv_echo", json!({"text": "hello"})),
        ("shell_exec", json!({"command": "cat a starts.txt"})),
    ];
    let id = setup.begin(&calls, json!({})).await;
    setup.service.until_event(&id, "tool.started").await;
    until(async || processes_with("mark-of-a-job") == 1).await;
    open_gates(&setup.service, 0);
    let ended = setup.end(id).await;
    assert_eq!(processes_with("mark-of-a-job"), 0);
    ended.calls[2].assert("ok", r#""stdout":"one\nstarted\n""#);
}

#[tokio::test]
async fn it_dies_with_a_job_that_is_cancelled_in_the_middle_of_a_call() {
    let Some(setup) = McpSetup::start().await else {
        return;
    };
    setup
        .serve(&[marked("mark-of-a-cancelled-job")], json!({}))
        .await;
    let id = setup
        .begin(&[("mcp_srv_sleep", json!({"seconds": 60}))], json!({}))
        .await;
    setup.service.until_event(&id, "tool.started").await;
    let cancel = format!("/v1/jobs/{id}/cancel");
    setup.service.post(&cancel, &Value::Null).await;
    assert_eq!(setup.end(id).await.job["status"], "cancelled");
    assert_eq!(processes_with("mark-of-a-cancelled-job"), 0);
}

#[tokio::test]
async fn after_a_crash_of_the_worker_it_is_started_anew() {
    let Some(mut setup) = McpSetup::start().await else {
        return;
    };
    setup.serve(&[marked("mark-of-a-crash")], json!({})).await;
    let calls = [
        ("mcp_srv_echo", json!({"text": "before"})),
        ("shell_exec", json!({"command": "sleep 60"})),
        ("mcp_srv_echo", json!({"text": "after"})),
        ("shell_exec", json!({"command": "cat starts.txt"})),
    ];
    let id = setup.begin(&calls, json!({})).await;
    until(async || {
        let events = setup.service.events(&id).await;
        crate::support::log::data(&events, "tool.started").len() == 2
    })
    .await;
    setup.service.workers[0].kill();
    until(async || processes_with("mark-of-a-crash") == 0).await;
    setup.service.add_worker(&[]).await;
    let ended = setup.end(id).await;
    assert_eq!(ended.job["attempt"], 2);
    ended.calls[1].assert("unknown", "");
    ended.calls[2].assert("ok", "after");
    ended.calls[3].assert("ok", r#""stdout":"started\nstarted\n""#);
}

#[tokio::test]
async fn a_call_waits_for_a_person_as_its_hook_says_and_finds_the_server_started_anew() {
    let Some(setup) = McpSetup::start().await else {
        return;
    };
    let hooks = json!({"hooks": {"confirm": ["mcp.srv.e*"]}});
    setup.serve(&[marked("mark-of-waiting")], hooks).await;
    let calls = [
        ("mcp_srv_structured", json!({})),
        ("mcp_srv_echo", json!({"text": "hello"})),
        ("shell_exec", json!({"command": "cat starts.txt"})),
    ];
    let id = setup.begin(&calls, json!({})).await;
    setup.service.until_status(&id, &["waiting"]).await;
    assert_eq!(processes_with("mark-of-waiting"), 0);
    let approval = setup.service.approve(&id).await;
    assert_eq!(approval["tool"], "mcp.srv.echo");
    let ended = setup.end(id).await;
    ended.calls[1].assert("ok", "hello");
    ended.calls[2].assert("ok", r#""stdout":"started\nstarted\n""#);
}

#[tokio::test]
async fn servers_take_no_place_among_the_commands() {
    let Some(setup) = McpSetup::start().await else {
        return;
    };
    let servers = (0..8).map(|number| {
        let mut server = program("good");
        server["name"] = json!(format!("s{number}"));
        server["tools"] = json!(["echo"]);
        server
    });
    setup.serve(&servers.collect::<Vec<_>>(), json!({})).await;
    let calls = [
        ("shell_exec", json!({"command": "echo there is a place"})),
        ("mcp_s7_echo", json!({"text": "hello"})),
    ];
    let jobs: Vec<_> =
        futures_util::future::join_all((0..3).map(|_| setup.begin(&calls, json!({})))).await;
    for id in jobs {
        let ended = setup.end(id).await;
        ended.calls[0].assert("ok", "there is a place");
        ended.calls[1].assert("ok", "hello");
    }
}
