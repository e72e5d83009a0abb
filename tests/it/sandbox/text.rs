//! Unusual and long commands and outputs.

use std::time::{Duration, Instant};

use serde_json::json;
use tests::model_server::Reply;

use super::attack::replies;
use crate::support::log::data;
use crate::support::{Service, scripted};

#[tokio::test]
async fn a_command_that_prints_without_end_is_killed() {
    let service = Service::start().await;
    let job = service.create_shell("echo begun; exec yes").await;
    // Programs that are built without optimisation read slowly.
    let begun_at = Instant::now();
    while data(&service.events(&job).await, "tool.completed").is_empty() {
        assert!(begun_at.elapsed() < Duration::from_secs(100));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let reply = replies(&service, &job).await.remove(0);
    assert_eq!(reply["exit_code"], json!(null));
    let note = reply["note"].as_str().unwrap();
    assert!(
        note.contains("killed: it printed more than 256 MiB"),
        "{note}"
    );
    let stdout = reply["stdout"].as_str().unwrap();
    assert!(stdout.starts_with("begun\ny\n") && stdout.len() < 101_000);
}

#[tokio::test]
async fn a_command_that_bash_cannot_be_given_is_told_to_the_model_and_harms_nothing() {
    let service = Service::start().await;
    let long = format!("echo begun; : {}; echo ended", "x".repeat(300_000));
    let commands = [
        "echo a\0b",
        &long,
        "",
        "\u{feff}",
        "echo 'ü€😀'; echo \u{1b}[31m",
        "echo last",
    ];
    let calls = commands.iter().fold(Reply::text("All."), |reply, command| {
        reply.then_call("shell.exec", json!({"command": command}))
    });
    service.model.script("odd", [calls, Reply::text("done")]);
    let job = service
        .create(&scripted("anthropic/claude-test", "odd"))
        .await;
    let ended = service.finished(&job).await;
    assert_eq!(
        (&ended["status"], &ended["attempt"]),
        (&json!("completed"), &json!(1)),
        "{ended:#}"
    );
    let replies = replies(&service, &job).await;
    assert_eq!(replies.len(), commands.len());
    assert!(replies[0].to_string().contains("NUL"), "{:#}", replies[0]);
    assert!(
        replies[1].to_string().contains("longer than 128 KiB"),
        "{:#}",
        replies[1]
    );
    assert_eq!(replies[2]["success"], true);
    assert_eq!(replies[4]["stdout"], "ü€😀\n\u{1b}[31m\n");
    assert_eq!(replies[5]["stdout"], "last\n");
    assert_eq!(service.model.violations(), [""; 0]);
}
