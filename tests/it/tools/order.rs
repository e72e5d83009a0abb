//! Order of results: one result for each call, in the order of the calls.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::model_server::Reply;

use super::site::Site;
use super::{ToolSetup, sh};
use crate::support::log::{assert_whole, data, types};
use crate::support::until;

#[tokio::test]
async fn calls_that_change_nothing_run_at_once_and_answer_in_order() {
    let setup = ToolSetup::start().await;
    let site = Site::start();
    let slow = |n: u32| {
        (
            "web_fetch",
            json!({"url": site.url(&format!("/after-1-s/{n}"))}),
        )
    };
    let begun_at = Instant::now();
    let ran = setup
        .run(
            "workbench",
            &[
                ("file_write", json!({"path": "a", "content": "A"})),
                slow(1),
                ("file_read", json!({"path": "a"})),
                slow(2),
                ("no_such_tool", json!({})),
                slow(3),
                slow(4),
                ("file_list", json!({})),
                slow(5),
                sh("echo B > a"),
                ("file_read", json!({"path": "a"})),
            ],
        )
        .await;
    assert!(
        begun_at.elapsed() < Duration::from_secs(4),
        "{:?}",
        begun_at.elapsed()
    );
    let said: Vec<_> = ran
        .iter()
        .map(|ran| ran.output.lines().last().unwrap())
        .collect();
    assert_eq!(
        [
            said[1], said[2], said[3], said[5], said[6], said[7], said[8], said[10]
        ],
        [
            "page 1", "A", "page 2", "page 3", "page 4", "a", "page 5", "B"
        ]
    );
    ran[4].assert_error("there is no tool `no_such_tool`; there are: shell.exec, file.read,");
}

#[tokio::test]
async fn what_is_under_way_when_a_job_is_cancelled_has_a_result_that_says_so() {
    let setup = ToolSetup::start().await;
    let site = Site::start();
    let silent = |n: u32| json!({"url": site.url(&format!("/silent/{n}"))});
    let reply = Reply::text("I look.")
        .then_call("file_list", json!({}))
        .then_call("web_fetch", silent(1))
        .then_call("web_fetch", silent(2))
        .then_call("shell_exec", json!({"command": "echo never"}));
    setup.service.model.script("cancel", [reply]);
    let body = json!({"skill": "workbench", "model": "openai/m", "prompt": "Go. #cancel"});
    let job = setup.service.create(&body).await;
    let service = &setup.service;
    until(async || data(&service.events(&job).await, "tool.completed").len() == 1).await;
    service
        .post(&format!("/v1/jobs/{job}/cancel"), &Value::Null)
        .await;
    let ended = service.finished(&job).await;
    assert_eq!(ended["status"], "cancelled");
    let events = service.events(&job).await;
    assert_whole(&events);
    let started = data(&events, "tool.started");
    let completed = data(&events, "tool.completed");
    assert_eq!(
        (started.len(), completed.len()),
        (3, 4),
        "{:?}",
        types(&events)
    );
    let outcomes: Vec<_> = completed.iter().map(|data| &data["outcome"]).collect();
    assert_eq!(outcomes, ["ok", "cancelled", "cancelled", "cancelled"]);
    for (started, completed) in started.iter().zip(&completed) {
        assert_eq!(started["call_id"], completed["call_id"]);
    }
}

#[tokio::test]
async fn after_a_crash_in_the_middle_of_parallel_calls_each_has_one_result() {
    let mut setup = ToolSetup::start().await;
    let site = Site::start();
    let url = json!({"url": site.url("/silent/1")});
    let reply = Reply::text("I look.")
        .then_call("file_list", json!({}))
        .then_call("web_fetch", url)
        .then_call("file_list", json!({"pattern": "*"}))
        .then_call("shell_exec", json!({"command": "echo after"}));
    setup
        .service
        .model
        .script("crash", [reply, Reply::text("Done.")]);
    let body = json!({"skill": "workbench", "model": "anthropic/m", "prompt": "Go. #crash"});
    let job = setup.service.create(&body).await;
    let service = &setup.service;
    until(async || data(&service.events(&job).await, "tool.completed").len() == 1).await;
    setup.service.workers[0].kill();
    setup.service.add_worker(&[]).await;
    let ended = setup.service.finished(&job).await;
    assert_eq!(ended["text"], "Done.", "{ended:#}");
    let events = setup.service.events(&job).await;
    let completed = data(&events, "tool.completed");
    let outcomes: Vec<_> = completed.iter().map(|data| &data["outcome"]).collect();
    assert_eq!(outcomes, ["ok", "unknown", "unknown", "ok"]);
    assert_eq!(setup.service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn the_model_is_told_what_is_wrong_with_its_arguments() {
    let setup = ToolSetup::start().await;
    let ran = setup
        .run(
            "workbench",
            &[
                ("shell_exec", json!({"comand": "ls", "timeout": 0})),
                ("file_read", json!({"path": ["a"], "offset": -1})),
                ("http_request", json!({"method": "get", "url": "http://x/"})),
                (
                    "http_request",
                    json!({"method": "GET", "url": "http://x/", "query": {"a": {"b": 1}}}),
                ),
                ("file_edit", json!({})),
            ],
        )
        .await;
    for words in [
        "- /comand: is not known; there are: command, cwd, timeout",
        "- /timeout: 0 is less than the minimum of 1",
        "Required arguments: command.",
    ] {
        ran[0].assert_error(words);
    }
    ran[1].assert_error(r#"- /path: ["a"] is not of type "string""#);
    ran[1].assert_error("- /offset: ");
    ran[2].assert_error(r#"- /method: "get" is not one of "GET", "HEAD""#);
    ran[3].assert_error("- /query/a: ");
    ran[4].assert_error("Required arguments: path, old_string, new_string.");
}
