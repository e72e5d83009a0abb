//! Jobs of uploaded skills.

use serde_json::{Value, json};
use tests::model_server::Reply;

use super::archive::Tar;
use super::{greet, greet_world, greeting, uploaded};
use crate::support::log::{data, types};
use crate::support::problem::Problem;
use crate::support::{Service, bash};

#[tokio::test]
async fn a_job_runs_a_script_of_the_skill_and_says_which_version_it_was() {
    let service = Service::start().await;
    let skill = uploaded(&service, greeting("Hello")).await;
    assert_eq!(
        (&skill["available"], &skill["missing"]),
        (&json!(true), &json!([]))
    );
    let id = service.create(&greet_world()).await;
    let job = service.finished(&id).await;
    assert_eq!(job["text"], "Hello World, says the skill", "{job:#}");
    assert_eq!(
        (&job["skill_digest"], &job["skill_version"]),
        (&skill["digest"], &json!(1))
    );
    let events = service.events(&id).await;
    assert_eq!(
        data(&events, "job.started")[0]["skill_digest"],
        skill["digest"]
    );
    assert_eq!(data(&events, "job.completed")[0], &job);
    assert!(
        !types(&events).contains(&"workspace.saved"),
        "what came with the skill is no change: {events:#?}"
    );
}

#[tokio::test]
async fn the_model_is_told_which_files_there_are_and_where() {
    let service = Service::start().await;
    uploaded(&service, greeting("Hello")).await;
    service.model.script(
        "told",
        [
            Reply::text("Look.").then_call("shell.exec", json!({"command": "ls -lR skill; ls"})),
            Reply::text("Done."),
        ],
    );
    let inputs = json!([{"name": "skill", "data": "eA=="}]);
    let job = service
        .run(&json!({"skill": "greet", "model": "anthropic/m", "prompt": "Look. #told", "inputs": inputs}))
        .await;
    assert_eq!(job["status"], "completed", "{job:#}");
    let requests = service.model.requests("told");
    let system = requests[0]["system"].to_string();
    for part in [
        "Run scripts/greet.sh.",
        "what is called `assets/who.txt` above is `skill/assets/who.txt` here",
        "- skill/assets/who.txt (9 bytes)",
        "- skill/scripts/greet.sh (",
        " bytes, executable)",
    ] {
        assert!(system.contains(part), "{part}: {system}");
    }
    assert!(!system.contains("skill/SKILL.md"), "{system}");
    // The input with the same name was renamed.
    let first = requests[0]["messages"][0].to_string();
    assert!(first.contains("- skill-2 ("), "{first}");
    let seen = requests[1]["messages"].to_string();
    assert!(seen.contains("-rwxr-xr-x"), "{seen}");
}

#[tokio::test]
async fn a_folder_of_the_operator_has_files_beside_its_text_too() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join("greet").join(name);
    std::fs::create_dir_all(at("assets")).unwrap();
    std::fs::write(at("SKILL.md"), greet("", "Greet.")).unwrap();
    std::fs::write(at("assets/who.txt"), "the folder").unwrap();
    let folder = folder.path().to_str().unwrap();
    let mut service = Service::with_environment(&[("SKILLET_SKILLS_DIR", folder)]).await;
    service.add_worker(&[]).await;
    let (_, skill) = service.get("/v1/skills/greet").await;
    assert_eq!(skill["origin"], "directory");
    let prompt = bash("cat skill/assets/who.txt");
    let job = json!({"skill": "greet", "model": "script/bash", "prompt": prompt});
    let job = service.run(&job).await;
    assert_eq!(
        (&job["text"], &job["skill_digest"]),
        (&json!("the folder"), &skill["digest"])
    );

    // A skill that a tenant uploads takes precedence over the operator's skill.
    let own = uploaded(&service, greeting("Hello")).await;
    let job = service.run(&greet_world()).await;
    assert_eq!(job["skill_digest"], own["digest"]);
}

#[tokio::test]
async fn a_skill_has_the_tools_and_secrets_that_it_declares_and_no_others() {
    let service = Service::start().await;
    let put = service.request(reqwest::Method::PUT, "/v1/secrets/OTHER");
    let put = put.json(&json!({"value": "not for you 123"}));
    assert!(put.send().await.unwrap().status().is_success());
    let more = "metadata:\n  skillet.secrets: TOKEN\n";
    let text = greet(more, "Greet.").replace("shell.exec", "shell.exec file.read");
    uploaded(&service, Tar::default().file("SKILL.md", text).gzip()).await;
    let refused = Problem::of(
        service
            .request(reqwest::Method::POST, "/v1/jobs")
            .json(&greet_world()),
    )
    .await;
    assert_eq!(refused.errors()[0].0, "/skill");
    assert!(refused.errors()[0].1.contains("TOKEN"), "{refused:?}");

    let put = service.request(reqwest::Method::PUT, "/v1/secrets/TOKEN");
    let put = put.json(&json!({"value": "open sesame 123"}));
    assert!(put.send().await.unwrap().status().is_success());
    let write = json!({"path": "a", "content": "x"});
    let reply = Reply::text("Write.").then_call("file.write", write);
    service.model.script("other-tool", [reply]);
    let command = "echo ${#TOKEN} ${#OTHER}; curl -sm 5 http://example.com || echo no network";
    let look = Reply::text("Look.").then_call("shell.exec", json!({ "command": command }));
    let replies = [look, Reply::text("Done.")];
    service.model.script("look", replies);
    let run = async |marker: &str| {
        let prompt = format!("Try. #{marker}");
        let body = json!({"skill": "greet", "model": "anthropic/m", "prompt": prompt});
        let id = service.create(&body).await;
        service.finished(&id).await;
        let events = service.events(&id).await;
        data(&events, "tool.completed")[0].clone()
    };
    let refused = run("other-tool").await;
    assert_eq!(
        (&refused["outcome"], &refused["output"]),
        (
            &json!("error"),
            &json!("there is no tool `file_write`; there are: shell.exec, file.read")
        )
    );
    let looked = run("look").await;
    let output = looked["output"].as_str().unwrap();
    assert!(
        output.contains(r"15 0\n") && output.contains("no network"),
        "{output}"
    );
}

#[tokio::test]
async fn parameters_are_checked_by_the_schema_of_the_upload() {
    let service = Service::without_worker().await;
    let more = r#"metadata:
  skillet.parameters: '{"type": "object", "properties": {"name": {"type": "string", "default": "you"}}, "additionalProperties": false}'
"#;
    uploaded(
        &service,
        Tar::default()
            .file("SKILL.md", greet(more, "Greet."))
            .gzip(),
    )
    .await;
    let job = |parameters: Value| {
        let mut job = greet_world();
        job["parameters"] = parameters;
        job
    };
    let wrong = service.request(reqwest::Method::POST, "/v1/jobs");
    let wrong = Problem::of(wrong.json(&job(json!({"name": 1})))).await;
    assert_eq!(wrong.errors()[0].0, "/parameters/name");
    service.create(&job(json!({"name": "me"}))).await;
}
