//! The built-in skills: their list, their requirements, and the output of each.

mod browser;
mod document;
mod docx;
mod ffmpeg;
mod filesystem;
mod git;
mod html;
mod httpapi;
mod made;
mod media;
mod origin;
mod pdf;
mod pptx;
mod spreadsheet;
mod vectorstore;
mod ytdlp;

use std::path::Path;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::problem::Problem;
use crate::support::{Service, TIMEOUT, bash, has_program, until};

#[tokio::test]
async fn the_instructions_of_a_skill_can_be_read() {
    let service = Service::without_worker().await;
    let get = |name: &str| {
        let path = format!("/v1/skills/{name}/instructions");
        service.request(Method::GET, &path)
    };
    let response = get("html").send().await.unwrap();
    assert_eq!(response.status(), 200);
    let kind = &response.headers()["content-type"];
    assert_eq!(kind, "text/markdown; charset=utf-8");
    let text = response.text().await.unwrap();
    let source = include_str!("../../skills/html/SKILL.md");
    assert!(!text.is_empty() && source.ends_with(&format!("{text}\n")));
    assert!(!text.starts_with("---"), "{text}");
    let unknown = Problem::of(get("none")).await;
    assert_eq!(unknown.kind(), (404, "not_found"));
}

#[tokio::test]
async fn the_built_in_skills_are_listed_by_name() {
    let service = Service::start().await;
    let (status, page) = service.get("/v1/skills").await;
    assert_eq!((status.as_u16(), &page["next_cursor"]), (200, &Value::Null));
    let skills = page["data"].as_array().unwrap();
    let names: Vec<_> = skills
        .iter()
        .map(|skill| skill["name"].as_str().unwrap())
        .collect();
    assert!(
        names.is_sorted() && names.contains(&"shell") && names.contains(&"image"),
        "{names:?}"
    );
    for skill in skills {
        let name = skill["name"].as_str().unwrap();
        assert_eq!(
            &service.get(&format!("/v1/skills/{name}")).await.1,
            skill,
            "{name}"
        );
        assert_eq!(
            skill["available"],
            skill["missing"] == json!([]),
            "{skill:#}"
        );
    }
    let (_, shell) = service.get("/v1/skills/shell").await;
    assert_eq!(shell["available"], true);
}

#[tokio::test]
async fn few_built_in_skills_restrict_their_inputs() {
    let service = Service::without_worker().await;
    let (_, page) = service.get("/v1/skills").await;
    let restricted: Vec<_> = page["data"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|skill| !skill["inputs"].is_null())
        .map(|skill| skill["name"].as_str().unwrap())
        .collect();
    assert_eq!(restricted, ["document", "ytdlp"]);
}

#[tokio::test]
async fn a_skill_says_what_it_takes_and_makes() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "ledger", LEDGER, "Keep the books.");
    let service = service_with(folder.path()).await;
    let (status, skill) = service.get("/v1/skills/ledger").await;
    assert_eq!(status, 200);
    insta::assert_json_snapshot!(skill, {".digest" => "[sha256]"}, @r#"
    {
      "name": "ledger",
      "title": "Ledger",
      "description": "Keeps books.",
      "inputs": [
        "document"
      ],
      "outputs": [
        "document"
      ],
      "parameters": {
        "type": "object",
        "properties": {
          "year": {
            "type": "integer"
          }
        },
        "required": [
          "year"
        ]
      },
      "network": "none",
      "secrets": [],
      "model": null,
      "timeout_seconds": 7,
      "max_iterations": 40,
      "max_tokens": 16000,
      "command_seconds": 120,
      "origin": "directory",
      "version": null,
      "created_at": null,
      "digest": "[sha256]",
      "available": false,
      "paused": false,
      "missing": [
        "a worker"
      ],
      "missing_optional": [],
      "warnings": [],
      "programs": {}
    }
    "#);
    let unknown = Problem::of(service.request(Method::GET, "/v1/skills/ledge")).await;
    assert_eq!(unknown.kind(), (404, "not_found"));
}

#[tokio::test]
async fn a_skill_without_its_programs_is_listed_as_such_and_its_jobs_wait() {
    let folder = tempfile::tempdir().unwrap();
    let needs = "metadata:\n  skillet.programs: bash no-such-program|nor-this|sh no-such-thing\n";
    write(folder.path(), "wanting", needs, "Do it.");
    let mut service = service_with(folder.path()).await;
    service.add_worker(&[]).await;
    let (_, skill) = service.get("/v1/skills/wanting").await;
    assert_eq!(
        (&skill["available"], &skill["missing"]),
        (&json!(false), &json!(["no-such-thing"]))
    );

    let wanting = json!({"skill": "wanting", "model": "script/bash", "prompt": bash("true")});
    let job = service.create(&wanting).await;
    // A later job has run, so the worker could have claimed this one.
    let later = service.create_shell("true").await;
    service.finished(&later).await;
    let (_, job) = service.get(&format!("/v1/jobs/{job}")).await;
    assert_eq!(
        (&job["status"], &job["queue"]),
        (
            &json!("queued"),
            &json!({"reason": "missing_programs", "programs": ["no-such-thing"]})
        )
    );

    let (_, workers) = service.get("/v1/workers").await;
    let [worker] = &workers["data"].as_array().unwrap()[..] else {
        panic!("{workers:#}")
    };
    let has = |list: &str, name: &str| worker[list].as_array().unwrap().contains(&json!(name));
    assert!(
        has("programs", "sh") && !has("programs", "no-such-thing"),
        "{worker:#}"
    );
    assert!(
        has("skills", "shell") && !has("skills", "wanting"),
        "{worker:#}"
    );
}

