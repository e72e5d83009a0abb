//! Which workers take jobs of uploaded skills.

use serde_json::{Value, json};

use super::archive::Tar;
use super::{greet, uploaded};
use crate::support::{Service, bash, until};

fn needing(programs: &str) -> Vec<u8> {
    let more = format!("metadata:\n  skillet.programs: {programs}\n");
    Tar::default()
        .file("SKILL.md", greet(&more, "Greet."))
        .gzip()
}

fn job() -> Value {
    json!({"skill": "greet", "model": "script/bash", "prompt": bash("echo done")})
}

async fn queue(service: &Service, job: &str) -> Value {
    service.get(&format!("/v1/jobs/{job}")).await.1["queue"].clone()
}

#[tokio::test]
async fn a_worker_without_the_program_leaves_the_job_and_the_job_says_so() {
    let service = Service::start().await;
    let skill = uploaded(&service, needing("bash no-such-program|nor-this")).await;
    assert_eq!(
        (&skill["available"], &skill["missing"]),
        (&json!(false), &json!(["no-such-program or nor-this"]))
    );
    let wanting = service.create(&job()).await;
    let later = service.create_shell("true").await;
    service.finished(&later).await;
    assert_eq!(
        queue(&service, &wanting).await,
        json!({"reason": "no_worker"})
    );

    // A name is no way to look elsewhere on the machine.
    uploaded(&service, needing("../../bin/bash")).await;
    let outside = service.create(&job()).await;
    let later = service.create_shell("true").await;
    service.finished(&later).await;
    assert_eq!(
        queue(&service, &outside).await,
        json!({"reason": "no_worker"})
    );
}

#[tokio::test]
async fn workers_look_for_programs_that_nothing_needed_before() {
    let mut service = Service::start().await;
    let has = async |name: &str| {
        let (_, workers) = service.get("/v1/workers").await;
        let mut workers = workers["data"].as_array().unwrap().clone().into_iter();
        workers.all(|worker| {
            worker["programs"]
                .as_array()
                .unwrap()
                .contains(&json!(name))
        })
    };
    assert!(!has("paste").await);
    uploaded(&service, needing("no-such-program|paste tac")).await;
    let early = service.create(&job()).await;
    assert_eq!(service.finished(&early).await["text"], "done");
    assert!(has("paste").await && has("tac").await && has("bash").await);
    let (_, skill) = service.get("/v1/skills/greet").await;
    assert_eq!(skill["available"], true);

    // One that comes later looks for what came before it.
    service.workers[0].kill();
    service.add_worker(&[]).await;
    let late = service.create(&job()).await;
    assert_eq!(service.finished(&late).await["text"], "done");
    until(async || {
        let (_, workers) = service.get("/v1/workers").await;
        let workers = workers["data"].as_array().unwrap();
        workers
            .iter()
            .filter(|worker| {
                worker["programs"]
                    .as_array()
                    .unwrap()
                    .contains(&json!("paste"))
            })
            .count()
            >= 1
    })
    .await;
}

#[tokio::test]
async fn a_skill_with_network_is_left_to_workers_that_have_one() {
    let mut service = Service::without_worker().await;
    let landlocked = [("SKILLET_SANDBOX", "allow-landlocked")];
    let more = "metadata:\n  skillet.network: example.com\n";
    uploaded(
        &service,
        Tar::default()
            .file("SKILL.md", greet(more, "Greet."))
            .gzip(),
    )
    .await;
    let waiting = service.create(&job()).await;
    service.add_worker(&landlocked).await;
    // Where namespaces are to be had, it has them; so the row says what the machine cannot be made to.
    sqlx::query("update worker set isolation = 'landlocked'")
        .execute(&service.pool)
        .await
        .unwrap();
    let (_, skill) = service.get("/v1/skills/greet").await;
    assert_eq!(
        (&skill["available"], &skill["missing"]),
        (
            &json!(false),
            &json!(["a worker whose commands have a network"])
        )
    );
    let place = queue(&service, &waiting).await;
    assert!(
        place == json!({"reason": "no_worker"}) || place.is_null(),
        "{place:#}"
    );
}
