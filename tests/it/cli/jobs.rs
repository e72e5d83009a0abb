//! `skillet jobs`, and a job that does not start at once.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

use super::at;
use crate::support::{CommandOutput, Service, Terminal, bash};

#[tokio::test]
async fn a_detached_job_says_why_it_waits_is_changed_watched_downloaded_retried_and_deleted() {
    let mut service = Service::without_worker().await;
    let terminal = at(&service);
    let prompt = bash("echo '<!doctype html>x' > a.html; echo made") + "\noutput html: a.html";
    let run = [
        "run",
        "-d",
        "html",
        &prompt,
        "-m",
        "script/bash",
        "--title",
        "Pages",
        "--metadata",
        "order=4711",
    ];
    let detached = terminal.run(&run).await;
    assert_eq!(detached.code, Some(0), "{detached:?}");
    assert_eq!(
        detached.err,
        "queued: no worker is running; start one with `skillet worker`\n"
    );
    let job = detached.out.trim();
    let shown = terminal.run(&["jobs", "get", job]).await;
    assert!(shown.out.contains("\ntitle     Pages\n"), "{shown:?}");
    assert!(
        shown.out.contains("\nwaits     no worker is running"),
        "{shown:?}"
    );
    let found = terminal
        .run(&[
            "jobs",
            "list",
            "-q",
            "--metadata",
            "order=4711",
            "--since",
            "1h",
        ])
        .await;
    assert_eq!(found.out.trim(), job);
    let others = terminal
        .run(&["jobs", "list", "-q", "--status", "running,failed"])
        .await;
    assert_eq!(others.out, "");
    let request = terminal.run(&["jobs", "get", job, "--request"]).await;
    assert_eq!(request.objects()[0]["prompt"], json!(prompt));

    let nothing = terminal.run(&["jobs", "update", job]).await;
    assert!(
        nothing.code == Some(1) && nothing.err.contains("--priority"),
        "{nothing:?}"
    );
    let changed = terminal
        .run(&["jobs", "update", job, "--priority", "-5", "--json"])
        .await;
    assert_eq!(changed.objects()[0]["id"], json!(job), "{changed:?}");
    let request = terminal.run(&["jobs", "get", job, "--request"]).await;
    assert_eq!(request.objects()[0]["priority"], json!(-5));

    // `watch` also reports this at once.
    let mut watching = terminal.spawn(&["jobs", "watch", job]);
    let mut said = BufReader::new(watching.stderr.take().unwrap()).lines();
    let first = said.next_line().await.unwrap().unwrap();
    assert!(first.starts_with("queued: no worker is running"), "{first}");
    service.add_worker(&[]).await;
    while said.next_line().await.unwrap().is_some() {}
    let watched = CommandOutput::of(watching).await;
    assert_eq!(watched.code, Some(0), "{watched:?}");

    let logs = terminal.run(&["jobs", "logs", job]).await;
    let lines: Vec<_> = logs.out.lines().map(|line| &line[10..]).collect();
    assert_eq!(lines[0], "● job.queued", "{logs:?}");
    assert_eq!(lines.last(), Some(&"● job.completed"), "{logs:?}");
    assert!(
        lines.contains(&"⚡ shell.exec: echo '<!doctype html>x' > a.html; echo made"),
        "{logs:?}"
    );
    let followed = terminal.run(&["jobs", "logs", "-f", job]).await;
    assert_eq!((followed.code, followed.out), (Some(0), logs.out));
    for name in ["files/a.html", "files/a-2.html"] {
        let saved = terminal
            .run(&["jobs", "download", job, "-o", "files"])
            .await;
        assert_eq!(saved.out, format!("{name}\n"));
        assert_eq!(terminal.read(name), "<!doctype html>x\n");
    }

    let retried = terminal.run(&["jobs", "retry", job]).await;
    let second = retried.out.trim();
    assert_eq!(service.finished(second).await["retry_of"], json!(job));
    let deleted = terminal.run(&["jobs", "delete", job, second]).await;
    assert_eq!(
        deleted.out,
        format!("deleted {job}\ndeleted {second}\n"),
        "{deleted:?}"
    );
    assert_eq!(terminal.run(&["jobs", "-q"]).await.out, "");
}

#[tokio::test]
async fn detach_needs_a_service_that_goes_on() {
    let terminal = Terminal::new(&[]);
    let run = [
        "run",
        "-d",
        "shell",
        "x",
        "-m",
        "script/bash",
        "--data-dir",
        "data",
    ];
    let ran = terminal.run(&run).await;
    let expected =
        "error: --detach needs a service that keeps running: start one with `skillet up`\n";
    assert!(
        ran.code == Some(1) && ran.err.ends_with(expected),
        "{ran:?}"
    );
}

#[tokio::test]
async fn an_interrupt_says_what_was_cancelled() {
    let service = Service::start().await;
    let terminal = at(&service);
    let mut running = terminal.spawn(&["run", "shell", &bash("sleep 60"), "-m", "script/bash"]);
    let mut said = BufReader::new(running.stderr.take().unwrap()).lines();
    let first = said.next_line().await.unwrap().unwrap();
    let id = first.split(' ').next().unwrap().to_owned();
    service.until_event(&id, "tool.started").await;
    let pid = Pid::from_raw(running.id().unwrap().cast_signed()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let mut last = String::new();
    while let Some(line) = said.next_line().await.unwrap() {
        last = line;
    }
    assert!(last.starts_with(&format!("✗ {id} cancelled (")), "{last}");
    assert_eq!(CommandOutput::of(running).await.code, Some(130));
}

#[tokio::test]
async fn a_limit_and_a_failure_have_exit_statuses_of_their_own() {
    let service = Service::start().await;
    let terminal = at(&service);
    let agent = json!({"soul": "I am.", "tools": ["shell.exec"], "model": "script/bash", "limits": {"max_iterations": 1}});
    std::fs::write(terminal.folder.path().join("a.json"), agent.to_string()).unwrap();
    terminal
        .run(&["agents", "apply", "short", "-f", "a.json"])
        .await;
    service.model.script(
        "limit",
        [tests::model_server::Reply::call(
            "shell_exec",
            json!({"command": "true"}),
        )],
    );
    let ran = terminal
        .run(&["run", "-a", "short", "Go on. #limit", "-m", "anthropic/m"])
        .await;
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let summary = ran.err.lines().last().unwrap();
    assert!(
        summary.contains(" completed, stopped by max_iterations ("),
        "{ran:?}"
    );
    let failed = terminal
        .run(&[
            "run",
            "shell",
            "Hello #nothing-scripted",
            "-m",
            "anthropic/m",
        ])
        .await;
    assert_eq!(failed.code, Some(4), "{failed:?}");
    let summary: Value = failed.err.lines().last().unwrap().into();
    assert!(
        summary.as_str().unwrap().starts_with("✗ job_"),
        "{failed:?}"
    );
}
