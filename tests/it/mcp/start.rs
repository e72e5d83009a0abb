//! MCP servers that start slowly, badly or not at all.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{McpSetup, TOKEN, program, program_with};

#[tokio::test]
async fn one_that_takes_its_time_is_waited_for() {
    let Some(setup) = McpSetup::start().await else {
        return;
    };
    setup.serve(&[program("slow")], json!({})).await;
    setup
        .run(&[("mcp_srv_echo", json!({"text": "hello"}))])
        .await[0]
        .assert("ok", "hello");
}

#[tokio::test]
async fn a_job_fails_whose_server_does_not_start_and_says_which_and_why() {
    let Some(setup) = McpSetup::start().await else {
        return;
    };
    let broken = json!({"env": {"TOKEN": "{{secret:TOKEN}}"}});
    let not_there = json!({"name": "srv", "command": ["no-such-program", "--serve"]});
    for (server, words) in [
        (
            program_with("broken", broken),
            "it ended with exit code 7; stderr: no [secret TOKEN] is good enough",
        ),
        (
            not_there,
            "it ended with exit code 127; stderr: bash: line 1: exec: no-such-program: not found",
        ),
        (program("html"), "it ended with exit code 0"),
        (program("endless"), "it "),
        (json!({"name": "srv", "command": ["cat"]}), "it "),
    ] {
        setup.serve(std::slice::from_ref(&server), json!({})).await;
        let error = setup.fail().await;
        assert_eq!(
            (&error["code"], &error["retryable"]),
            (&json!("mcp_server_unavailable"), &json!(true)),
            "{error}"
        );
        let expected = format!("the MCP server `srv` did not start: {words}");
        let message = error["message"].as_str().unwrap();
        assert!(message.starts_with(&expected), "{message}");
    }
    let needy = program_with("good", json!({"env": {"A": "{{secret:ABSENT}}"}}));
    setup
        .serve(&[needy], json!({"secrets": ["TOKEN", "ABSENT?"]}))
        .await;
    let error = setup.fail().await;
    assert_eq!(
        error["message"],
        "the MCP server `srv` did not start: its variable A: this job has no such secret; it has: TOKEN"
    );
    assert!(!setup.service.dump().await.contains(TOKEN));
    assert!(!setup.service.logs().contains(TOKEN));
}

#[tokio::test]
async fn one_that_says_nothing_is_given_up_at_last_and_with_the_job() {
    let Some(setup) = McpSetup::start().await else {
        return;
    };
    setup.serve(&[program("silent")], json!({})).await;
    let hasty = setup
        .begin(&[], json!({"limits": {"timeout_seconds": 2}}))
        .await;
    let patient = setup.begin(&[], json!({})).await;
    let cancelled = setup.begin(&[], json!({})).await;
    assert_eq!(setup.end(hasty).await.job["error"]["code"], "timeout");
    let cancel = format!("/v1/jobs/{cancelled}/cancel");
    setup.service.post(&cancel, &Value::Null).await;
    assert_eq!(setup.end(cancelled).await.job["status"], "cancelled");
    let begun_at = Instant::now();
    while begun_at.elapsed() < Duration::from_secs(29) && !is_over(&setup, &patient).await {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let error = setup.end(patient).await.job["error"].clone();
    assert_eq!(
        error["message"],
        "the MCP server `srv` did not start: it did not list its tools within 30 s"
    );
}

async fn is_over(setup: &McpSetup, job: &str) -> bool {
    let (_, job) = setup.service.get(&format!("/v1/jobs/{job}")).await;
    job["status"] == "failed"
}
