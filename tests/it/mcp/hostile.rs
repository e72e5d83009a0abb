//! Misbehaving MCP servers: the model gets an error, and the job continues.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{McpSetup, TOKEN, program, program_with};

#[tokio::test]
async fn one_that_ends_says_its_last_words_and_is_not_asked_again() {
    let Some(setup) = McpSetup::start().await else {
        return;
    };
    let server = program_with("good", json!({"env": {"TOKEN": "{{secret:TOKEN}}"}}));
    setup.serve(&[server], json!({})).await;
    let ran = setup
        .run(&[
            ("mcp_srv_echo", json!({"text": "hello"})),
            ("mcp_srv_die", json!({})),
            ("mcp_srv_echo", json!({"text": "hello"})),
            ("file_list", json!({})),
        ])
        .await;
    ran[0].assert("ok", "hello");
    for dead in &ran[1..3] {
        dead.assert(
            "error",
            "the MCP server `srv` ended with exit code 3; stderr: chatter\n",
        );
        dead.assert(
            "error",
            "I had [secret TOKEN] left. Its tools do not work any more in this job",
        );
        assert!(dead.output.len() < 3000, "{dead:?}");
    }
    ran[3].assert("ok", "server.py");
    assert!(!setup.service.dump().await.contains(TOKEN));
}

#[tokio::test]
async fn nonsense_and_noise_between_its_answers_do_no_harm() {
    let Some(setup) = McpSetup::start().await else {
        return;
    };
    setup.serve(&[program("good")], json!({})).await;
    let ran = setup
        .run(&[
            ("mcp_srv_babble", json!({})),
            ("mcp_srv_unreadable", json!({})),
            ("mcp_srv_echo", json!({"text": "hello"})),
        ])
        .await;
    ran[0].assert("ok", "after all that");
    ran[1].assert("error", "the MCP server `srv` sent an invalid response");
    ran[2].assert("ok", "hello");
}

#[tokio::test]
async fn what_has_no_end_or_is_too_heavy_ends_the_server_before_the_call_times_out() {
    let Some(setup) = McpSetup::start().await else {
        return;
    };
    for tool in [
        "mcp_srv_endless",
        "mcp_srv_heavy",
        "mcp_srv_nag",
        "mcp_srv_flood",
    ] {
        setup.serve(&[program("good")], json!({})).await;
        let begun_at = Instant::now();
        let ran = setup.run(&[(tool, json!({}))]).await;
        ran[0].assert("error", "the MCP server `srv` ");
        ran[0].assert("error", "do not work any more");
        assert!(
            begun_at.elapsed() < Duration::from_secs(25),
            "{:?}",
            begun_at.elapsed()
        );
    }
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_cancelled_and_the_next_one_works() {
    let Some(setup) = McpSetup::start().await else {
        return;
    };
    setup
        .serve(
            &[program_with("good", json!({"timeout_seconds": 1}))],
            json!({}),
        )
        .await;
    let ran = setup
        .run(&[
            ("mcp_srv_sleep", json!({"seconds": 1.5})),
            ("file_list", json!({})),
            ("mcp_srv_cancelled", json!({})),
        ])
        .await;
    ran[0].assert(
        "timeout",
        "gave no result within 1 s; the call was cancelled",
    );
    ran[2].assert("ok", "1 cancelled");
}