#[tokio::test]
async fn modules_are_looked_for_where_commands_run() {
    if !has_program("python3") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let needs = |needs: &str| format!("metadata:\n  skillet.programs: {needs}\n");
    let there = needs("python3 python3:json|node:no-such-thing python3:xml.dom");
    write(folder.path(), "served", &there, "Do it.");
    let missing =
        needs("python3:json python3:no_such_thing python3:no_such.thing node:@no/such-thing");
    write(folder.path(), "wanting", &missing, "Do it.");
    let mut service = service_with(folder.path()).await;
    service.add_worker(&[]).await;
    let (_, skill) = service.get("/v1/skills/served").await;
    assert_eq!(skill["available"], true, "{skill:#}");
    let (_, skill) = service.get("/v1/skills/wanting").await;
    assert_eq!(
        skill["missing"],
        json!([
            "python3:no_such_thing",
            "python3:no_such.thing",
            "node:@no/such-thing (Node package @no/such-thing)"
        ])
    );
    let (_, workers) = service.get("/v1/workers").await;
    let programs = workers["data"][0]["programs"].as_array().unwrap();
    assert!(programs.contains(&json!("python3:json")), "{programs:?}");

    // A requirement that cannot be checked is rejected when the skill is loaded.
    write(folder.path(), "wrong", &needs("ruby:json"), "Do it.");
    let ended = service.start_worker(&[], &[]).end_within(TIMEOUT).await;
    assert!(ended.is_some_and(|status| !status.success()));
    assert!(
        service.logs().contains("`ruby:json` is neither a program"),
        "{}",
        service.logs()
    );
}

#[tokio::test]
async fn workers_tell_which_versions_of_programs_they_have() {
    if !has_program("python3") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let needs = "metadata:\n  skillet.programs: bash python3 python3:json\n";
    write(folder.path(), "served", needs, "Do it.");
    let mut service = service_with(folder.path()).await;
    service.add_worker(&[]).await;
    until(async || {
        let (_, workers) = service.get("/v1/workers").await;
        workers["data"][0]["program_versions"]["bash"].is_string()
    })
    .await;
    // A module of Python's standard library has no version.
    let ask = "printf '{\"bash\": [\"%s\"], \"python3\": [\"%s\"], \"python3:json\": []}' ${BASH_VERSION%%[^0-9.]*} \
        $(python3 -c 'import platform; print(platform.python_version())')";
    let job = service.create_shell(ask).await;
    let told = service.finished(&job).await["text"].clone();
    let (_, skill) = service.get("/v1/skills/served").await;
    assert_eq!(
        skill["programs"],
        serde_json::from_str::<Value>(told.as_str().unwrap()).unwrap()
    );
}

#[tokio::test]
async fn a_skill_of_the_folder_replaces_the_built_in_one() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        "shell",
        "metadata:\n  skillet.title: Our own\n",
        "Say it twice.",
    );
    let mut service = service_with(folder.path()).await;
    service.add_worker(&[]).await;
    let (_, skill) = service.get("/v1/skills/shell").await;
    assert_eq!(
        (&skill["title"], &skill["available"]),
        (&json!("Our own"), &json!(true))
    );

    let reply = tests::model_server::Reply::text("Done.");
    service.model.script("own", [reply]);
    let job = service
        .run(&crate::support::scripted("anthropic/claude-test", "own"))
        .await;
    assert_eq!(job["status"], "completed");
    let [request] = &service.model.requests("own")[..] else {
        panic!("not asked once")
    };
    assert!(
        request["system"].to_string().contains("Say it twice."),
        "{}",
        request["system"]
    );
    let events = service.events(job["id"].as_str().unwrap()).await;
    assert_eq!(events[1]["data"]["skill_digest"], skill["digest"]);
}

const LEDGER: &str = r#"metadata:
  skillet.title: Ledger
  skillet.inputs: document
  skillet.outputs: document
  skillet.timeout_seconds: "7"
  skillet.parameters: '{"type": "object", "properties": {"year": {"type": "integer"}}, "required": ["year"]}'
"#;

fn write(folder: &Path, name: &str, metadata: &str, instructions: &str) {
    let text = format!(
        "---\nname: {name}\ndescription: Keeps books.\nallowed-tools: shell.exec\n{metadata}---\n{instructions}\n"
    );
    std::fs::create_dir(folder.join(name)).unwrap();
    std::fs::write(folder.join(name).join("SKILL.md"), text).unwrap();
}

async fn service_with(skills: &Path) -> Service {
    Service::with_environment(&[("SKILLET_SKILLS_DIR", skills.to_str().unwrap())]).await
}
