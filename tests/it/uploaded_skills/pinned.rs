//! Pinned versions: a job keeps the version that was current when it was accepted.
//!
//! A version exists as long as a job uses it.

use reqwest::Method;
use serde_json::{Value, json};
use tests::model_server::Reply;

use super::{delete, greet_world, greeting, uploaded};
use crate::support::log::data;
use crate::support::{Service, until};

async fn versions(service: &Service) -> i64 {
    let count = sqlx::query_scalar("select count(*) from skill_version");
    count.fetch_one(&service.pool).await.unwrap()
}

async fn remove(service: &Service, job: &str) {
    let request = service.request(Method::DELETE, &format!("/v1/jobs/{job}"));
    assert_eq!(request.send().await.unwrap().status(), 204);
}

#[tokio::test]
async fn jobs_that_wait_run_what_they_were_accepted_with() {
    let mut service = Service::without_worker().await;
    let first = uploaded(&service, greeting("Hello")).await;
    let old = service.create(&greet_world()).await;
    let second = uploaded(&service, greeting("Good evening")).await;
    let new = service.create(&greet_world()).await;
    delete(&service).await;
    let (_, waiting) = service.get(&format!("/v1/jobs/{old}")).await;
    assert_eq!(waiting["skill_digest"], first["digest"]);
    service.add_worker(&[]).await;

    let old = service.finished(&old).await;
    assert_eq!(old["text"], "Hello World, says the skill", "{old:#}");
    assert_eq!(old["skill_digest"], first["digest"]);
    let new = service.finished(&new).await;
    assert_eq!(new["text"], "Good evening World, says the skill", "{new:#}");
    assert_eq!(
        (&new["skill_digest"], &new["skill_version"]),
        (&second["digest"], &json!(2))
    );

    // A retry uses the same version, which only the retried job uses now.
    let path = format!("/v1/jobs/{}/retry", old["id"].as_str().unwrap());
    let (_, retry) = service.post(&path, &Value::Null).await;
    let retry = service.finished(retry["id"].as_str().unwrap()).await;
    assert_eq!(
        (&retry["text"], &retry["skill_digest"]),
        (&old["text"], &first["digest"])
    );
}

#[tokio::test]
async fn the_bytes_of_a_version_go_with_the_last_who_needs_them() {
    let service = Service::start().await;
    let first = uploaded(&service, greeting("Hello")).await;
    let blob = |skill: &Value| service.blob(&skill["digest"]).exists();
    assert!(blob(&first));
    let second = uploaded(&service, greeting("Good evening")).await;
    assert!(!blob(&first) && blob(&second), "no job had the first");

    let job = service.run(&greet_world()).await;
    let retry = format!("/v1/jobs/{}/retry", job["id"].as_str().unwrap());
    let (_, retry) = service.post(&retry, &Value::Null).await;
    service.finished(retry["id"].as_str().unwrap()).await;
    let third = uploaded(&service, greeting("Good night")).await;
    // An asset has the same bytes.
    let bytes = std::fs::read(service.blob(&third["digest"])).unwrap();
    let asset = service.upload("skill.tar", bytes).await;
    assert_eq!(asset["sha256"], third["digest"]);
    delete(&service).await;
    assert!(blob(&second), "two jobs have it");
    assert_eq!(versions(&service).await, 1);
    remove(&service, job["id"].as_str().unwrap()).await;
    assert!(blob(&second), "one job has it");
    remove(&service, retry["id"].as_str().unwrap()).await;
    assert!(!blob(&second) && blob(&third));
    assert_eq!(versions(&service).await, 0);
    let path = format!("/v1/assets/{}", asset["id"].as_str().unwrap());
    let request = service.request(Method::DELETE, &path);
    assert_eq!(request.send().await.unwrap().status(), 204);
    assert!(!blob(&third));
}

#[tokio::test]
async fn after_a_crash_another_worker_has_the_same_version_and_the_same_files() {
    let mut service = Service::start().await;
    let first = uploaded(&service, greeting("Hello")).await;
    let command = |text: &str| json!({ "command": text });
    service.model.script(
        "crash",
        [
            Reply::text("First.").then_call(
                "shell.exec",
                command("rm skill/assets/who.txt; echo me > skill/assets/me.txt; chmod -x skill/scripts/greet.sh"),
            ),
            Reply::text("Then.").then_call("shell.exec", command("sleep 60")),
            Reply::text("Again.").then_call(
                "shell.exec",
                command("ls skill/assets; test -x skill/scripts/greet.sh || grep -o Hello skill/scripts/greet.sh"),
            ),
            Reply::text("Done."),
        ],
    );
    let body = json!({"skill": "greet", "model": "anthropic/m", "prompt": "Go on. #crash"});
    let job = service.create(&body).await;
    until(async || data(&service.events(&job).await, "tool.started").len() == 2).await;
    service.workers[0].kill();
    uploaded(&service, greeting("Good evening")).await;
    delete(&service).await;
    service.add_worker(&[]).await;

    let ended = service.finished(&job).await;
    let events = service.events(&job).await;
    let completed = data(&events, "tool.completed");
    let output = completed[2]["output"].as_str().unwrap();
    assert!(output.contains(r#""stdout":"me.txt\nHello\n""#), "{output}");
    assert_eq!(ended["skill_digest"], first["digest"]);
    for started in data(&events, "job.started") {
        assert_eq!(started["skill_digest"], first["digest"]);
    }
    let saved = data(&events, "workspace.saved");
    assert_eq!(
        saved[0]["files"], 2,
        "the new one and the changed one: {saved:#?}"
    );
}

#[tokio::test]
async fn bytes_that_are_not_the_version_are_not_run() {
    let mut service = Service::without_worker().await;
    let skill = uploaded(&service, greeting("Hello")).await;
    let other = uploaded(&service, greeting("Good evening")).await;
    let mut body = greet_world();
    body["max_attempts"] = json!(1);
    let job = service.create(&body).await;
    assert_ne!(skill["digest"], other["digest"]);
    let blob = service.blob(&other["digest"]);
    let mut bytes = std::fs::read(&blob).unwrap();
    let place = bytes
        .windows(12)
        .position(|it| it == b"Good evening")
        .unwrap();
    bytes[place] = b'F';
    std::fs::write(&blob, bytes).unwrap();
    service.add_worker(&[]).await;
    let ended = service.finished(&job).await;
    assert_eq!(
        (&ended["status"], &ended["error"]["code"]),
        (&json!("failed"), &json!("internal"))
    );
    assert!(service.logs().contains("has another skill under"));
}
