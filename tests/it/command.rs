//! Commands of models: environment, output and leftover processes.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::log::{data, text};
use crate::support::{Service, bash, processes_with, until};

#[tokio::test]
async fn a_command_sees_none_of_the_workers_variables() {
    let service = Service::start().await;
    let reply = run(&service, "env").await;
    let names: BTreeSet<_> = printed(&reply)
        .lines()
        .filter_map(|line| line.split('=').next())
        .collect();
    // Bash sets the last three variables itself.
    let allowed = [
        "HOME",
        "LANG",
        "NODE_PATH",
        "PATH",
        "TERM",
        "TMPDIR",
        "TZ",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "PWD",
        "SHLVL",
        "_",
    ];
    assert_eq!(names, BTreeSet::from(allowed), "{reply:#}");
}

#[tokio::test]
async fn standard_input_is_empty_and_the_exit_code_and_both_streams_are_told() {
    let service = Service::start().await;
    let reply = run(
        &service,
        "read line; echo \"read: $? [$line]\"; echo oops >&2; exit 7",
    )
    .await;
    assert_eq!(printed(&reply), "read: 1 []\n");
    assert_eq!(
        (&reply["stderr"], &reply["exit_code"]),
        (&json!("oops\n"), &json!(7))
    );
    assert_eq!(
        (&reply["success"], &reply["truncated"]),
        (&json!(false), &json!(false))
    );
    let killed = run(&service, "kill -9 $$").await;
    assert_eq!(
        (&killed["success"], &killed["exit_code"]),
        (&json!(false), &json!(137))
    );
    let missing = run(&service, "no-such-program").await;
    assert_eq!(missing["exit_code"], 127);
    assert!(
        missing["stderr"]
            .as_str()
            .unwrap()
            .contains("no-such-program"),
        "{missing:#}"
    );
}

#[tokio::test]
async fn a_command_starts_in_a_workspace_of_its_own_that_is_gone_afterwards() {
    let service = Service::start().await;
    let prompt = [
        bash("pwd; echo $HOME; ls -A; mkdir -p deep/er; echo x > deep/er/file; chmod 000 deep/er"),
        bash("ls -A; cd deep; pwd"),
        bash("pwd"),
    ];
    let job = json!({"skill": "shell", "model": "script/bash", "prompt": prompt.join("\n")});
    let job = service.run(&job).await;
    let replies = replies(&service, &job).await;
    let first: Vec<_> = printed(&replies[0]).lines().collect();
    let [place, home] = first[..] else {
        panic!("an empty directory that is its home: {first:?}")
    };
    assert_eq!(place, home);
    assert_eq!(
        printed(&replies[1]),
        format!("deep\n{place}/deep\n"),
        "files stay"
    );
    assert_eq!(printed(&replies[2]).trim(), place, "the directory does not");
    assert_eq!(workspaces(&service), [""; 0]);
    let other = run(&service, "ls -A").await;
    assert_eq!(printed(&other), "");
}

#[tokio::test]
async fn when_the_time_of_the_job_is_over_its_processes_are_gone() {
    let service = Service::start().await;
    let nap = format!("7003.{}", std::process::id());
    let command = format!("sleep {nap} & while echo endless; do :; done");
    let job = json!({
        "skill": "shell", "model": "script/bash", "prompt": bash(&command),
        "limits": {"timeout_seconds": 1},
    });
    let begun_at = Instant::now();
    let job = service.run(&job).await;
    assert!(
        begun_at.elapsed() < Duration::from_secs(10),
        "{:?}",
        begun_at.elapsed()
    );
    assert_eq!(
        (&job["status"], &job["error"]["code"]),
        (&json!("failed"), &json!("timeout"))
    );
    until(async || processes_with(&nap) == 0 && processes_with("endless") == 0).await;
    let events = service.events(job["id"].as_str().unwrap()).await;
    let shown = text(&events, "tool.output");
    assert!(
        shown.starts_with("endless\nendless\n"),
        "it was shown while it ran"
    );
    assert!(shown.len() <= 200_000, "{} bytes", shown.len());
    assert_eq!(workspaces(&service), [""; 0]);
}

