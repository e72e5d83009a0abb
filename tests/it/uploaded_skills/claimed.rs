//! The workers that claim jobs of uploaded skills.

use serde_json::{Value, json};
use shared::db;
use shared::db::worker::NewWorker;
use shared::sandbox::{Isolation, MemoryLimit};

use super::archive::Tar;
use super::{greet, post, uploaded};
use crate::support::problem::Problem;
use crate::support::{Service, bash};

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
        json!({"reason": "missing_programs", "programs": ["no-such-program|nor-this"]})
    );

    // A program name cannot search other parts of the machine.
    let refused = Problem::of(post(&service, needing("../../bin/bash"))).await;
    let said = refused.errors()[0].1;
    assert!(
        said.starts_with("SKILL.md: `skillet.programs`: `../../bin/bash` is neither"),
        "{said}"
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

    // A later worker checks for programs of skills that were uploaded before.
    service.workers[0].kill();
    service.add_worker(&[]).await;
    let late = service.create(&job()).await;
    assert_eq!(service.finished(&late).await["text"], "done");
}

#[tokio::test]
async fn a_skill_with_network_is_left_to_workers_that_have_one() {
    let service = Service::without_worker().await;
    let more = "metadata:\n  skillet.network: example.com\n  skillet.programs: bash\n";
    let archive = Tar::default().file("SKILL.md", greet(more, "Greet."));
    uploaded(&service, archive.gzip()).await;
    let waiting = service.create(&job()).await;
    let worker = |isolation| NewWorker {
        name: "there".to_owned(),
        home: "/nowhere".to_owned(),
        slots: 1,
        programs: vec!["bash".to_owned()],
        skills: Vec::new(),
        providers: Vec::new(),
        isolation,
        memory_limit: MemoryLimit::Watched,
        renders_previews: false,
    };
    let pool = &service.pool;
    let claim = async |worker, has_network| {
        let claimed = db::claim::claim(pool, worker, &[], 1, has_network);
        claimed.await.unwrap().len()
    };
    let landlocked = worker(Isolation::Landlocked);
    let landlocked = db::worker::insert(pool, &landlocked).await.unwrap();
    let (_, skill) = service.get("/v1/skills/greet").await;
    let missing = json!(["a worker whose commands have a network"]);
    assert_eq!(
        (&skill["available"], &skill["missing"]),
        (&json!(false), &missing)
    );
    let no_network = json!({"reason": "no_network"});
    assert_eq!(queue(&service, &waiting).await, no_network);
    assert_eq!(claim(landlocked, false).await, 0);

    let namespaced = worker(Isolation::Namespaced);
    let namespaced = db::worker::insert(pool, &namespaced).await.unwrap();
    let (_, skill) = service.get("/v1/skills/greet").await;
    assert_eq!(skill["available"], true);
    assert_ne!(queue(&service, &waiting).await, no_network);
    assert_eq!(claim(namespaced, true).await, 1);
}
