//! Agents with skills.

use reqwest::Method;
use serde_json::{Value, json};
use tests::model_server::Reply;

use super::put;
use crate::support::log::data;
use crate::support::{Service, bash};

fn system(service: &Service, marker: &str, number: usize) -> String {
    let request = &service.model.requests(marker)[number];
    request["system"][0]["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_agent_is_told_of_its_skills_and_reads_them_on_demand() {
    let service = Service::start().await;
    let body = json!({
        "soul": "You write.",
        "model": "anthropic/claude-test",
        "skills": ["docx", "git"],
    });
    let (status, agent) = put(&service, "writer", &body).await;
    assert_eq!(
        (status.as_u16(), &agent["skills"]),
        (201, &json!(["docx", "git"])),
        "{agent:#}"
    );
    let read = json!({"path": "skills/docx/SKILL.md", "limit": 3});
    let list =
        json!({"command": "ls skills skills/git; test -x skills/docx/scripts/toc.py && echo runs"});
    service.model.script(
        "reads",
        [
            Reply::call("file_read", read),
            Reply::call("shell_exec", list),
            Reply::text("Read."),
        ],
    );
    let job = json!({
        "agent": "writer", "prompt": "Write. #reads", "inputs": [{"name": "skills", "data": "YQ=="}],
    });
    let job = service.run(&job).await;
    assert_eq!(job["text"], "Read.", "{job:#}\n{}", service.logs());
    let events = service.events(job["id"].as_str().unwrap()).await;
    let results = data(&events, "tool.completed");
    let output = |number: usize| results[number]["output"].as_str().unwrap().to_owned();
    assert!(output(0).contains("name: docx"), "{results:#?}");
    assert!(
        output(1).contains("docx\\ngit") && output(1).contains("runs"),
        "{results:#?}"
    );
    let prompt = system(&service, "reads", 0);
    for part in [
        "# Skills\n\n",
        "\n- `skills/docx/SKILL.md`: ",
        "\n- `skills/git/SKILL.md`: ",
        "these files were there:\n\n- skills-2 (1 bytes)\n\n# Skills",
    ] {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
    // The skill's instructions are not in the prompt.
    assert!(!prompt.contains("scripts/toc.py"), "{prompt}");
}

#[tokio::test]
async fn skills_of_an_agent_are_the_newest_in_each_job_of_a_conversation() {
    let service = Service::start().await;
    let skill = |word: &str| {
        let text = format!("---\nname: greet\ndescription: Greets.\n---\nSay {word}.\n");
        crate::uploaded_skills::archive::Tar::default()
            .file("SKILL.md", text)
            .gzip()
    };
    crate::uploaded_skills::uploaded(&service, skill("hello")).await;
    let body = json!({"soul": "You greet.", "skills": ["greet", "shell"]});
    put(&service, "greeter", &body).await;
    let request = service.request(Method::POST, "/v1/conversations");
    let conversation: Value = request
        .json(&json!({"agent": "greeter"}))
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    let say = async |command: &str| {
        let job = json!({
            "agent": "greeter", "model": "script/bash", "prompt": bash(command),
            "conversation_id": conversation["id"],
        });
        service.run(&job).await
    };
    let job = say("cat skills/greet/SKILL.md > kept.txt; tail -n 1 kept.txt").await;
    assert_eq!(job["text"], "Say hello.", "{job:#}\n{}", service.logs());
    crate::uploaded_skills::uploaded(&service, skill("goodbye")).await;
    let job = say("tail -n 1 skills/greet/SKILL.md kept.txt; ls").await;
    let text = job["text"].as_str().unwrap();
    assert!(
        text.contains("Say goodbye.") && text.contains("Say hello."),
        "{job:#}"
    );

    let delete = service.request(Method::DELETE, "/v1/skills/greet");
    assert_eq!(delete.send().await.unwrap().status(), 204);
    let job = say("ls skills").await;
    assert_eq!(job["text"], "shell", "{job:#}");
    let events = service.events(job["id"].as_str().unwrap()).await;
    let lines = data(&events, "log");
    assert!(
        lines
            .iter()
            .any(|line| line["message"] == "the skill `greet` no longer exists"),
        "{lines:#?}"
    );
}

#[tokio::test]
async fn skills_that_are_not_there_or_cannot_be_read_are_refused() {
    let service = Service::without_worker().await;
    let body = json!({"soul": "You write.", "skills": ["docx", "no-such", "docx"], "tools": ["web.fetch"]});
    let (status, problem) = put(&service, "writer", &body).await;
    assert_eq!(status, 422, "{problem:#}");
    assert_eq!(
        problem["errors"],
        json!([
            {"pointer": "/skills", "detail": "skills are read with a tool: add `file.read` or `shell.exec` to `tools`"},
            {"pointer": "/skills/1", "detail": "there is no skill `no-such`; GET /v1/skills lists all skills"},
            {"pointer": "/skills/2", "detail": "is a duplicate"},
        ]),
        "{problem:#}"
    );
}