#[tokio::test]
async fn of_a_hundred_megabytes_head_and_tail_are_kept_in_little_memory() {
    let service = Service::start().await;
    run(&service, "true").await;
    let before = peak_kilobytes(&service);
    let command = "echo HEAD; head -c 100000000 /dev/zero | tr '\\0' x; echo; echo TAIL";
    let job = service
        .run(&json!({"skill": "shell", "model": "script/bash", "prompt": bash(command)}))
        .await;
    let grown = peak_kilobytes(&service) - before;
    assert!(grown < 30_000, "{grown} kB more");
    let reply = &replies(&service, &job).await[0];
    let stdout = printed(reply);
    assert_eq!(
        (&reply["truncated"], &reply["success"]),
        (&json!(true), &json!(true))
    );
    assert!(
        stdout.starts_with("HEAD\nxxx") && stdout.ends_with("xxx\nTAIL\n"),
        "both ends"
    );
    assert!(stdout.contains("bytes left out"));
    assert!(stdout.len() < 101_000, "{} bytes", stdout.len());
    let events = service.events(job["id"].as_str().unwrap()).await;
    assert_eq!(data(&events, "tool.completed")[0]["truncated"], true);
    let shown = text(&events, "tool.output");
    assert!(shown.len() <= 100_000, "{} bytes shown", shown.len());
}

#[tokio::test]
async fn a_process_in_the_background_neither_holds_up_the_call_nor_outlives_it() {
    let service = Service::start().await;
    let nap = format!("7004.{}", std::process::id());
    let begun_at = Instant::now();
    // The first process keeps the pipes open, the second closes them, and the third has its own process group.
    let command = format!("sleep {nap} & sleep {nap} >&- 2>&- & set -m; sleep 0.3 & echo left");
    let reply = run(&service, &command).await;
    assert_eq!(printed(&reply), "left\n");
    assert!(
        begun_at.elapsed() < Duration::from_secs(10),
        "{:?}",
        begun_at.elapsed()
    );
    until(async || processes_with(&nap) == 0).await;
}

#[tokio::test]
async fn bytes_that_are_no_text_become_replacement_characters() {
    let service = Service::start().await;
    let command =
        r"printf 'a\0b\xffc\xe2\x82'; printf '\xe2' >&2; sleep 0.1; printf '\x82\xac\0' >&2";
    let job = service
        .run(&json!({"skill": "shell", "model": "script/bash", "prompt": bash(command)}))
        .await;
    let reply = &replies(&service, &job).await[0];
    assert_eq!(printed(reply), "a\u{fffd}b\u{fffd}c\u{fffd}");
    assert_eq!(reply["stderr"], "€\u{fffd}");
    let events = service.events(job["id"].as_str().unwrap()).await;
    let outputs = data(&events, "tool.output");
    let shown = |stream: &str| -> String {
        let texts = outputs.iter().filter(|data| data["stream"] == stream);
        texts.map(|data| data["text"].as_str().unwrap()).collect()
    };
    assert_eq!(
        shown("stderr"),
        "€\u{fffd}",
        "a character that came in two pieces"
    );
    assert_eq!(
        shown("stdout"),
        "a\u{fffd}b\u{fffd}c\u{fffd}",
        "and half a character at the end"
    );
    assert_eq!(job["text"], "a\u{fffd}b\u{fffd}c\u{fffd}\n€\u{fffd}");
}

/// Runs one command and returns the tool result.
async fn run(service: &Service, command: &str) -> Value {
    let job = service
        .run(&json!({"skill": "shell", "model": "script/bash", "prompt": bash(command)}))
        .await;
    replies(service, &job).await.remove(0)
}

/// Returns the tool results of a job's commands.
async fn replies(service: &Service, job: &Value) -> Vec<Value> {
    let events = service.events(job["id"].as_str().unwrap()).await;
    let replies = data(&events, "tool.completed").into_iter();
    replies
        .map(|data| serde_json::from_str(data["output"].as_str().unwrap()).unwrap())
        .collect()
}

fn printed(reply: &Value) -> &str {
    reply["stdout"].as_str().unwrap()
}

/// Lists the workspaces of the first worker, which are in the folder of its process.
fn workspaces(service: &Service) -> Vec<String> {
    let names = |folder: &Path| -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name());
        names.map(|name| name.into_string().unwrap()).collect()
    };
    let all = service.home.path().join("worker-0/workspaces");
    let mine = names(&all).into_iter().find(|name| all.join(name).is_dir());
    names(&all.join(mine.expect("a worker has a folder")))
}

/// Returns the peak memory of the first worker.
fn peak_kilobytes(service: &Service) -> u64 {
    let status =
        std::fs::read_to_string(format!("/proc/{}/status", service.workers[0].id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap()
}
