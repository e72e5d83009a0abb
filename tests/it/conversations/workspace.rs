//! The workspace that passes from job to job.

use reqwest::Method;
use serde_json::{Value, json};

use super::begin;
use crate::support::{Service, bash, until};

async fn agent(service: &Service) {
    let body =
        json!({"soul": "I am.", "tools": ["shell.exec", "set_output"], "model": "script/bash"});
    let put = service.request(Method::PUT, "/v1/agents/sh").json(&body);
    assert_eq!(put.send().await.unwrap().status(), 201);
}

fn job(conversation: &str, command: &str) -> Value {
    json!({"agent": "sh", "conversation_id": conversation, "prompt": bash(command)})
}

#[tokio::test]
async fn each_job_begins_with_the_files_that_the_one_before_it_left() {
    let mut service = Service::start().await;
    agent(&service).await;
    let conversation = begin(&service, "sh").await;
    let mut first = job(
        &conversation,
        "mkdir d; mv b.csv d; echo one > d/a.txt; ln -s d/a.txt link; ls",
    );
    first["inputs"] =
        json!([{"name": "in.csv", "data": "YSxiCg=="}, {"name": "b.csv", "data": "Ygo="}]);
    let first = service.run(&first).await;
    assert_eq!(
        first["text"],
        "d\nin.csv\nlink",
        "{first:#}\n{}",
        service.logs()
    );
    // The next job may run on any worker.
    service.add_worker(&[]).await;
    service.workers[0].kill();
    let mut second = job(
        &conversation,
        "cat in.csv link d/b.csv; rm d/b.csv; echo two >> d/a.txt",
    );
    second["inputs"] = json!([{"name": "in.csv", "data": "bmV3Cg=="}]);
    let second = service.run(&second).await;
    assert_eq!(
        second["text"],
        "new\none\nb",
        "{second:#}\n{}",
        service.logs()
    );
    // A job passes on the workspace it received, even if it does nothing or is cancelled before it starts.
    service.run(&job(&conversation, "true")).await;
    let last = service
        .run(&job(&conversation, "cat link; find . -type f | sort"))
        .await;
    assert_eq!(last["text"], "one\ntwo\n./d/a.txt\n./in.csv", "{last:#}");

    // Only the workspace of the last job is kept.
    let kept = service.home.path().join("assets/workspaces");
    let last = last["id"].as_str().unwrap();
    until(async || {
        let entries = std::fs::read_dir(&kept)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let full =
            entries.filter(|path| std::fs::read_dir(path).is_ok_and(|mut it| it.next().is_some()));
        full.map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
            .eq([last.to_owned()])
    })
    .await;
    assert!(service.dump().await.matches("workspace.saved").count() > 3);
}

#[tokio::test]
async fn files_that_are_gone_are_said_to_be() {
    let service = Service::start().await;
    let conversation = begin(&service, "default").await;
    service.model.script_with("gone", |request| {
        let said = request["messages"].to_string();
        match request.turn() {
            0 => tests::model_server::Reply::call(
                "file_write",
                json!({"path": "a.txt", "content": "one"}),
            ),
            1 => tests::model_server::Reply::text("Written."),
            _ if said.contains("These earlier files are missing: all of them.") => {
                tests::model_server::Reply::text("A pity.")
            }
            _ => tests::model_server::Reply::text("Nobody told me."),
        }
    });
    let first = service
        .run(&super::next(&conversation, super::CLAUDE, "Write. #gone"))
        .await;
    let kept = service
        .home
        .path()
        .join("assets/workspaces")
        .join(first["id"].as_str().unwrap());
    std::fs::remove_dir_all(kept).unwrap();
    let second = service
        .run(&super::next(&conversation, super::CLAUDE, "And?"))
        .await;
    assert_eq!(second["text"], "A pity.", "{second:#}\n{}", service.logs());
    assert_eq!(service.model.violations(), [""; 0]);
}
